// Tests the guarantee that a framework's private pools rely on: memory that graphs write to stays
// at its address.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "allocator/pool/pool.h"
#include "base/units.h"
#include "tests/allocator/fake_device.h"

namespace vramstow {
namespace {

class PrivatePoolTest : public testing::Test {
 protected:
  PrivatePoolTest() {
    FakeDevice::Options options;
    options.total_bytes = 64 * kMiB;
    device_ = std::make_unique<FakeDevice>(options);
    PoolConfig config;
    config.check = true;
    config.last_wait_ns = 100'000;
    EXPECT_EQ(pool_->Open(device_->table(), config), PoolError::kOk);
  }
  ~PrivatePoolTest() override {
    EXPECT_EQ(pool_->Check(), nullptr);
    EXPECT_EQ(pool_->check_failure(), nullptr);
    pool_->Close(PoolEnd::kAlive);
    EXPECT_TRUE(device_->violations().empty());
  }
  Block Take(uint64_t size, uint64_t pool) {
    Block block{};
    EXPECT_EQ(pool_->Allocate({size, 1, pool, Layer::kFramework}, &block), PoolError::kOk);
    return block;
  }

  std::unique_ptr<FakeDevice> device_;
  std::unique_ptr<Pool> pool_ = std::make_unique<Pool>();
};

TEST_F(PrivatePoolTest, KeptMemoryStaysMappedUntilItIsLetGo) {
  const Block block = Take(40 * kMiB, 7);
  ASSERT_EQ(pool_->Free(block.address), PoolError::kOk);
  pool_->Trim({});
  EXPECT_TRUE(device_->Accessible(block.address, block.size));
  // A request outside of the private pool fails rather than use the private pool's memory.
  Block other{};
  EXPECT_EQ(pool_->Allocate({40 * kMiB, 1, 0, Layer::kFramework}, &other), PoolError::kOutOfMemory);
  EXPECT_TRUE(device_->Accessible(block.address, block.size));
  pool_->KeepPrivate(7, false);
  EXPECT_EQ(pool_->Allocate({40 * kMiB, 1, 0, Layer::kFramework}, &other), PoolError::kOk);
  EXPECT_TRUE(device_->Overlap(block.address, block.size, other.address, other.size));
}

TEST_F(PrivatePoolTest, KeptMemoryIsNotReportedAsFree) {
  uint64_t before = 0;
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;
  ASSERT_EQ(pool_->Free(Take(4 * kMiB, 0).address), PoolError::kOk);
  ASSERT_EQ(pool_->MemoryInfo(&before, &total_bytes), kDriverSuccess);
  ASSERT_EQ(pool_->Free(Take(20 * kMiB, 7).address), PoolError::kOk);
  ASSERT_EQ(pool_->MemoryInfo(&free_bytes, &total_bytes), kDriverSuccess);
  EXPECT_EQ(free_bytes, before - 20 * kMiB);
  pool_->KeepPrivate(7, false);
  ASSERT_EQ(pool_->MemoryInfo(&free_bytes, &total_bytes), kDriverSuccess);
  EXPECT_EQ(free_bytes, before);
}

TEST_F(PrivatePoolTest, BlocksComeBackAtTheirAddresses) {
  std::vector<Block> blocks;
  for (const uint64_t size : {512 * kKiB, 3 * kMiB, 100 * kKiB, 5 * kMiB}) {
    blocks.push_back(Take(size, 3));
  }
  for (const Block& block : blocks) ASSERT_EQ(pool_->Free(block.address), PoolError::kOk);
  for (const Block& block : blocks) {
    Block again{};
    const BlockRequest request{block.size, 1, 3, Layer::kFramework};
    ASSERT_EQ(pool_->AllocateAt(block.address, request, &again), PoolError::kOk);
    EXPECT_EQ(again.address, block.address);
    EXPECT_EQ(again.size, block.size);
    // A block at this address is live now, so the address cannot be allocated again.
    EXPECT_EQ(pool_->AllocateAt(block.address, request, &again), PoolError::kInvalid);
  }
  EXPECT_EQ(pool_->AllocateAt(1, {512, 1, 3}, blocks.data()), PoolError::kInvalid);
  EXPECT_EQ(pool_->AllocateAt(blocks[0].address, {512, 2, 3}, blocks.data()), PoolError::kInvalid);
}

TEST_F(PrivatePoolTest, SpansAndMappedBytesAgree) {
  Take(100 * kKiB, 0);
  const Block block = Take(9 * kMiB, 5);
  BlockInfo freed{};
  ASSERT_EQ(pool_->Free(Take(3 * kMiB, 5).address, &freed), PoolError::kOk);
  EXPECT_EQ(freed.requested, 3 * kMiB);
  EXPECT_EQ(freed.pool, 5U);
  struct Seen {
    MappedBytes mapped{};
    uint64_t live = 0;
  } seen;
  pool_->VisitSpans(
      [](void* context, const PoolSpan& span) {
        auto* sum = static_cast<Seen*>(context);
        (span.small ? sum->mapped.small : sum->mapped.large) += span.size;
        if (span.state == SpanState::kLive && span.pool == 5) sum->live += span.size;
      },
      &seen);
  EXPECT_EQ(seen.live, block.size);
  EXPECT_EQ(seen.mapped.small, pool_->Mapped(0).small);
  EXPECT_EQ(seen.mapped.large, pool_->Mapped(0).large);
  EXPECT_EQ(pool_->Mapped(5).small, 0U);
  EXPECT_EQ(seen.mapped.small + seen.mapped.large, pool_->Stats().reserved_bytes);
  pool_->KeepPrivate(5, false);
  pool_->Trim({});
  EXPECT_EQ(pool_->Mapped(0).small + pool_->Mapped(0).large, pool_->Stats().reserved_bytes);
}

TEST_F(PrivatePoolTest, AFrameworksShareIsForBlocksWithAStream) {
  pool_->SetShare(8 * kMiB);
  Block block{};
  ASSERT_EQ(pool_->Allocate({20 * kMiB}, &block), PoolError::kOk);
  ASSERT_EQ(pool_->Allocate({8 * kMiB, 1, 0, Layer::kFramework}, &block), PoolError::kOk);
  EXPECT_EQ(pool_->Allocate({2 * kMiB, 1, 0, Layer::kFramework}, &block), PoolError::kOutOfMemory);
  EXPECT_EQ(pool_->Allocate({20 * kMiB}, &block), PoolError::kOk);
}

TEST_F(PrivatePoolTest, WhatAFrameworkGaveBackIsFoundWhileItIsMapped) {
  const Block block = Take(3 * kMiB, 7);
  const Block beside = Take(3 * kMiB, 7);
  ASSERT_EQ(pool_->Free(block.address), PoolError::kOk);
  BlockInfo info{};
  EXPECT_EQ(pool_->Find(block.address, &info), PoolError::kInvalid);
  EXPECT_EQ(pool_->FindOfFramework(block.address, &info), PoolError::kInvalid);
  pool_->ServeFramework();
  ASSERT_EQ(pool_->FindOfFramework(block.address + kMiB, &info), PoolError::kOk);
  EXPECT_LE(info.address, block.address);
  EXPECT_GE(info.address + info.size, block.address + block.size);
  EXPECT_EQ(info.pool, 7u);
  ASSERT_EQ(pool_->Free(beside.address), PoolError::kOk);
  pool_->KeepPrivate(7, false);
  pool_->Trim({});
  EXPECT_EQ(pool_->FindOfFramework(block.address, &info), PoolError::kInvalid);
}

TEST_F(PrivatePoolTest, WhatCuMemFreeGaveBackIsNotFound) {
  pool_->ServeFramework();
  Block block{};
  ASSERT_EQ(pool_->Allocate({3 * kMiB}, &block), PoolError::kOk);
  BlockInfo info{};
  EXPECT_EQ(pool_->FindOfFramework(block.address, &info), PoolError::kInvalid);
  ASSERT_EQ(pool_->Free(block.address), PoolError::kOk);
  EXPECT_EQ(pool_->FindOfFramework(block.address, &info), PoolError::kInvalid);
}

TEST_F(PrivatePoolTest, ABlockThatCuMemAllocGaveIsNotTheFrameworksToFree) {
  Block block{};
  ASSERT_EQ(pool_->Allocate({3 * kMiB}, &block), PoolError::kOk);
  BlockInfo freed{};
  EXPECT_EQ(pool_->Free(block.address, &freed, true), PoolError::kNotOurs);
  EXPECT_EQ(pool_->Stats().live_blocks, 1U);
  EXPECT_EQ(pool_->Free(block.address), PoolError::kOk);
}

}  // namespace
}  // namespace vramstow
