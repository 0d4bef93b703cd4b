// Compares the reserved and free memory that the analysis computes from the events of a pool with
// the pool itself and with its device, after every event.
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <memory>
#include <random>

#include "allocator/pool/pool.h"
#include "base/units.h"
#include "tests/allocator/fake_device.h"
#include "tests/allocator/offload_fixture.h"
#include "tests/tools/list_source.h"
#include "tools/analysis/explain/explain.h"

namespace vramstow {
namespace {

constexpr uint64_t kChunk = 2 * kMiB;

// Analyses each event when it happens.
class Listener {
 public:
  EventSink sink() { return {OnEvent, this}; }
  const Analyzer& analyzer() const { return analyzer_; }
  uint64_t remapped() const { return remapped_; }
  uint64_t events() const { return events_; }
  // The bytes of live blocks that are not on the device.
  uint64_t away() const { return away_; }
  Analysis Finish() { return analyzer_.Finish(source_); }

 private:
  static uint64_t OnEvent(void* context, Event* taken) {
    auto* self = static_cast<Listener*>(context);
    Event event = *taken;
    event.sequence = ++self->events_;
    event.time_ns = self->events_ * 1000;
    event.thread = 1;
    self->analyzer_.Add(event);
    self->Follow(event);
    const uint64_t on_device = self->analyzer_.allocated() - self->away_;
    const FreeMemory free = self->analyzer_.free_ranges();
    // A second analyzer is queried for its free ranges only rarely. It must give the same answer.
    self->seldom_asked_.Add(event);
    if (event.sequence % 61 == 0) {
      EXPECT_EQ(self->seldom_asked_.free_ranges(), free) << self->events_;
    }
    EXPECT_EQ(free.free_bytes, self->analyzer_.reserved() - on_device) << self->events_;
    EXPECT_LE(free.unusable_bytes, free.free_bytes);
    EXPECT_LE(free.movable_bytes, free.free_bytes);
    EXPECT_EQ(free.movable_bytes % kChunk, 0U);
    return event.sequence;
  }

  void Follow(const Event& event) {
    if (event.layer == Layer::kPool && event.result == 0) FollowPages(event);
    if (event.layer == Layer::kPool || event.memory != MemoryKind::kDevice) return;
    if (event.kind == EventKind::kAllocate && event.result == 0) {
      blocks_[event.address] = event.size;
    } else if (event.kind == EventKind::kFree) {
      blocks_.erase(event.address);
    }
    away_ = Away();
  }

  // Tracks which pages are on the host, or have no memory.
  void FollowPages(const Event& event) {
    if (event.memory == MemoryKind::kHostPhysical) {
      if (event.kind == EventKind::kAllocate) host_[event.address] = event.size;
      if (event.kind == EventKind::kFree) host_.erase(event.address);
    } else if (event.kind == EventKind::kMap) {
      if (mapped_.count(event.object) != 0) ++remapped_;
      mapped_[event.object] = event.address;
      pages_[event.address] = host_.count(event.object) == 0;
    } else if (event.kind == EventKind::kUnmap) {
      pages_.erase(event.address);
    }
    away_ = Away();
  }

  uint64_t Away() const {
    uint64_t away = 0;
    for (const auto& [address, size] : blocks_) {
      for (uint64_t at = address / kChunk * kChunk; at < address + size; at += kChunk) {
        const auto page = pages_.find(at);
        if (page != pages_.end() && page->second) continue;
        away += std::min(address + size, at + kChunk) - std::max(address, at);
      }
    }
    return away;
  }

  ListSource source_{{}};
  Analyzer analyzer_{source_};
  Analyzer seldom_asked_{source_};
  uint64_t events_ = 0;
  uint64_t remapped_ = 0;
  uint64_t away_ = 0;
  std::map<uint64_t, uint64_t> blocks_;
  std::map<uint64_t, uint64_t> host_;
  std::map<uint64_t, uint64_t> mapped_;  // by handle
  std::map<uint64_t, bool> pages_;       // → on the device
};

// A job whose blocks are arranged differently in each phase, so that chunks are moved back and
// forth.
class PoolTraceTest : public testing::TestWithParam<uint64_t> {
 protected:
  bool Open(Pool* pool, const FakeDevice& device) {
    PoolConfig config;
    config.sink = listener_.sink();
    config.last_wait_ns = 0;
    return pool->Open(device.table(), config) == PoolError::kOk;
  }
  void Compare(Pool& pool, const FakeDevice& device) {
    const PoolStats stats = pool.Stats();
    ASSERT_EQ(listener_.analyzer().reserved(), stats.reserved_bytes);
    ASSERT_EQ(listener_.analyzer().reserved(), device.created_bytes());
    ASSERT_EQ(listener_.analyzer().allocated(), stats.allocated_bytes);
    ASSERT_EQ(listener_.analyzer().free_ranges().free_bytes,
              stats.reserved_bytes - stats.allocated_bytes);
  }

