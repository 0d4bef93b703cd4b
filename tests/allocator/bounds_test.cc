// Tests that a full table of the pool never ends a job: a request that fits into idle chunks is
// served, and a request beyond the bound of a table is left to the plain driver
// (PoolError::kUnavailable); it never fails with out of memory.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "allocator/pool/pool.h"
#include "base/rounding.h"
#include "base/units.h"
#include "tests/allocator/fake_device.h"

namespace vramstow {
namespace {

constexpr uint64_t kChunk = 2 * kMiB;

FakeDevice::Options DeviceOf(uint64_t bytes) {
  FakeDevice::Options options;
  options.total_bytes = bytes;
  return options;
}

class BoundsTest : public testing::Test {
 protected:
  // Opens the pool. Tables that `bounds` does not limit have the default size.
  void Open(uint64_t device_bytes, const PoolBounds& bounds = {},
            PoolBacking backing = PoolBacking::kVirtual) {
    device_ = std::make_unique<FakeDevice>(DeviceOf(device_bytes));
    device_->set_on_pause([this] { device_->FinishAll(); });
    PoolConfig config;
    config.bounds = bounds;
    config.backing = backing;
    ASSERT_EQ(pool_->Open(device_->table(), config), PoolError::kOk);
  }
  ~BoundsTest() override {
    if (device_ == nullptr) return;
    device_->FinishAll();
    EXPECT_EQ(pool_->Check(), nullptr);
    pool_->Close(PoolEnd::kAlive);
    EXPECT_TRUE(device_->violations().empty());
  }
  PoolError Allocate(uint64_t size, Block* block, uint64_t stream = 1, uint64_t pool = 0) {
    return pool_->Allocate({size, stream, pool, Layer::kFramework}, block);
  }
  uint64_t Take(uint64_t size, uint64_t stream = 1, uint64_t pool = 0) {
    Block block{};
    EXPECT_EQ(Allocate(size, &block, stream, pool), PoolError::kOk) << size << " bytes";
    return block.address;
  }
  // Allocates a block of 4 MiB from two free chunks that are not neighbours. The chunks move to the
  // block, and their mappings at the old pages (shadows) remain.
  void Stitch() {
    uint64_t small[4];
    for (uint64_t& address : small) address = Take(kChunk);
    pool_->Free(small[0]);
    pool_->Free(small[2]);
    pool_->Free(Take(2 * kChunk));
    EXPECT_GT(pool_->Stats().stitches, 0U);
  }

