// Stream-ordered pools: attributes, reuse, trimming, access, and what is refused.
#include "tests/simulator/contract/driver.h"

namespace vramstow::simulator {
namespace {

class PoolRuleTest : public ContractTest {
 protected:
  void SetUp() override {
    ContractTest::SetUp();
    int supported = 0;
    driver_.cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, device_);
    if (supported == 0) GTEST_SKIP() << "no memory pools here";
  }
  CUmemoryPool NewPool(size_t size_max = 0) {
    CUmemPoolProps properties = {};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device_;
    properties.maxSize = size_max;
    CUmemoryPool pool = nullptr;
    EXPECT_OK(driver_.cuMemPoolCreate(&pool, &properties));
    return pool;
  }
  uint64_t Get(CUmemoryPool pool, CUmemPool_attribute attribute) {
    uint64_t value = 0;
    EXPECT_OK(driver_.cuMemPoolGetAttribute(pool, attribute, &value));
    return value;
  }
  CUresult Set(CUmemoryPool pool, CUmemPool_attribute attribute, uint64_t value) {
    return driver_.cuMemPoolSetAttribute(pool, attribute, &value);
  }
  CUdeviceptr Take(CUmemoryPool pool, size_t bytes, CUstream stream) {
    CUdeviceptr block = 0;
    EXPECT_OK(driver_.cuMemAllocFromPoolAsync(&block, bytes, pool, stream));
    return block;
  }
};

TEST_F(PoolRuleTest, UsedMemoryFollowsAllocationsAndItsHighMarkStays) {
  CUmemoryPool pool = NewPool();
  EXPECT_EQ(0u, Get(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
  const CUdeviceptr block = Take(pool, 5 * kMiB, nullptr);
  EXPECT_GE(Get(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 5 * kMiB);
  ASSERT_OK(driver_.cuMemFreeAsync(block, nullptr));
  ASSERT_OK(driver_.cuStreamSynchronize(nullptr));
  EXPECT_EQ(0u, Get(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
  EXPECT_GE(Get(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 5 * kMiB);
  EXPECT_OK(driver_.cuMemPoolDestroy(pool));
}

TEST_F(PoolRuleTest, HighMarksAreResetToZeroOnly) {
  CUmemoryPool pool = NewPool();
  const CUdeviceptr block = Take(pool, kMiB, nullptr);
  ASSERT_OK(driver_.cuMemFreeAsync(block, nullptr));
  ASSERT_OK(driver_.cuStreamSynchronize(nullptr));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Set(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 17));
  EXPECT_OK(Set(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0));
  EXPECT_EQ(0u, Get(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Set(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 1));
  EXPECT_OK(driver_.cuMemPoolDestroy(pool));
}

TEST_F(PoolRuleTest, CurrentFiguresCannotBeSet) {
  CUmemoryPool pool = NewPool();
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Set(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Set(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, 0));
  EXPECT_OK(driver_.cuMemPoolDestroy(pool));
}

TEST_F(PoolRuleTest, NewPoolReleasesAtOnceAndReusesEveryWay) {
  CUmemoryPool pool = NewPool();
  EXPECT_EQ(0u, Get(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)) << "documented default";
  for (const CUmemPool_attribute attribute :
       {CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
        CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES}) {
    int value = 0;
    ASSERT_OK(driver_.cuMemPoolGetAttribute(pool, attribute, &value));
    EXPECT_EQ(1, value) << "documented default";
    int off = 0;
    ASSERT_OK(driver_.cuMemPoolSetAttribute(pool, attribute, &off));
    ASSERT_OK(driver_.cuMemPoolGetAttribute(pool, attribute, &value));
    EXPECT_EQ(0, value);
  }
  EXPECT_OK(driver_.cuMemPoolDestroy(pool));
}

TEST_F(PoolRuleTest, TrimGivesBackWhatIsFreeAndKeepsWhatIsAskedFor) {
  CUmemoryPool pool = NewPool();
  ASSERT_OK(Set(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, ~uint64_t{0}));
  const size_t before = FreeBytes();
  const CUdeviceptr block = Take(pool, 200 * kMiB, nullptr);
  ASSERT_OK(driver_.cuMemFreeAsync(block, nullptr));
  ASSERT_OK(driver_.cuStreamSynchronize(nullptr));
  EXPECT_LE(FreeBytes(), before - 200 * kMiB) << "the threshold holds it";
  ASSERT_OK(driver_.cuMemPoolTrimTo(pool, 0));
  EXPECT_EQ(before, FreeBytes());
  EXPECT_EQ(0u, Get(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
  EXPECT_OK(driver_.cuMemPoolDestroy(pool));
}

TEST_F(PoolRuleTest, TrimNeverTakesLiveMemory) {
  CUmemoryPool pool = NewPool();
  const CUdeviceptr block = Take(pool, 40 * kMiB, nullptr);
  ASSERT_OK(driver_.cuMemsetD8Async(block, 5, 40 * kMiB, nullptr));
  ASSERT_OK(driver_.cuMemPoolTrimTo(pool, 0));
  EXPECT_EQ(5, Read(block + 40 * kMiB - 1, 1)[0]);
  EXPECT_OK(driver_.cuMemFree(block));
  EXPECT_OK(driver_.cuMemPoolDestroy(pool));
}

TEST_F(PoolRuleTest, BlocksOutliveTheirDestroyedPool) {
  const size_t before = FreeBytes();
  CUmemoryPool pool = NewPool();
  const CUdeviceptr block = Take(pool, 40 * kMiB, nullptr);
  ASSERT_OK(driver_.cuMemPoolDestroy(pool));
  ASSERT_OK(driver_.cuMemsetD8(block, 6, 40 * kMiB));
  EXPECT_EQ(6, Read(block, 1)[0]);
  ASSERT_OK(driver_.cuMemFreeAsync(block, nullptr));
  ASSERT_OK(driver_.cuCtxSynchronize());
  EXPECT_EQ(before, FreeBytes());
}

TEST_F(PoolRuleTest, DestroyedCurrentPoolMakesTheDefaultCurrent) {
  CUmemoryPool pool = NewPool();
  CUmemoryPool usual = nullptr;
  CUmemoryPool now = nullptr;
  ASSERT_OK(driver_.cuDeviceGetDefaultMemPool(&usual, device_));
  ASSERT_OK(driver_.cuDeviceSetMemPool(device_, pool));
  ASSERT_OK(driver_.cuDeviceGetMemPool(&now, device_));
  EXPECT_EQ(pool, now);
  ASSERT_OK(driver_.cuMemPoolDestroy(pool));
  ASSERT_OK(driver_.cuDeviceGetMemPool(&now, device_));
  EXPECT_EQ(usual, now);
}

TEST_F(PoolRuleTest, CurrentPoolServesPlainAsyncAllocations) {
  CUmemoryPool pool = NewPool();
  ASSERT_OK(driver_.cuDeviceSetMemPool(device_, pool));
  CUdeviceptr block = 0;
  ASSERT_OK(driver_.cuMemAllocAsync(&block, kMiB, nullptr));
  CUmemoryPool of = nullptr;
  ASSERT_OK(driver_.cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, block));
  EXPECT_EQ(pool, of);
  EXPECT_GE(Get(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), kMiB);
  EXPECT_OK(driver_.cuMemFree(block));
  EXPECT_OK(driver_.cuMemPoolDestroy(pool));
}

TEST_F(PoolRuleTest, PoolOfAnotherDeviceCannotBeCurrent) {
  int count = 0;
  ASSERT_OK(driver_.cuDeviceGetCount(&count));
  if (count < 2) GTEST_SKIP() << "one device only";
  CUmemoryPool other = nullptr;
  ASSERT_OK(driver_.cuDeviceGetDefaultMemPool(&other, 1));
  EXPECT_NE(CUDA_SUCCESS, driver_.cuDeviceSetMemPool(0, other));
}

TEST_F(PoolRuleTest, OwnDeviceAlwaysHasAccess) {
  CUmemoryPool pool = NewPool();
  CUmemAccessDesc access = {};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device_;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  EXPECT_NE(CUDA_SUCCESS, driver_.cuMemPoolSetAccess(pool, &access, 1));
  CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  CUmemLocation location = access.location;
  ASSERT_OK(driver_.cuMemPoolGetAccess(&flags, pool, &location));
  EXPECT_EQ(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, flags);
  EXPECT_OK(driver_.cuMemPoolDestroy(pool));
}

TEST_F(PoolRuleTest, AccessOfAnotherDeviceIsGivenAndTaken) {
  int count = 0;
  int reach = 0;
  ASSERT_OK(driver_.cuDeviceGetCount(&count));
  if (count > 1) driver_.cuDeviceCanAccessPeer(&reach, 1, 0);
  if (reach == 0) GTEST_SKIP() << "no peer";
  CUmemoryPool pool = NewPool();
  CUmemLocation location = {};
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = 1;
  CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  ASSERT_OK(driver_.cuMemPoolGetAccess(&flags, pool, &location));
  EXPECT_EQ(CU_MEM_ACCESS_FLAGS_PROT_NONE, flags) << "the default";
  CUmemAccessDesc access = {};
  access.location = location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  ASSERT_OK(driver_.cuMemPoolSetAccess(pool, &access, 1));
  ASSERT_OK(driver_.cuMemPoolGetAccess(&flags, pool, &location));
  EXPECT_EQ(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, flags);
  EXPECT_OK(driver_.cuMemPoolDestroy(pool));
}

TEST_F(PoolRuleTest, FreeAsyncTakesOnlyBlockStarts) {
  CUmemoryPool pool = NewPool();
  const CUdeviceptr block = Take(pool, kMiB, nullptr);
  EXPECT_NE(CUDA_SUCCESS, driver_.cuMemFreeAsync(block + 512, nullptr));
  EXPECT_OK(driver_.cuMemFreeAsync(block, nullptr));
  EXPECT_NE(CUDA_SUCCESS, driver_.cuMemFreeAsync(block, nullptr)) << "twice";
  ASSERT_OK(driver_.cuStreamSynchronize(nullptr));
  EXPECT_OK(driver_.cuMemPoolDestroy(pool));
}

TEST_F(PoolRuleTest, NothingIsFreedForNull) { EXPECT_OK(driver_.cuMemFreeAsync(0, nullptr)); }

TEST_F(PoolRuleTest, ZeroBytesAndNoResultAreRefused) {
  CUdeviceptr block = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemAllocAsync(nullptr, kMiB, nullptr));
  EXPECT_NE(CUDA_SUCCESS, driver_.cuMemAllocFromPoolAsync(&block, kMiB, nullptr, nullptr));
}

TEST_F(PoolRuleTest, BlockOfAnotherStreamIsOrderedByAnEvent) {
  CUmemoryPool pool = NewPool();
  CUstream maker = NewStream();
  CUstream user = NewStream();
  CUevent made = NewEvent(CU_EVENT_DISABLE_TIMING);
  const CUdeviceptr block = Take(pool, 8 * kMiB, maker);
  ASSERT_OK(driver_.cuMemsetD8Async(block, 9, 8 * kMiB, maker));
  ASSERT_OK(driver_.cuEventRecord(made, maker));
  ASSERT_OK(driver_.cuStreamWaitEvent(user, made, 0));
  const CUdeviceptr copy = Allocate(16);
  ASSERT_OK(driver_.cuMemcpyDtoDAsync(copy, block + 8 * kMiB - 16, 16, user));
  ASSERT_OK(driver_.cuMemFreeAsync(block, user));
  ASSERT_OK(driver_.cuStreamSynchronize(user));
  EXPECT_EQ(9, Read(copy, 1)[0]);
  EXPECT_OK(driver_.cuMemPoolDestroy(pool));
}

TEST_F(PoolRuleTest, MostSizeIsKept) {
  CUmemoryPool pool = NewPool(64 * kMiB);
  CUdeviceptr block = 0;
  EXPECT_CUDA(CUDA_ERROR_OUT_OF_MEMORY,
              driver_.cuMemAllocFromPoolAsync(&block, 256 * kMiB, pool, nullptr));
  const CUdeviceptr small = Take(pool, kMiB, nullptr);
  EXPECT_OK(driver_.cuMemFree(small));
  EXPECT_OK(driver_.cuMemPoolDestroy(pool));
}

}  // namespace
}  // namespace vramstow::simulator
