// Tests of the pool that scenarios cannot express: events, reports, the cost of a hit, unusual
// arguments.
#include "allocator/pool/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "allocator/core/cuda_driver.h"
#include "base/units.h"
#include "tests/allocator/fake_device.h"

namespace vramstow {
namespace {

// Computes the reserved, mapped and allocated bytes from the events alone.
struct Account {
  uint64_t sequence = 0;
  uint64_t reserved = 0;
  uint64_t mapped = 0;
  uint64_t allocated = 0;
  uint64_t pending = 0;
  std::map<EventKind, uint64_t> kinds;
  std::map<uint64_t, Event> announced;

  static uint64_t Take(void* context, Event* event) {
    return static_cast<Account*>(context)->Add(*event);
  }
  uint64_t Add(const Event& event) {
    ++kinds[event.kind];
    announced[++sequence] = event;
    Apply(event, event.kind == EventKind::kRefused);
    return sequence;
  }
  void Apply(const Event& event, bool refused) {
    const Event& said = refused ? announced[event.object] : event;
    const uint64_t sign = refused ? ~uint64_t{0} : 1;
    if (said.result != 0) return;
    if (said.memory == MemoryKind::kPhysical) {
      if (said.kind == EventKind::kAllocate) reserved += said.size;
      if (said.kind == EventKind::kFree) reserved -= said.size * sign;
      if (said.kind == EventKind::kMap) mapped += said.size;
      if (said.kind == EventKind::kUnmap) mapped -= said.size * sign;
    } else if (said.memory == MemoryKind::kDevice) {
      if (said.kind == EventKind::kAllocate) allocated += said.size;
      if (said.kind == EventKind::kFree) allocated -= said.size;
    }
  }
};

class PoolTest : public testing::Test {
 protected:
  void Start(const FakeDevice::Options& options = {}) {
    device_ = std::make_unique<FakeDevice>(options);
    config_.sink = {Account::Take, &account_};
    config_.check = true;
    ASSERT_EQ(pool_->Open(device_->table(), config_), PoolError::kOk);
    open_ = true;
  }
  ~PoolTest() override {
    if (!open_) return;
    EXPECT_EQ(pool_->Check(), nullptr);
    EXPECT_EQ(pool_->check_failure(), nullptr);
    pool_->Close(PoolEnd::kAlive);
    EXPECT_TRUE(device_->violations().empty());
    EXPECT_EQ(account_.reserved, 0U);
    EXPECT_EQ(account_.mapped, 0U);
  }
  Block Take(uint64_t size, uint64_t stream = 1) {
    Block block{};
    EXPECT_EQ(pool_->Allocate({size, stream, 0, Layer::kFramework}, &block), PoolError::kOk);
    return block;
  }