  std::unique_ptr<FakeDevice> device_;
  std::unique_ptr<Pool> pool_ = std::make_unique<Pool>();
};

// The block needs more chunks than the pool may have shadows (mappings that moved chunks leave at
// their old pages).
TEST_F(BoundsTest, AfterAStitchABlockOf287GiBIsServedOnADeviceOf288) {
  Open(288 * kGiB);
  Stitch();
  Take(287 * kGiB);
}

TEST_F(BoundsTest, BlocksOnBothSidesOfTheBoundOfShadowsAreServedAfterAStitch) {
  Open(40 * kGiB);
  const uint64_t bound = uint64_t{PoolBounds().shadows} * kChunk;
  for (const uint64_t size : {bound - kChunk, bound, bound + kChunk, 39 * kGiB}) {
    Stitch();
    pool_->Free(Take(size));
  }
}

TEST_F(BoundsTest, PastTheBoundOfShadowsChunksMoveWithoutThem) {
  Open(256 * kMiB, {.shadows = 4});
  std::vector<uint64_t> small;
  for (int i = 0; i < 128; ++i) small.push_back(Take(kChunk));
  for (size_t i = 0; i < small.size(); i += 2) pool_->Free(small[i]);
  Take(128 * kMiB);
}

// More holes than a plan examines lie below the one that is large enough.
TEST_F(BoundsTest, ManyHolesDoNotHideARegionThatIsExactlyAsLargeAsTheRequest) {
  Open(16 * kGiB);
  std::vector<uint64_t> blocks;
  for (int i = 0; i < 2400; ++i) blocks.push_back(Take(kChunk));
  for (size_t i = 0; i < blocks.size(); i += 2) pool_->Free(blocks[i]);
  device_->FinishAll();
  pool_->Trim({});
  Take(11 * kGiB);
}

TEST_F(BoundsTest, ARequestWithoutASpanIsLeftToTheDriver) {
  Open(kGiB, {.spans = 8192});
  std::vector<uint64_t> blocks;
  PoolError error = PoolError::kOk;
  for (Block block{}; (error = Allocate(512, &block)) == PoolError::kOk;) {
    blocks.push_back(block.address);
    ASSERT_LT(blocks.size(), 8192U);
  }
  EXPECT_EQ(error, PoolError::kUnavailable);
  for (const uint64_t address : blocks) EXPECT_EQ(pool_->Free(address), PoolError::kOk);
  Take(512);
}

// If a request is left to the plain driver, the pool first releases its cached memory, so that the
// driver has enough.
TEST_F(BoundsTest, WhatIsLeftToTheDriverFindsTheMemoryThatThePoolHadCached) {
  Open(kGiB, {.spans = 8192});
  pool_->Free(Take(900 * kMiB));
  Block block{};
  while (Allocate(512, &block) == PoolError::kOk) {
  }
  ASSERT_EQ(Allocate(512 * kMiB, &block), PoolError::kUnavailable);
  uint64_t address = 0;
  const DriverTable* driver = device_->table();
  ASSERT_EQ(driver->allocate(driver->self, 512 * kMiB, &address), kDriverSuccess);
  driver->free(driver->self, address);
}

TEST_F(BoundsTest, ARequestWithoutASpanIsOutOfMemoryWhereALimitForbidsTheDriverToServeIt) {
  device_ = std::make_unique<FakeDevice>(DeviceOf(kGiB));
  PoolConfig config;
  config.bounds.spans = 8192;
  config.limit_bytes = 16 * kMiB;
  config.last_wait_ns = 0;
  ASSERT_EQ(pool_->Open(device_->table(), config), PoolError::kOk);
  Block block{};
  while (Allocate(512, &block) == PoolError::kOk) {
  }
  EXPECT_EQ(Allocate(32 * kMiB, &block), PoolError::kOutOfMemory);
}

TEST_F(BoundsTest, ASegmentWithoutARegionIsLeftToTheDriver) {
  Open(kGiB, {.regions = 8}, PoolBacking::kSegments);
  std::vector<uint64_t> blocks;
  PoolError error = PoolError::kOk;
  for (Block block{}; (error = Allocate(16 * kMiB, &block)) == PoolError::kOk;) {
    blocks.push_back(block.address);
    ASSERT_LT(blocks.size(), 60U);
  }
  EXPECT_EQ(blocks.size(), 8U);
  EXPECT_EQ(error, PoolError::kUnavailable);
  pool_->Free(blocks[0]);
  device_->FinishAll();
  Take(32 * kMiB);  // a free segment is released, and another one gets its region
}

TEST_F(BoundsTest, MoreThan32GiBOfSmallSegmentsAreServed) {
  Open(40 * kGiB, {}, PoolBacking::kSegments);
  for (uint64_t taken = 0; taken < 36 * kGiB; taken += kChunk) Take(128 * kKiB, 1 + taken / kGiB);
}

// The table of uses is full. If a use by another stream were ignored, the block's memory could be
// reused while that stream still reads it.
TEST_F(BoundsTest, AUseWithoutARecordCountsAsOneByEveryStream) {
  Open(kGiB, {.uses = 1024});
  pool_->NoteStream(1);
  pool_->NoteStream(2);
  std::vector<uint64_t> blocks;
  for (int i = 0; i < 4000; ++i) blocks.push_back(Take(512));
  for (const uint64_t address : blocks) {
    ASSERT_EQ(pool_->RecordUse(address, 2), PoolError::kOk);
  }
  device_->set_on_pause([] {});
  device_->Submit(2, blocks.back(), 512);
  for (const uint64_t address : blocks) ASSERT_EQ(pool_->Free(address), PoolError::kOk);
  std::set<uint64_t> again;
  for (int i = 0; i < 4000; ++i) again.insert(Take(512));
  EXPECT_FALSE(again.contains(blocks.back()));
  for (const uint64_t address : again) {
    EXPECT_FALSE(device_->Touched(address, 512, /*except=*/1));
  }
  device_->FinishAll();
}

TEST_F(BoundsTest, MoreStreamsThanHeapsAreServedTogether) {
  Open(8 * kGiB);
  for (uint64_t stream = 1; stream <= 1200; ++stream) Take(kMiB, stream);
}

TEST_F(BoundsTest, MoreThanAnyDeviceHasIsOutOfMemoryAndLeavesTheCacheAlone) {
  Open(kGiB);
  pool_->Free(Take(512 * kMiB));
  Block block{};
  EXPECT_EQ(Allocate(3 * kTiB, &block), PoolError::kOutOfMemory);
  const uint64_t creates = device_->Calls("create");
  Take(512 * kMiB);
  EXPECT_EQ(device_->Calls("create"), creates);
}

// All heaps are in use. The request must not go to the heap of callers without a stream, because
// that heap would give the private pool's memory to other requests.
TEST_F(BoundsTest, APrivatePoolWithoutAHeapIsLeftToTheDriver) {
  Open(8 * kGiB);
  Block block{};
  for (uint64_t pool = 1; pool <= 1023; ++pool) Take(kMiB, 1, pool);
  EXPECT_EQ(Allocate(kMiB, &block, 1, 2000), PoolError::kUnavailable);
  Take(kMiB, 2000);
}

// Makes random requests of every size up to the device's, on three streams and in a private pool,
// while work is unfinished. A request that fits into unused chunks must be served.
class FreeChunks {
 public:
  explicit FreeChunks(uint64_t total) : total_(total / kChunk) {}
  void Add(uint64_t address, uint64_t size, bool stays) {
    for (uint64_t page = address / kChunk; page <= (address + size - 1) / kChunk; ++page) {
      if (Users(&users_, page)++ == 0) ++used_;
      // A private pool retains its cached pages, so they count as used.
      if (stays && stays_.insert(page).second && Users(&users_, page)++ == 0) ++used_;
    }
  }
  void Remove(uint64_t address, uint64_t size) {
    for (uint64_t page = address / kChunk; page <= (address + size - 1) / kChunk; ++page) {
      if (--Users(&users_, page) == 0) --used_;
    }
  }
  uint64_t free() const { return total_ - used_; }

