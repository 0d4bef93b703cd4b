// Tests stream-ordered pools: attributes, reuse, trimming, access, and refused calls.
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

TEST_F(PoolRuleTest, ABlockWhereSeveralWereIsCopiedAsAWhole) {
  CUmemoryPool pool = NewPool();
  ASSERT_OK(Set(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, ~uint64_t{0}));
  std::vector<CUdeviceptr> parts;
  for (int i = 0; i < 4; ++i) parts.push_back(Take(pool, 20 * kMiB, nullptr));
  for (const CUdeviceptr part : parts) ASSERT_OK(driver_.cuMemFreeAsync(part, nullptr));
  ASSERT_OK(driver_.cuStreamSynchronize(nullptr));
  const CUdeviceptr whole = Take(pool, 60 * kMiB, nullptr);
  EXPECT_OK(driver_.cuMemsetD8Async(whole, 7, 60 * kMiB, nullptr));
  EXPECT_OK(driver_.cuMemcpyDtoDAsync(whole, whole + 30 * kMiB, 30 * kMiB, nullptr));
  EXPECT_OK(driver_.cuMemcpyDtoDAsync(whole + 20 * kMiB, whole + 44 * kMiB, 16 * kMiB, nullptr));
  EXPECT_OK(driver_.cuStreamSynchronize(nullptr));
  ASSERT_OK(driver_.cuMemFreeAsync(whole, nullptr));
  EXPECT_OK(driver_.cuStreamSynchronize(nullptr));
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

// The rule of this test is not documented. The tests of cuda.core, which run on real GPUs, check
// it.
TEST_F(PoolRuleTest, ZeroBytesAreNoError) {
  CUdeviceptr block = 0;
  ASSERT_OK(driver_.cuMemAllocAsync(&block, 0, nullptr));
  EXPECT_OK(driver_.cuMemFreeAsync(block, nullptr));
}

TEST_F(PoolRuleTest, NoPoolAndNoResultAreRefused) {
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

// A pool of 64 MiB that allows only some ways to reuse memory of pending frees.
class PoolReuseTest : public PoolRuleTest {
 protected:
  static constexpr size_t kWhole = 64 * kMiB;

  void SetUp() override {
    PoolRuleTest::SetUp();
    if (!IsSkipped()) pool_ = NewPool(kWhole);
  }
  void TearDown() override {
    if (pool_ != nullptr) {
      EXPECT_OK(driver_.cuMemPoolDestroy(pool_));
    }
    PoolRuleTest::TearDown();
  }
  void Allow(bool follow_events, bool opportunistic, bool internal) {
    ASSERT_OK(Set(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, ~uint64_t{0}));
    ASSERT_OK(Set(pool_, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, follow_events ? 1 : 0));
    ASSERT_OK(Set(pool_, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, opportunistic ? 1 : 0));
    ASSERT_OK(Set(pool_, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, internal ? 1 : 0));
  }
  void FreeWhole(CUstream stream) {
    ASSERT_OK(driver_.cuMemFreeAsync(Take(pool_, kWhole, stream), stream));
  }
  CUresult TakeWhole(CUstream stream) {
    CUdeviceptr block = 0;
    const CUresult result = driver_.cuMemAllocFromPoolAsync(&block, kWhole, pool_, stream);
    if (result == CUDA_SUCCESS) {
      EXPECT_OK(driver_.cuMemFreeAsync(block, stream));
    }
    return result;
  }

  CUmemoryPool pool_ = nullptr;
};

TEST_F(PoolReuseTest, FreesOfOneStreamServeALargerBlockTogether) {
  CUstream stream = NewStream();
  HeldStream held(stream);
  CUdeviceptr parts[4] = {};
  for (CUdeviceptr& part : parts) part = Take(pool_, kWhole / 4, stream);
  for (const int i : {2, 0, 3, 1}) ASSERT_OK(driver_.cuMemFreeAsync(parts[i], stream));
  EXPECT_OK(TakeWhole(stream));
  EXPECT_TRUE(held.LetGo());
  EXPECT_OK(TakeWhole(stream));
}

TEST_F(PoolReuseTest, FreesOfTwoStreamsServeALargerBlockBehindBoth) {
  CUstream streams[] = {NewStream(), NewStream()};
  CUdeviceptr parts[2] = {};
  for (int i = 0; i < 2; ++i) parts[i] = Take(pool_, kWhole / 2, streams[i]);
  HeldStream held(streams[0]);
  for (int i = 0; i < 2; ++i) ASSERT_OK(driver_.cuMemFreeAsync(parts[i], streams[i]));
  CUstream third = NewStream();
  EXPECT_OK(TakeWhole(third));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, driver_.cuStreamQuery(third));
  EXPECT_TRUE(held.LetGo());
  EXPECT_OK(driver_.cuStreamSynchronize(third));
}

TEST_F(PoolReuseTest, StreamThatWaitedForTheFreeHasItsMemory) {
  Allow(/*follow_events=*/true, /*opportunistic=*/false, /*internal=*/false);
  for (const bool is_reached : {false, true}) {
    CUstream maker = NewStream();
    CUstream between = NewStream();
    CUstream user = NewStream();
    CUevent events[] = {NewEvent(CU_EVENT_DISABLE_TIMING), NewEvent(CU_EVENT_DISABLE_TIMING)};
    auto held = std::make_unique<HeldStream>(maker);
    FreeWhole(maker);
    ASSERT_OK(driver_.cuEventRecord(events[0], maker));
    if (is_reached) {
      EXPECT_TRUE(held->LetGo());
      while (driver_.cuEventQuery(events[0]) != CUDA_SUCCESS) continue;
    }
    EXPECT_CUDA(CUDA_ERROR_OUT_OF_MEMORY, TakeWhole(user)) << "no order, " << is_reached;
    ASSERT_OK(driver_.cuStreamWaitEvent(between, events[0], 0));
    ASSERT_OK(driver_.cuEventRecord(events[1], between));
    ASSERT_OK(driver_.cuStreamWaitEvent(user, events[1], 0));
    EXPECT_OK(TakeWhole(user));
    held.reset();
    EXPECT_OK(driver_.cuCtxSynchronize());
  }
}

TEST_F(PoolReuseTest, LegacyStreamHasTheMemoryThatABlockingStreamFreed) {
  Allow(/*follow_events=*/true, /*opportunistic=*/false, /*internal=*/false);
  CUstream blocking = NewStream(CU_STREAM_DEFAULT);
  HeldStream held(blocking);
  FreeWhole(blocking);
  EXPECT_OK(TakeWhole(CU_STREAM_LEGACY));
  EXPECT_TRUE(held.LetGo());
}

TEST_F(PoolReuseTest, SynchronizationMakesFreesUsableForEveryStream) {
  Allow(/*follow_events=*/false, /*opportunistic=*/false, /*internal=*/false);
  CUstream maker = NewStream();
  CUstream user = NewStream();
  FreeWhole(maker);
  EXPECT_CUDA(CUDA_ERROR_OUT_OF_MEMORY, TakeWhole(user));
  ASSERT_OK(driver_.cuStreamSynchronize(maker));
  EXPECT_OK(TakeWhole(user));
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

// Tests pools of CUDA 13 that use no device memory.
class HostPoolRuleTest : public PoolRuleTest {
 protected:
  static constexpr auto kManaged = static_cast<CUmemAllocationType>(2);

  void SetUp() override {
    PoolRuleTest::SetUp();
    int supported = 0;  // HOST_MEMORY_POOLS_SUPPORTED
    driver_.cuDeviceGetAttribute(&supported, static_cast<CUdevice_attribute>(144), device_);
    if (supported == 0) GTEST_SKIP() << "no pools of host memory here";
  }
  static CUmemPoolProps Properties(CUmemAllocationType type, CUmemLocationType where, int id = 0) {
    CUmemPoolProps properties = {};
    properties.allocType = type;
    properties.location.type = where;
    properties.location.id = id;
    return properties;
  }
  CUmemoryPool Make(const CUmemPoolProps& properties) {
    CUmemoryPool pool = nullptr;
    EXPECT_OK(driver_.cuMemPoolCreate(&pool, &properties));
    return pool;
  }
};

TEST_F(HostPoolRuleTest, ManagedPoolGivesManagedMemoryThatTheHostReads) {
  CUmemoryPool pool = Make(Properties(kManaged, CU_MEM_LOCATION_TYPE_DEVICE, device_));
  const CUdeviceptr block = Take(pool, 3 * kMiB, nullptr);
  unsigned managed = 0;
  ASSERT_OK(driver_.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, block));
  EXPECT_EQ(1u, managed);
  ASSERT_OK(driver_.cuMemsetD8Async(block, 7, 3 * kMiB, nullptr));
  ASSERT_OK(driver_.cuStreamSynchronize(nullptr));
  EXPECT_EQ(7, reinterpret_cast<const uint8_t*>(block)[3 * kMiB - 1]);
  EXPECT_OK(driver_.cuMemFreeAsync(block, nullptr));
  EXPECT_OK(driver_.cuStreamSynchronize(nullptr));
  EXPECT_EQ(0u, Get(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
  EXPECT_OK(driver_.cuMemPoolDestroy(pool));
}

TEST_F(HostPoolRuleTest, PinnedPoolGivesHostMemoryThatOnlyThePoolTakesBack) {
  CUmemoryPool pool = Make(Properties(CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_HOST));
  const CUdeviceptr block = Take(pool, kMiB, nullptr);
  CUmemorytype type = {};
  ASSERT_OK(driver_.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, block));
  EXPECT_EQ(CU_MEMORYTYPE_HOST, type);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuMemFreeHost(reinterpret_cast<void*>(static_cast<uintptr_t>(block))));
  EXPECT_OK(driver_.cuMemFreeAsync(block, nullptr));
  EXPECT_OK(driver_.cuMemPoolDestroy(pool));
}

TEST_F(HostPoolRuleTest, SizeThatWrapsIsOutOfMemory) {
  CUmemoryPool pool = Make(Properties(CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_HOST));
  const CUdeviceptr small = Take(pool, 4096, nullptr);
  CUdeviceptr block = 0;
  for (const size_t bytes : {~size_t{0}, ~size_t{0} - 512}) {
    EXPECT_CUDA(CUDA_ERROR_OUT_OF_MEMORY,
                driver_.cuMemAllocFromPoolAsync(&block, bytes, pool, nullptr));
  }
  EXPECT_OK(driver_.cuMemFreeAsync(small, nullptr));
  EXPECT_OK(driver_.cuMemPoolDestroy(pool));
}

TEST_F(HostPoolRuleTest, NoPoolIsMadeAtTheNodeOfTheCurrentThread) {
  CUmemoryPool pool = nullptr;
  for (const int id : {-1, 0, 1}) {
    const CUmemPoolProps properties =
        Properties(CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, id);
    EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemPoolCreate(&pool, &properties));
  }
}