  uint64_t SizeIn(uint64_t phase) {
    if (phase % 3 == 0) return (1 + random_() % 6) * kChunk;
    if (phase % 3 == 1) return 1 + random_() % (3 * kMiB);
    return 8 * kChunk + random_() % (16 * kMiB);
  }

  Listener listener_;
  std::mt19937_64 random_{GetParam()};
};

TEST_P(PoolTraceTest, ReservedAndFreeAreThePoolsAndTheDevices) {
  FakeDevice device({.total_bytes = 256 * kMiB});
  const auto kept = std::make_unique<Pool>();
  Pool& pool = *kept;
  ASSERT_TRUE(Open(&pool, device));
  std::map<uint64_t, uint64_t> live;
  for (uint64_t step = 0; step < 3000; ++step) {
    const uint64_t phase = step / 150;
    Block block{};
    if (random_() % 100 < 55 && pool.Allocate({.size = SizeIn(phase), .stream = 1 + random_() % 3},
                                              &block) == PoolError::kOk) {
      live[block.address] = block.size;
    } else if (!live.empty()) {
      const auto one = std::next(live.begin(), static_cast<ptrdiff_t>(random_() % live.size()));
      ASSERT_EQ(pool.Free(one->first), PoolError::kOk);
      live.erase(one);
    }
    if (random_() % 200 == 0) pool.Trim({random_() % (64 * kMiB), 0});
    Compare(pool, device);
    if (HasFailure()) return;
  }
  EXPECT_GT(listener_.remapped(), 100U) << "chunks were mapped in more than one place";
  const Analysis analysis = listener_.Finish();
  EXPECT_TRUE(analysis.facts.fragmentation.moves);
  pool.Close(PoolEnd::kAlive);
}

// Each piece of memory lies at one address only. The report's memory map and its table of holes
// depend on this.
TEST_P(PoolTraceTest, WhatLiesWhereAtThePeakAddsUpToReservedAndFree) {
  FakeDevice device({.total_bytes = 256 * kMiB});
  const auto kept = std::make_unique<Pool>();
  Pool& pool = *kept;
  ASSERT_TRUE(Open(&pool, device));
  std::map<uint64_t, uint64_t> live;
  for (uint64_t step = 0; step < 600; ++step) {
    Block block{};
    if (live.size() < 20 &&
        pool.Allocate({.size = SizeIn(step / 50), .stream = 1}, &block) == PoolError::kOk) {
      live[block.address] = block.size;
    } else if (!live.empty()) {
      pool.Free(live.begin()->first);
      live.erase(live.begin());
    }
  }
  Analysis analysis = listener_.Finish();
  ASSERT_EQ(analysis.detail.events_per_step, 1U);
  const uint64_t peak = analysis.detail.peak_event;
  for (uint64_t event : {peak, peak / 2, analysis.detail.events}) {
    uint64_t there = 0;
    for (const Life& segment : analysis.detail.segments) {
      if (segment.LivesAt(event)) there += segment.size;
    }
    const uint64_t reserved = analysis.detail.levels[event - 1].reserved;
    EXPECT_EQ(there, reserved) << event;
  }
  FindHoles(analysis.detail, &analysis.facts);
  uint64_t free = 0;
  for (const HoleFacts& hole : analysis.facts.fragmentation.holes) free += hole.size;
  EXPECT_EQ(free, analysis.facts.fragmentation.at_peak.free_bytes);
  EXPECT_EQ(analysis.facts.fragmentation.holes.front().size,
            analysis.facts.fragmentation.at_peak.largest_bytes);
  pool.Close(PoolEnd::kAlive);
}

INSTANTIATE_TEST_SUITE_P(Seeds, PoolTraceTest, testing::Range<uint64_t>(1, 6));

// Live memory on the host counts as allocated, but not as reserved.
class OffloadTraceTest : public OffloadTest {
 protected:
  Listener listener_;
};

TEST_F(OffloadTraceTest, WhatIsAwayLeavesRoomOnTheDevice) {
  sink_ = listener_.sink();
  Start(64 * kMiB);
  std::mt19937_64 random(7);
  uint64_t most_away = 0;
  for (int step = 0; step < 400; ++step) {
    const uint64_t address = live_.size() < 40 ? Take(1 + random() % (7 * kMiB), 1 + random() % 2,
                                                      static_cast<uint32_t>(1 + random() % 3))
                                               : 0;
    if (address == 0 && !live_.empty()) {
      Give(std::next(live_.begin(), static_cast<ptrdiff_t>(random() % live_.size()))->first);
    }
    if (random() % 20 == 0) offloader_.BringBack(8 * kMiB);
    if (random() % 40 == 0) {
      const uint32_t tag = static_cast<uint32_t>(1 + random() % 3);
      Pause(tag);
      Resume(tag, ~uint64_t{0});
    }
    most_away = std::max(most_away, listener_.away());
    ASSERT_EQ(listener_.analyzer().reserved(), device_->created_bytes());
  }
  EXPECT_GT(most_away, 16 * kMiB);
}

}  // namespace
}  // namespace vramstow
