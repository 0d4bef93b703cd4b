// Tests queries of addresses, and the advice of managed memory.
#include <stdlib.h>

#include <type_traits>

#include "tests/simulator/contract/driver.h"

namespace vramstow::simulator {
namespace {

class PointerRuleTest : public ContractTest {
 protected:
  template <typename T>
  T Get(CUpointer_attribute attribute, CUdeviceptr address) {
    T value = {};
    EXPECT_OK(driver_.cuPointerGetAttribute(&value, attribute, address)) << attribute;
    return value;
  }
};

class ManagedTest : public ContractTest {
 protected:
  void SetUp() override {
    ContractTest::SetUp();
    int supported = 0;
    driver_.cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
                                 device_);
    if (supported == 0) GTEST_SKIP() << "no concurrent managed access here";
    ASSERT_OK(driver_.cuMemAllocManaged(&block_, kBytes, CU_MEM_ATTACH_GLOBAL));
  }
  void TearDown() override {
    if (block_ != 0) {
      EXPECT_OK(driver_.cuMemFree(block_));
    }
    ContractTest::TearDown();
  }
  CUresult Advise(CUdeviceptr at, size_t bytes, CUmem_advise advice, int device) {
    return AdviseBy(driver_.cuMemAdvise, at, bytes, advice, device);
  }
  CUresult Prefetch(CUdeviceptr at, size_t bytes, int device, CUstream stream) {
    return PrefetchBy(driver_.cuMemPrefetchAsync, at, bytes, device, stream);
  }
  template <typename T>
  T Range(CUmem_range_attribute attribute, CUdeviceptr at, size_t bytes) {
    T value = {};
    EXPECT_OK(driver_.cuMemRangeGetAttribute(&value, sizeof(value), attribute, at, bytes));
    return value;
  }

  static constexpr size_t kBytes = 4 * kMiB;
  static constexpr int kHostDevice = CU_DEVICE_CPU;
  CUdeviceptr block_ = 0;

 private:
  static CUmemLocation Location(int device) {
    CUmemLocation location = {};
    location.type = device == kHostDevice ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
    location.id = device == kHostDevice ? 0 : device;
    return location;
  }
  // The headers of CUDA 12 and CUDA 13 use these names for different forms of the functions.
  template <typename Function>
  static CUresult AdviseBy(Function function, CUdeviceptr at, size_t bytes, CUmem_advise advice,
                           int device) {
    if constexpr (std::is_invocable_v<Function, CUdeviceptr, size_t, CUmem_advise, CUdevice>) {
      return function(at, bytes, advice, device);
    } else {
      return function(at, bytes, advice, Location(device));
    }
  }
  template <typename Function>
  static CUresult PrefetchBy(Function function, CUdeviceptr at, size_t bytes, int device,
                             CUstream stream) {
    if constexpr (std::is_invocable_v<Function, CUdeviceptr, size_t, CUdevice, CUstream>) {
      return function(at, bytes, device, stream);
    } else {
      return function(at, bytes, Location(device), 0, stream);
    }
  }
};

TEST_F(PointerRuleTest, InnerAddressesBelongToTheirBlock) {
  const CUdeviceptr block = Allocate(3 * kMiB);
  EXPECT_EQ(block, Get<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, block + kMiB));
  EXPECT_GE(Get<size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, block + kMiB), 3 * kMiB);
  EXPECT_EQ(block + kMiB, Get<CUdeviceptr>(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, block + kMiB));
  EXPECT_EQ(Get<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, block),
            Get<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, block + kMiB));
}

TEST_F(PointerRuleTest, DeviceMemoryHasNoHostPointer) {
  const CUdeviceptr block = Allocate(kMiB);
  void* host = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, block));
}

TEST_F(PointerRuleTest, ContextIsTheOneThatAllocated) {
  const CUdeviceptr block = Allocate(kMiB);
  EXPECT_EQ(context_, Get<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, block));
  EXPECT_EQ(device_, Get<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, block));
}