TEST_F(HostPoolRuleTest, EveryPlaceHasItsDefaultPoolAndItsCurrentOne) {
  CUmemLocation here = {};
  here.type = CU_MEM_LOCATION_TYPE_DEVICE;
  here.id = device_;
  CUmemoryPool device_pool = nullptr;
  CUmemoryPool managed_pool = nullptr;
  ASSERT_OK(driver_.cuMemGetDefaultMemPool(&device_pool, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
  ASSERT_OK(driver_.cuMemGetDefaultMemPool(&managed_pool, &here, kManaged));
  EXPECT_NE(device_pool, managed_pool);
  CUmemoryPool own = Make(Properties(kManaged, CU_MEM_LOCATION_TYPE_DEVICE, device_));
  ASSERT_OK(driver_.cuMemSetMemPool(&here, kManaged, own));
  CUmemoryPool current = nullptr;
  ASSERT_OK(driver_.cuMemGetMemPool(&current, &here, kManaged));
  EXPECT_EQ(own, current);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_PINNED, own))
      << "it holds no device memory";
  ASSERT_OK(driver_.cuMemPoolDestroy(own));
  ASSERT_OK(driver_.cuMemGetMemPool(&current, &here, kManaged));
  EXPECT_NE(managed_pool, current) << "documented: the default of the device";
}

TEST_F(HostPoolRuleTest, PinnedMemoryNeedsALocationAndManagedDoesNot) {
  CUmemoryPool pool = nullptr;
  constexpr auto kNowhere = static_cast<CUmemLocationType>(0);
  const CUmemPoolProps pinned = Properties(CU_MEM_ALLOCATION_TYPE_PINNED, kNowhere);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemPoolCreate(&pool, &pinned));
  pool = Make(Properties(kManaged, kNowhere));
  EXPECT_OK(driver_.cuMemPoolDestroy(pool));
}

}  // namespace
}  // namespace vramstow::simulator