 private:
  static uint32_t& Users(std::map<uint64_t, uint32_t>* users, uint64_t page) {
    return (*users)[page];
  }

  const uint64_t total_;
  uint64_t used_ = 0;
  std::map<uint64_t, uint32_t> users_;
  std::set<uint64_t> stays_;
};

class EverySizeTest : public BoundsTest, public testing::WithParamInterface<uint64_t> {};

TEST_P(EverySizeTest, WhatFitsIntoFreeChunksIsServed) {
  constexpr uint64_t kDevice = 40 * kGiB;
  Open(kDevice);
  std::mt19937_64 random(GetParam());
  std::uniform_real_distribution<double> exponent(9, std::log2(static_cast<double>(kDevice)));
  FreeChunks chunks(kDevice);
  struct Held {
    uint64_t address, size, stream;
  };
  std::vector<Held> held;
  for (int step = 0; step < 600; ++step) {
    if (!held.empty() && random() % 5 < 2) {
      std::swap(held[random() % held.size()], held.back());
      const Held block = held.back();
      held.pop_back();
      if (random() % 4 == 0) device_->Submit(block.stream, block.address, 512);
      ASSERT_EQ(pool_->Free(block.address), PoolError::kOk);
      chunks.Remove(block.address, block.size);
      continue;
    }
    const auto size = static_cast<uint64_t>(std::exp2(exponent(random)));
    const uint64_t stream = 1 + random() % 3;
    const bool is_private = random() % 16 == 0 && size < kGiB;
    Block block{};
    const PoolError error = Allocate(size, &block, stream, is_private ? 7 : 0);
    if (error == PoolError::kOk) {
      chunks.Add(block.address, block.size, is_private);
      held.push_back({block.address, block.size, stream});
    } else {
      ASSERT_EQ(error, PoolError::kOutOfMemory);
      ASSERT_GT(DivideUp(size, kChunk), chunks.free())
          << "step " << step << ": " << size << " bytes were refused";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, EverySizeTest, testing::Range<uint64_t>(1, 9));

}  // namespace
}  // namespace vramstow