TEST_F(PointerRuleTest, PooledMemoryNamesItsPoolAndPlainMemoryNone) {
  CUdeviceptr pooled = 0;
  CUmemoryPool usual = nullptr;
  ASSERT_OK(driver_.cuMemAllocAsync(&pooled, kMiB, nullptr));
  ASSERT_OK(driver_.cuDeviceGetMemPool(&usual, device_));
  EXPECT_EQ(usual, Get<CUmemoryPool>(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, pooled));
  EXPECT_EQ(nullptr, Get<CUmemoryPool>(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, Allocate(kMiB)));
  EXPECT_OK(driver_.cuMemFree(pooled));
}

TEST_F(PointerRuleTest, ManagedMemoryIsDeviceMemoryWithAHostPointer) {
  CUdeviceptr managed = 0;
  ASSERT_OK(driver_.cuMemAllocManaged(&managed, kMiB, CU_MEM_ATTACH_GLOBAL));
  EXPECT_EQ(1u, Get<unsigned>(CU_POINTER_ATTRIBUTE_IS_MANAGED, managed));
  EXPECT_EQ(static_cast<unsigned>(CU_MEMORYTYPE_DEVICE),
            Get<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, managed));
  EXPECT_EQ(reinterpret_cast<void*>(managed),
            Get<void*>(CU_POINTER_ATTRIBUTE_HOST_POINTER, managed));
  EXPECT_OK(driver_.cuMemFree(managed));
}

TEST_F(PointerRuleTest, FreedMemoryIsUnknown) {
  CUdeviceptr block = 0;
  ASSERT_OK(driver_.cuMemAlloc(&block, 4 * kMiB));
  ASSERT_OK(driver_.cuMemFree(block));
  unsigned type = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, block));
}

TEST_F(PointerRuleTest, RegisteredMemoryIsHostMemoryUntilUnregistered) {
  void* memory = aligned_alloc(4096, 4096);
  const auto address = reinterpret_cast<uintptr_t>(memory);
  ASSERT_OK(driver_.cuMemHostRegister(memory, 4096, 0));
  EXPECT_EQ(static_cast<unsigned>(CU_MEMORYTYPE_HOST),
            Get<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
  ASSERT_OK(driver_.cuMemHostUnregister(memory));
  unsigned type = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
  free(memory);
}

TEST_F(PointerRuleTest, SyncMemopsIsSetAndReadBack) {
  const CUdeviceptr block = Allocate(kMiB);
  unsigned on = 1;
  ASSERT_OK(driver_.cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, block));
  EXPECT_EQ(1u, Get<unsigned>(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, block));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, block));
}

TEST_F(PointerRuleTest, AttributesOfNullAreRefused) {
  const CUdeviceptr block = Allocate(kMiB);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuPointerGetAttribute(nullptr, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, block));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuPointerGetAttributes(1, nullptr, nullptr, block));
}

TEST_F(PointerRuleTest, RangeOfAMappingIsItsReservation) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUdeviceptr range = 0;
  CUmemGenericAllocationHandle handle = 0;
  ASSERT_OK(driver_.cuMemAddressReserve(&range, 4 * kPage, 0, 0, 0));
  ASSERT_OK(driver_.cuMemCreate(&handle, kPage, &properties, 0));
  ASSERT_OK(driver_.cuMemMap(range + kPage, kPage, 0, handle, 0));
  EXPECT_EQ(range, Get<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, range + kPage));
  EXPECT_EQ(4 * kPage, Get<size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, range + kPage));
  EXPECT_EQ(range + kPage, Get<CUdeviceptr>(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, range + kPage));
  EXPECT_EQ(kPage, Get<size_t>(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, range + kPage));
  EXPECT_OK(driver_.cuMemUnmap(range + kPage, kPage));
  EXPECT_OK(driver_.cuMemRelease(handle));
  EXPECT_OK(driver_.cuMemAddressFree(range, 4 * kPage));
}