  PoolConfig config_;
  Account account_;
  std::unique_ptr<FakeDevice> device_;
  std::unique_ptr<Pool> pool_ = std::make_unique<Pool>();
  bool open_ = false;
};

TEST_F(PoolTest, ThePeakIsExactOverManyStreams) {
  Start();
  std::mt19937_64 random(7);
  std::vector<Block> live;
  uint64_t allocated = 0;
  uint64_t peak = 0;
  for (int step = 0; step < 20'000; ++step) {
    // The number of live blocks rises and falls, so that different streams reach the peak again and
    // again.
    const size_t level = 20 + static_cast<size_t>(step / 500 % 4) * 15;
    if (live.size() > level || (!live.empty() && random() % 2 == 0)) {
      std::swap(live[random() % live.size()], live.back());
      ASSERT_EQ(pool_->Free(live.back().address), PoolError::kOk);
      allocated -= live.back().size;
      live.pop_back();
    } else {
      Block block{};
      const BlockRequest request{1 + random() % (256 << 10), 1 + random() % 5};
      ASSERT_EQ(pool_->Allocate(request, &block), PoolError::kOk);
      allocated += block.size;
      live.push_back(block);
    }
    if (step == 10'000) {
      pool_->ResetPeaks();
      peak = allocated;
    }
    peak = std::max(peak, allocated);
    ASSERT_EQ(pool_->Stats().peak_allocated_bytes, peak) << "step " << step;
  }
  for (const Block& block : live) EXPECT_EQ(pool_->Free(block.address), PoolError::kOk);
}

TEST_F(PoolTest, EventsTellReservedAndAllocatedMemoryExactly) {
  FakeDevice::Options options;
  options.total_bytes = 128 * kMiB;
  config_.last_wait_ns = 100'000;
  Start(options);
  std::mt19937_64 random(1);
  std::vector<Block> live;
  for (int step = 0; step < 3'000; ++step) {
    if (step % 40 == 7) device_->FailNth("", 1 + random() % 6, false);
    if (live.size() < 30 && random() % 2 == 0) {
      Block block{};
      const BlockRequest request{1 + random() % (10 * kMiB), random() % 3};
      if (pool_->Allocate(request, &block) == PoolError::kOk) live.push_back(block);
    } else if (!live.empty()) {
      EXPECT_EQ(pool_->Free(live.back().address), PoolError::kOk);
      live.pop_back();
    } else {
      pool_->Trim({4 * kMiB, 0});
    }
    const PoolStats stats = pool_->Stats();
    ASSERT_EQ(account_.allocated, stats.allocated_bytes) << step;
    ASSERT_EQ(account_.reserved, stats.reserved_bytes) << step;
    ASSERT_EQ(account_.reserved, device_->created_bytes()) << step;
    ASSERT_EQ(account_.mapped, device_->mapped_bytes()) << step;
  }
  device_->FailNothing();
  for (const Block& block : live) EXPECT_EQ(pool_->Free(block.address), PoolError::kOk);
  for (const EventKind kind : {EventKind::kCacheMiss, EventKind::kCacheGrow,
                               EventKind::kCacheStitch, EventKind::kRefused}) {
    EXPECT_GT(account_.kinds[kind], 0U) << EventKindName(kind);
  }
}

TEST_F(PoolTest, AHitMakesNoDriverCall) {
  config_.check = false;
  Start();
  config_.sink = {};
  std::vector<uint64_t> live;
  for (const uint64_t size : {uint64_t{512}, 100 * kKiB, 3 * kMiB, 64 * kMiB}) {
    live.push_back(Take(size).address);
  }
  for (const uint64_t address : live) EXPECT_EQ(pool_->Free(address), PoolError::kOk);
  Take(512);
  const uint64_t calls = device_->AllCalls();
  const uint64_t misses = pool_->Stats().misses;
  for (int i = 0; i < 1'000; ++i) {
    for (const uint64_t size : {100 * kKiB, 3 * kMiB, 7 * kMiB, 64 * kMiB}) {
      const Block block = Take(size);
      EXPECT_EQ(block.served, Served::kHit);
      EXPECT_EQ(pool_->Free(block.address), PoolError::kOk);
    }
  }
  EXPECT_EQ(device_->AllCalls(), calls);
  EXPECT_EQ(pool_->Stats().misses, misses);
}

// A free does not ask the driver. Nobody requests memory after it, so only SettleFrees can.
TEST_F(PoolTest, WhatNoWorkUsesIsNotPendingWhenTheNumbersAreShown) {
  Start();
  const Block idle = Take(8 * kMiB);
  const Block used = Take(16 * kMiB);
  ASSERT_EQ(pool_->RecordUse(idle.address, 2), PoolError::kOk);
  ASSERT_EQ(pool_->RecordUse(used.address, 3), PoolError::kOk);
  device_->Submit(3, used.address, used.size);
  ASSERT_EQ(pool_->Free(idle.address), PoolError::kOk);
  ASSERT_EQ(pool_->Free(used.address), PoolError::kOk);
  EXPECT_EQ(pool_->Stats().pending_bytes, idle.size + used.size);
  pool_->SettleFrees();
  EXPECT_EQ(pool_->Stats().pending_bytes, used.size);
  device_->Finish(3);
  pool_->SettleFrees();
  EXPECT_EQ(pool_->Stats().pending_bytes, 0U);
}

TEST_F(PoolTest, TheReportSaysWhatWasTriedAndWhoHoldsMost) {
  FakeDevice::Options options;
  options.total_bytes = 64 * kMiB;
  config_.last_wait_ns = 100'000;
  Start(options);
  Take(20 * kMiB);
  Take(30 * kMiB, 2);
  Take(4 * kMiB);
  ASSERT_TRUE(pool_->AddHook([](void*, HookKind, uint64_t) {}, nullptr));
  Block block{};
  EXPECT_EQ(pool_->Allocate({40 * kMiB, 1}, &block), PoolError::kOutOfMemory);
  const OutOfMemoryReport report = pool_->LastReport();
  EXPECT_EQ(report.number, 1U);
  EXPECT_EQ(report.requested_bytes, 40 * kMiB);
  EXPECT_EQ(report.allocated_bytes, 54 * kMiB);
  EXPECT_EQ(report.device_total_bytes, 64 * kMiB);
  ASSERT_EQ(report.holder_count, 3);
  EXPECT_EQ(report.holders[0].bytes, 30 * kMiB);
  EXPECT_EQ(report.holders[0].stream, 2U);
  EXPECT_EQ(report.holders[2].bytes, 4 * kMiB);
  for (const LadderStep step :
       {LadderStep::kGrow, LadderStep::kTrimOthers, LadderStep::kHooks, LadderStep::kWait}) {
    EXPECT_GT(report.tried[static_cast<int>(step)].times, 0U) << LadderStepName(step);
  }
  std::array<char, 1024> text{};
  const size_t length = FormatReport(report, text.data(), text.size());
  EXPECT_EQ(length, std::strlen(text.data()));
  for (const char* part : {"40.0 MiB were asked for on stream 0x1", "54.0 MiB are allocated",
                           "hooks", "30.0 MiB at 0x"}) {
    EXPECT_NE(std::string(text.data()).find(part), std::string::npos) << part << "\n"
                                                                      << text.data();
  }
  std::array<char, 20> small{};
  EXPECT_EQ(FormatReport(report, small.data(), small.size()), 19U);
}

// Blocks of unreachable objects, which a garbage collector would free when the pool requests a
// collection.
struct Dead {
  Pool* pool = nullptr;
  std::vector<uint64_t> young;
  std::vector<uint64_t> old;
  std::vector<bool> asked;  // for all
  uint64_t reserved_at_most = 0;