TEST_F(ManagedTest, ReadMostlyIsSetForARangeAndTakenBack) {
  const auto mostly = [&](CUdeviceptr at, size_t bytes) {
    return Range<int>(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, at, bytes);
  };
  EXPECT_EQ(0, mostly(block_, kBytes));
  ASSERT_OK(Advise(block_, kBytes / 2, CU_MEM_ADVISE_SET_READ_MOSTLY, device_));
  EXPECT_EQ(1, mostly(block_, kBytes / 2));
  EXPECT_EQ(0, mostly(block_, kBytes)) << "documented: 1 only if all of it is";
  ASSERT_OK(Advise(block_, kBytes, CU_MEM_ADVISE_UNSET_READ_MOSTLY, device_));
  EXPECT_EQ(0, mostly(block_, kBytes / 2));
}

TEST_F(ManagedTest, PreferredLocationIsADeviceTheHostOrNone) {
  const auto preferred = [&] {
    return Range<int>(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, block_, kBytes);
  };
  EXPECT_EQ(CU_DEVICE_INVALID, preferred());
  ASSERT_OK(Advise(block_, kBytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device_));
  EXPECT_EQ(device_, preferred());
  ASSERT_OK(Advise(block_, kBytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, kHostDevice));
  EXPECT_EQ(kHostDevice, preferred());
  ASSERT_OK(Advise(block_, kBytes, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, device_));
  EXPECT_EQ(CU_DEVICE_INVALID, preferred());
}

TEST_F(ManagedTest, AccessorsAreListed) {
  int devices[4] = {9, 9, 9, 9};
  ASSERT_OK(Advise(block_, kBytes, CU_MEM_ADVISE_SET_ACCESSED_BY, device_));
  ASSERT_OK(driver_.cuMemRangeGetAttribute(devices, sizeof(devices),
                                           CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, block_, kBytes));
  EXPECT_EQ(device_, devices[0]);
  EXPECT_EQ(CU_DEVICE_INVALID, devices[1]) << "documented: the rest is filled with this";
}

TEST_F(ManagedTest, PrefetchIsRememberedPerRange) {
  const auto last = [&](CUdeviceptr at, size_t bytes) {
    return Range<int>(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, at, bytes);
  };
  EXPECT_EQ(CU_DEVICE_INVALID, last(block_, kBytes));
  ASSERT_OK(Prefetch(block_, kBytes, device_, nullptr));
  EXPECT_EQ(device_, last(block_, kBytes));
  ASSERT_OK(Prefetch(block_, kBytes / 2, kHostDevice, nullptr));
  EXPECT_EQ(kHostDevice, last(block_, kBytes / 2));
  EXPECT_EQ(CU_DEVICE_INVALID, last(block_, kBytes)) << "documented: not the same for all of it";
  ASSERT_OK(driver_.cuCtxSynchronize());
}

TEST_F(ManagedTest, SeveralAttributesAreAskedForAtOnce) {
  int mostly = 9;
  int preferred = 9;
  void* data[] = {&mostly, &preferred};
  size_t sizes[] = {sizeof(mostly), sizeof(preferred)};
  CUmem_range_attribute attributes[] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION};
  ASSERT_OK(driver_.cuMemRangeGetAttributes(data, sizes, attributes, 2, block_, kBytes));
  EXPECT_EQ(0, mostly);
  EXPECT_EQ(CU_DEVICE_INVALID, preferred);
}

TEST_F(ManagedTest, OnlyManagedMemoryHasRangeAttributesAndAdvice) {
  const CUdeviceptr plain = Allocate(kMiB);
  int value = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuMemRangeGetAttribute(&value, sizeof(value),
                                             CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, plain, kMiB));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Advise(plain, kMiB, CU_MEM_ADVISE_SET_READ_MOSTLY, device_));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Prefetch(plain, kMiB, device_, nullptr));
  EXPECT_CUDA(
      CUDA_ERROR_INVALID_VALUE,
      driver_.cuMemRangeGetAttribute(&value, 1, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, block_, kBytes))
      << "documented: four bytes";
}

TEST_F(ManagedTest, AdviceForAnUnknownDeviceIsRefused) {
  EXPECT_NE(CUDA_SUCCESS, Advise(block_, kBytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 4711));
  EXPECT_NE(CUDA_SUCCESS, Prefetch(block_, kBytes, 4711, nullptr));
}

}  // namespace
}  // namespace vramstow::simulator