  static uint64_t Collect(void* context, int, bool all) {
    auto* dead = static_cast<Dead*>(context);
    dead->asked.push_back(all);
    // Nothing that was made for the request counts while the collection runs.
    if (dead->reserved_at_most != 0) {
      EXPECT_LE(dead->pool->Stats().reserved_bytes, dead->reserved_at_most);
    }
    std::vector<uint64_t>& blocks = all ? dead->old : dead->young;
    if (blocks.empty()) return 0;
    EXPECT_EQ(dead->pool->Free(blocks.back()), PoolError::kOk);
    blocks.pop_back();
    return 1;
  }
};

TEST_F(PoolTest, GarbageIsCollectedLastTheYoungFirst) {
  FakeDevice::Options options;
  options.total_bytes = 64 * kMiB;
  config_.last_wait_ns = 100'000;
  Dead dead;
  bool may = true;
  struct Context {
    Dead* dead;
    bool* may;
  } context{&dead, &may};
  config_.collection = {[](void* given) { return *static_cast<Context*>(given)->may; },
                        [](void* given, int device, bool all) {
                          return Dead::Collect(static_cast<Context*>(given)->dead, device, all);
                        },
                        &context};
  Start(options);
  dead.pool = pool_.get();
  dead.young = {Take(10 * kMiB).address};
  for (int i = 0; i < 3; ++i) dead.old.push_back(Take(10 * kMiB).address);
  dead.reserved_at_most = 40 * kMiB;
  BlockRequest request{45 * kMiB, 1};
  Block block{};
  EXPECT_EQ(pool_->Allocate({45 * kMiB, 1}, &block), PoolError::kOutOfMemory);
  EXPECT_THAT(dead.asked, testing::IsEmpty()) << "who is no framework may hold locks";
  request.layer = Layer::kFramework;
  EXPECT_EQ(pool_->Allocate(request, &block), PoolError::kOk);
  EXPECT_THAT(dead.asked, testing::ElementsAre(false, true, true));
  EXPECT_EQ(pool_->Stats().out_of_memory, 1U);
  dead.reserved_at_most = 0;
  // A collection does not free enough memory, so the request fails, and the failure counts once.
  request.size = 60 * kMiB;
  EXPECT_EQ(pool_->Allocate(request, &block), PoolError::kOutOfMemory);
  EXPECT_THAT(dead.asked, testing::ElementsAre(false, true, true, false, true, true));
  EXPECT_EQ(pool_->Stats().out_of_memory, 2U);
  EXPECT_EQ(pool_->LastReport().tried[static_cast<int>(LadderStep::kCollect)].times, 3U);
  may = false;
  EXPECT_EQ(pool_->Allocate(request, &block), PoolError::kOutOfMemory);
  request.size = 100 * kMiB;
  may = true;
  EXPECT_EQ(pool_->Allocate(request, &block), PoolError::kOutOfMemory);
  EXPECT_THAT(dead.asked, testing::SizeIs(6)) << "no device of this size could hold it";
}

TEST_F(PoolTest, OddArgumentsAreRefused) {
  Start();
  Block block{};
  EXPECT_EQ(pool_->Allocate({0, 1}, &block), PoolError::kInvalid);
  EXPECT_EQ(pool_->Allocate({~uint64_t{0}, 1}, &block), PoolError::kOutOfMemory);
  EXPECT_EQ(pool_->LastReport().requested_bytes, ~uint64_t{0}) << "no request goes unreported";
  EXPECT_EQ(pool_->Free(0), PoolError::kNotOurs);
  EXPECT_EQ(pool_->Free(0x1234), PoolError::kNotOurs);
  const Block live = Take(4 * kMiB);
  EXPECT_EQ(pool_->Free(live.address + 512), PoolError::kInvalid);
  EXPECT_EQ(pool_->RecordUse(live.address + 512, 2), PoolError::kInvalid);
  EXPECT_EQ(pool_->RecordUse(0x1234, 2), PoolError::kNotOurs);
  EXPECT_TRUE(pool_->Owns(live.address));
  EXPECT_FALSE(pool_->Owns(0x1234));
  EXPECT_EQ(pool_->Free(live.address), PoolError::kOk);
}

TEST_F(PoolTest, AnAddressWithinABlockFindsIt) {
  Start();
  const Block block = Take(5 * kMiB + 1);
  BlockInfo info{};
  ASSERT_EQ(pool_->Find(block.address + 3 * kMiB, &info), PoolError::kOk);
  EXPECT_EQ(info.address, block.address);
  EXPECT_EQ(info.requested, 5 * kMiB + 1);
  EXPECT_EQ(info.stream, 1U);
  EXPECT_EQ(pool_->Find(block.address + block.size, &info), PoolError::kInvalid);
  EXPECT_EQ(pool_->Find(0x1234, &info), PoolError::kNotOurs);
}

// A network card uses the physical memory that was behind the addresses when they were registered.
TEST_F(PoolTest, RegisteredMemoryKeepsItsChunksAlsoWhenItIsFree) {
  FakeDevice::Options options;
  options.total_bytes = 64 * kMiB;
  Start(options);
  const Block below = Take(6 * kMiB);
  const Block block = Take(8 * kMiB);
  const Block above = Take(6 * kMiB);
  pool_->RegisterChunks(block.address, block.size);
  std::map<uint64_t, uint64_t> handles;
  for (uint64_t at = block.address; at < block.address + block.size; at += 2 * kMiB) {
    handles[at] = device_->HandleAt(at);
  }
  for (const Block& each : {below, block, above}) {
    EXPECT_EQ(pool_->Free(each.address), PoolError::kOk);
  }
  const auto expect_kept = [&](const char* when) {
    for (const auto& [address, handle] : handles) {
      EXPECT_EQ(device_->HandleAt(address), handle) << when;
    }
    EXPECT_EQ(pool_->Stats().reserved_bytes % (2 * kMiB), 0U);
  };
  // The test makes everything happen that may move chunks: the block's stream stitches (it builds a
  // block from scattered chunks), another stream uses all available memory, and cached memory is
  // released.
  const Block stitched = Take(24 * kMiB);
  expect_kept("after a stitch");
  EXPECT_EQ(pool_->Free(stitched.address), PoolError::kOk);
  const Block rest = Take(56 * kMiB, 2);
  expect_kept("after another stream took the rest");
  Block more{};
  EXPECT_EQ(pool_->Allocate({2 * kMiB, 2}, &more), PoolError::kOutOfMemory);
  EXPECT_EQ(pool_->Free(rest.address), PoolError::kOk);
  pool_->Trim({});
  expect_kept("after a trim");
  EXPECT_EQ(pool_->Stats().reserved_bytes, 8 * kMiB);
  EXPECT_EQ(Take(8 * kMiB).address, block.address);
  expect_kept("in use again");
}

// RDMA verbs register memory in this way: chunks that are held several times stay until they have
// been released as often.
TEST_F(PoolTest, HeldMemoryKeepsItsChunksUntilItIsReleasedAsOften) {
  FakeDevice::Options options;
  options.total_bytes = 64 * kMiB;
  Start(options);
  const Block block = Take(8 * kMiB);
  const uint64_t second = block.address + 2 * kMiB;
  const uint64_t handle = device_->HandleAt(second);
  EXPECT_EQ(pool_->HoldChunks(block.address, block.size), block.size);
  EXPECT_EQ(pool_->HoldChunks(second + 512, 1024), 1024U);
  EXPECT_EQ(pool_->HoldChunks(second + 512, 64 * kMiB), 6 * kMiB - 512) << "behind it is nothing";
  EXPECT_EQ(pool_->HoldChunks(kGiB, kMiB), 0U);
  EXPECT_EQ(pool_->Free(block.address), PoolError::kOk);
  pool_->Trim({});
  EXPECT_EQ(pool_->Stats().reserved_bytes, 8 * kMiB);
  pool_->ReleaseChunks(block.address, block.size);
  pool_->Trim({});
  EXPECT_EQ(pool_->Stats().reserved_bytes, 6 * kMiB);
  pool_->ReleaseChunks(second + 512, 6 * kMiB - 512);
  pool_->Trim({});
  EXPECT_EQ(pool_->Stats().reserved_bytes, 2 * kMiB);
  EXPECT_EQ(device_->HandleAt(second), handle);
  pool_->ReleaseChunks(second + 512, 1024);
  pool_->Trim({});
  EXPECT_EQ(pool_->Stats().reserved_bytes, 0U);
}

TEST_F(PoolTest, WhatIsHeldMoreOftenThanCanBeCountedOrForGoodIsNotReleased) {
  FakeDevice::Options options;
  options.total_bytes = 64 * kMiB;
  Start(options);
  const Block block = Take(4 * kMiB);
  for (int i = 0; i < 40'000; ++i) pool_->HoldChunks(block.address, 1);
  for (int i = 0; i < 40'000; ++i) pool_->ReleaseChunks(block.address, 1);
  pool_->HoldChunks(block.address + 2 * kMiB, 1);
  pool_->RegisterChunks(block.address + 2 * kMiB, 1);
  pool_->ReleaseChunks(block.address + 2 * kMiB, 1);
  EXPECT_EQ(pool_->Free(block.address), PoolError::kOk);
  pool_->Trim({});
  EXPECT_EQ(pool_->Stats().reserved_bytes, 4 * kMiB);
}

TEST_F(PoolTest, ASmallAddressSpaceIsEnough) {
  FakeDevice::Options options;
  options.largest_reserve = 512 * kMiB;
  Start(options);
  for (uint64_t stream = 1; stream < 4; ++stream) Take(200 * kMiB, stream);
}

TEST_F(PoolTest, AThousandStreamsShareWhatTheyCannotHaveForThemselves) {
  config_.check = false;
  Start();
  for (uint64_t stream = 1; stream <= 1'100; ++stream) {
    const Block block = Take(512, stream);
    if (block.address != 0) {
      EXPECT_EQ(pool_->Free(block.address), PoolError::kOk);
    }
    if (stream % 100 == 0) pool_->Trim({});
  }
}

TEST_F(PoolTest, AContextThatIsGoneIsForgottenWithoutACall) {
  Start();
  Take(8 * kMiB);
  const uint64_t calls = device_->AllCalls();
  pool_->Close(PoolEnd::kDriverGone);
  EXPECT_EQ(device_->AllCalls(), calls);
  open_ = false;
}

TEST_F(PoolTest, HostMemoryPerLiveBlockIsBounded) {
  config_.check = false;
  FakeDevice::Options options;
  options.total_bytes = 8 * kGiB;
  Start(options);
  config_.sink = {};
  constexpr uint64_t kCount = 300'000;
  std::vector<uint64_t> live(kCount);
  const uint64_t before = pool_->Stats().host_bytes;
  for (uint64_t& address : live) address = Take(1 + address % 4096).address;
  const uint64_t each = (pool_->Stats().host_bytes - before) / kCount;
  EXPECT_LE(each, 100U);
  EXPECT_GE(each, sizeof(Span));  // shows that it was counted
  for (const uint64_t address : live) EXPECT_EQ(pool_->Free(address), PoolError::kOk);
}

TEST(CudaDriverTest, SaysWhatADriverLacks) {
  CudaDriver driver;
  EXPECT_FALSE(
      driver.Open([](void*, const char*) -> void* { return nullptr; }, nullptr, 0, nullptr));
  EXPECT_STREQ(driver.missing(), "cuCtxGetCurrent");
}

// Makes room for one request, but only when it is called for the second time.
struct LateRoom {
  FakeDevice* device;
  int calls = 0;

  static uint64_t Reclaim(void* context, uint64_t bytes) {
    auto* const room = static_cast<LateRoom*>(context);
    if (++room->calls < 2) return 0;
    room->device->SetForeignBytes(0);
    return bytes;
  }
};

TEST(PoolReclaim, IsTriedAgainAfterAllWorkHasFinished) {
  FakeDevice::Options options;
  options.total_bytes = kGiB;
  FakeDevice device(options);
  device.SetForeignBytes(kGiB - 64 * kMiB);
  LateRoom room{&device};
  PoolConfig config;
  config.reclaim_callback = {LateRoom::Reclaim, &room};
  auto pool = std::make_unique<Pool>();
  ASSERT_EQ(pool->Open(device.table(), config), PoolError::kOk);
  Block block;
  EXPECT_EQ(pool->Allocate({.size = 256 * kMiB}, &block), PoolError::kOk);
  EXPECT_EQ(room.calls, 2);
  EXPECT_EQ(pool->Free(block.address), PoolError::kOk);
  pool->Close(PoolEnd::kAlive);
}

}  // namespace
}  // namespace vramstow
