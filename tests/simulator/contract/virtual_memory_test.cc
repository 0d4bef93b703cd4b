// Tests virtual memory: reserve, create, map, set access, and their opposites.
#include <sys/resource.h>
#include <unistd.h>

#include "tests/simulator/contract/driver.h"

namespace vramstow::simulator {
namespace {

class VirtualMemoryTest : public ContractTest {
 protected:
  void SetUp() override {
    ContractTest::SetUp();
    properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties_.location.id = device_;
    access_.location = properties_.location;
    access_.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    ASSERT_OK(driver_.cuMemGetAllocationGranularity(&unit_, &properties_,
                                                    CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  }

  CUdeviceptr Reserve(size_t bytes) {
    CUdeviceptr range = 0;
    EXPECT_OK(driver_.cuMemAddressReserve(&range, bytes, 0, 0, 0));
    return range;
  }
  CUmemGenericAllocationHandle Create(size_t bytes) {
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_OK(driver_.cuMemCreate(&handle, bytes, &properties_, 0));
    return handle;
  }

  CUmemAllocationProp properties_ = {};
  CUmemAccessDesc access_ = {};
  size_t unit_ = 0;
};

TEST_F(VirtualMemoryTest, GranularityIsAPowerOfTwoAndDemanded) {
  EXPECT_EQ(0u, unit_ & (unit_ - 1));
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr range = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemCreate(&handle, unit_ + 1, &properties_, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemCreate(&handle, 0, &properties_, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemAddressReserve(&range, unit_ + 1, 0, 0, 0));
}

TEST_F(VirtualMemoryTest, ReservingTakesNoMemoryCreatingDoes) {
  const size_t before = FreeBytes();
  const CUdeviceptr range = Reserve(1024 * unit_);
  EXPECT_EQ(before, FreeBytes());
  const CUmemGenericAllocationHandle handle = Create(8 * unit_);
  EXPECT_EQ(before - 8 * unit_, FreeBytes());
  EXPECT_OK(driver_.cuMemRelease(handle));
  EXPECT_EQ(before, FreeBytes());
  EXPECT_OK(driver_.cuMemAddressFree(range, 1024 * unit_));
}

TEST_F(VirtualMemoryTest, MappedMemoryHoldsBytesOnceAccessIsSet) {
  const CUdeviceptr range = Reserve(2 * unit_);
  const CUmemGenericAllocationHandle handle = Create(unit_);
  ASSERT_OK(driver_.cuMemMap(range, unit_, 0, handle, 0));
  char byte = 0;
  EXPECT_NE(CUDA_SUCCESS, driver_.cuMemcpyDtoH(&byte, range, 1)) << "a mapping has no access";
  ASSERT_OK(driver_.cuMemSetAccess(range, unit_, &access_, 1));
  ASSERT_OK(driver_.cuMemsetD8(range, 17, unit_));
  EXPECT_EQ(std::vector<unsigned char>(4, 17), Read(range + unit_ - 4, 4));
  EXPECT_NE(CUDA_SUCCESS, driver_.cuMemcpyDtoH(&byte, range + unit_, 1)) << "not mapped";
  EXPECT_OK(driver_.cuMemUnmap(range, unit_));
  EXPECT_OK(driver_.cuMemRelease(handle));
  EXPECT_OK(driver_.cuMemAddressFree(range, 2 * unit_));
}

TEST_F(VirtualMemoryTest, AccessIsReadBackPerDevice) {
  const CUdeviceptr range = Reserve(unit_);
  const CUmemGenericAllocationHandle handle = Create(unit_);
  ASSERT_OK(driver_.cuMemMap(range, unit_, 0, handle, 0));
  unsigned long long flags = 99;
  ASSERT_OK(driver_.cuMemGetAccess(&flags, &access_.location, range));
  EXPECT_EQ(static_cast<unsigned>(CU_MEM_ACCESS_FLAGS_PROT_NONE), flags);
  access_.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  ASSERT_OK(driver_.cuMemSetAccess(range, unit_, &access_, 1));
  ASSERT_OK(driver_.cuMemGetAccess(&flags, &access_.location, range));
  EXPECT_EQ(static_cast<unsigned>(CU_MEM_ACCESS_FLAGS_PROT_READ), flags);
  char byte = 0;
  EXPECT_OK(driver_.cuMemcpyDtoH(&byte, range, 1));
  EXPECT_NE(CUDA_SUCCESS, driver_.cuMemcpyHtoD(range, &byte, 1)) << "reading only";
  EXPECT_OK(driver_.cuMemUnmap(range, unit_));
  EXPECT_OK(driver_.cuMemRelease(handle));
  EXPECT_OK(driver_.cuMemAddressFree(range, unit_));
}

TEST_F(VirtualMemoryTest, MapRefusesOffsetsPartsAndOccupiedRanges) {
  const CUdeviceptr range = Reserve(4 * unit_);
  const CUmemGenericAllocationHandle handle = Create(2 * unit_);
  EXPECT_CUDA(CUDA_ERROR_NOT_SUPPORTED, driver_.cuMemMap(range, unit_, unit_, handle, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuMemMap(range + 4 * unit_, 2 * unit_, 0, handle, 0));
  ASSERT_OK(driver_.cuMemMap(range, 2 * unit_, 0, handle, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemMap(range + unit_, 2 * unit_, 0, handle, 0));
  EXPECT_OK(driver_.cuMemUnmap(range, 2 * unit_));
  EXPECT_OK(driver_.cuMemRelease(handle));
  EXPECT_OK(driver_.cuMemAddressFree(range, 4 * unit_));
}

TEST_F(VirtualMemoryTest, UnmapTakesWholeMappingsOnly) {
  const CUdeviceptr range = Reserve(2 * unit_);
  const CUmemGenericAllocationHandle handle = Create(2 * unit_);
  ASSERT_OK(driver_.cuMemMap(range, 2 * unit_, 0, handle, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemUnmap(range, unit_));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemUnmap(range + unit_, unit_));
  EXPECT_OK(driver_.cuMemUnmap(range, 2 * unit_));
  EXPECT_OK(driver_.cuMemUnmap(range, 2 * unit_)) << "what is not mapped is unmapped";
  EXPECT_OK(driver_.cuMemRelease(handle));
  EXPECT_OK(driver_.cuMemAddressFree(range, 2 * unit_));
}

TEST_F(VirtualMemoryTest, SizeThatWrapsIsRefused) {
  const CUdeviceptr range = Reserve(unit_);
  const CUmemGenericAllocationHandle handle = Create(unit_);
  ASSERT_OK(driver_.cuMemMap(range, unit_, 0, handle, 0));
  ASSERT_OK(driver_.cuMemSetAccess(range, unit_, &access_, 1));
  const size_t beyond = ~size_t{0} - unit_ + 1;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemSetAccess(range, beyond, &access_, 1));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemUnmap(range, beyond));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemsetD8(range, 1, ~size_t{0}));
  EXPECT_OK(driver_.cuMemUnmap(range, unit_));
  EXPECT_OK(driver_.cuMemRelease(handle));
  EXPECT_OK(driver_.cuMemAddressFree(range, unit_));
}

TEST_F(VirtualMemoryTest, RangeWithMappingsIsNotFreed) {
  const CUdeviceptr range = Reserve(2 * unit_);
  const CUmemGenericAllocationHandle handle = Create(unit_);
  ASSERT_OK(driver_.cuMemMap(range, unit_, 0, handle, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemAddressFree(range, 2 * unit_));
  ASSERT_OK(driver_.cuMemUnmap(range, unit_));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemAddressFree(range, unit_));
  EXPECT_OK(driver_.cuMemAddressFree(range, 2 * unit_));
  EXPECT_OK(driver_.cuMemRelease(handle));
}

TEST_F(VirtualMemoryTest, MappingKeepsReleasedMemoryAlive) {
  const size_t before = FreeBytes();
  const CUdeviceptr range = Reserve(unit_);
  const CUmemGenericAllocationHandle handle = Create(unit_);
  ASSERT_OK(driver_.cuMemMap(range, unit_, 0, handle, 0));
  ASSERT_OK(driver_.cuMemRelease(handle));
  ASSERT_OK(driver_.cuMemSetAccess(range, unit_, &access_, 1));
  ASSERT_OK(driver_.cuMemsetD8(range, 1, unit_));
  ASSERT_OK(driver_.cuCtxSynchronize());
  EXPECT_EQ(before - unit_, FreeBytes());
  ASSERT_OK(driver_.cuMemUnmap(range, unit_));
  EXPECT_EQ(before, FreeBytes());
  EXPECT_OK(driver_.cuMemAddressFree(range, unit_));
}

TEST_F(VirtualMemoryTest, OneHandleShowsTheSameBytesAtTwoAddresses) {
  const CUdeviceptr range = Reserve(2 * unit_);
  const CUmemGenericAllocationHandle handle = Create(unit_);
  ASSERT_OK(driver_.cuMemMap(range, unit_, 0, handle, 0));
  ASSERT_OK(driver_.cuMemMap(range + unit_, unit_, 0, handle, 0));
  ASSERT_OK(driver_.cuMemSetAccess(range, 2 * unit_, &access_, 1));
  ASSERT_OK(driver_.cuMemsetD8(range, 33, 100));
  EXPECT_EQ(std::vector<unsigned char>(4, 33), Read(range + unit_ + 96, 4));
  EXPECT_OK(driver_.cuMemUnmap(range, unit_));
  EXPECT_OK(driver_.cuMemUnmap(range + unit_, unit_));
  EXPECT_OK(driver_.cuMemRelease(handle));
  EXPECT_OK(driver_.cuMemAddressFree(range, 2 * unit_));
}

TEST_F(VirtualMemoryTest, BytesStayWithTheHandleWhenItMoves) {
  const CUdeviceptr range = Reserve(2 * unit_);
  const CUmemGenericAllocationHandle handle = Create(unit_);
  ASSERT_OK(driver_.cuMemMap(range, unit_, 0, handle, 0));
  ASSERT_OK(driver_.cuMemSetAccess(range, unit_, &access_, 1));
  ASSERT_OK(driver_.cuMemsetD8(range, 77, unit_));
  ASSERT_OK(driver_.cuCtxSynchronize());
  ASSERT_OK(driver_.cuMemUnmap(range, unit_));
  ASSERT_OK(driver_.cuMemMap(range + unit_, unit_, 0, handle, 0));
  ASSERT_OK(driver_.cuMemSetAccess(range + unit_, unit_, &access_, 1));
  EXPECT_EQ(std::vector<unsigned char>(4, 77), Read(range + unit_, 4));
  EXPECT_OK(driver_.cuMemUnmap(range + unit_, unit_));
  EXPECT_OK(driver_.cuMemRelease(handle));
  EXPECT_OK(driver_.cuMemAddressFree(range, 2 * unit_));
}

TEST_F(VirtualMemoryTest, RetainGivesOneMoreReference) {
  const CUdeviceptr range = Reserve(unit_);
  const CUmemGenericAllocationHandle handle = Create(unit_);
  ASSERT_OK(driver_.cuMemMap(range, unit_, 0, handle, 0));
  CUmemGenericAllocationHandle again = 0;
  ASSERT_OK(driver_.cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(range + 5)));
  CUmemAllocationProp read = {};
  ASSERT_OK(driver_.cuMemGetAllocationPropertiesFromHandle(&read, again));
  EXPECT_EQ(CU_MEM_LOCATION_TYPE_DEVICE, read.location.type);
  EXPECT_EQ(device_, read.location.id);
  ASSERT_OK(driver_.cuMemUnmap(range, unit_));
  EXPECT_OK(driver_.cuMemRelease(handle));
  EXPECT_OK(driver_.cuMemRelease(again));
  EXPECT_OK(driver_.cuMemAddressFree(range, unit_));
}

TEST_F(VirtualMemoryTest, DescriptorsShareTheMemory) {
  properties_.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const CUmemGenericAllocationHandle handle = Create(unit_);
  int descriptor = -1;
  ASSERT_OK(driver_.cuMemExportToShareableHandle(&descriptor, handle,
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  ASSERT_GE(descriptor, 0);
  CUmemGenericAllocationHandle imported = 0;
  ASSERT_OK(driver_.cuMemImportFromShareableHandle(
      &imported, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)),
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  close(descriptor);
  const CUdeviceptr range = Reserve(2 * unit_);
  ASSERT_OK(driver_.cuMemMap(range, unit_, 0, handle, 0));
  ASSERT_OK(driver_.cuMemMap(range + unit_, unit_, 0, imported, 0));
  ASSERT_OK(driver_.cuMemSetAccess(range, 2 * unit_, &access_, 1));
  ASSERT_OK(driver_.cuMemsetD8(range, 44, unit_));
  EXPECT_EQ(std::vector<unsigned char>(4, 44), Read(range + unit_, 4));
  EXPECT_OK(driver_.cuMemUnmap(range, 2 * unit_));
  EXPECT_OK(driver_.cuMemRelease(handle));
  EXPECT_OK(driver_.cuMemRelease(imported));
  EXPECT_OK(driver_.cuMemAddressFree(range, 2 * unit_));
}

TEST_F(VirtualMemoryTest, ImportedMemoryIsInUseUntilItsLastHandle) {
  properties_.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const size_t before = FreeBytes();
  const CUmemGenericAllocationHandle handle = Create(8 * unit_);
  int descriptor = -1;
  ASSERT_OK(driver_.cuMemExportToShareableHandle(&descriptor, handle,
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CUmemGenericAllocationHandle imported = 0;
  ASSERT_OK(driver_.cuMemImportFromShareableHandle(
      &imported, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)),
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  close(descriptor);
  EXPECT_EQ(before - 8 * unit_, FreeBytes()) << "counted once";
  EXPECT_OK(driver_.cuMemRelease(handle));
  EXPECT_EQ(before - 8 * unit_, FreeBytes()) << "the import holds it";
  EXPECT_OK(driver_.cuMemRelease(imported));
  EXPECT_EQ(before, FreeBytes());
}

TEST_F(VirtualMemoryTest, MemoryThatMayBeSharedTakesNoDescriptorUntilItIs) {
  properties_.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  rlimit before = {};
  ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &before));
  rlimit few = before;
  few.rlim_cur = 256;
  ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &few));
  std::vector<CUmemGenericAllocationHandle> handles(300);
  for (auto& handle : handles) handle = Create(unit_);
  ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &before));
  for (const auto handle : handles) EXPECT_OK(driver_.cuMemRelease(handle));
}

TEST_F(VirtualMemoryTest, ExportingKeepsBytesAndMappings) {
  properties_.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const CUdeviceptr range = Reserve(3 * unit_);
  const CUmemGenericAllocationHandle handle = Create(unit_);
  for (const CUdeviceptr at : {range, range + unit_}) {
    ASSERT_OK(driver_.cuMemMap(at, unit_, 0, handle, 0));
  }
  ASSERT_OK(driver_.cuMemSetAccess(range, 2 * unit_, &access_, 1));
  ASSERT_OK(driver_.cuMemsetD8(range, 41, unit_));
  int descriptor = -1;
  ASSERT_OK(driver_.cuMemExportToShareableHandle(&descriptor, handle,
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CUmemGenericAllocationHandle imported = 0;
  ASSERT_OK(driver_.cuMemImportFromShareableHandle(
      &imported, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)),
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  close(descriptor);
  ASSERT_OK(driver_.cuMemMap(range + 2 * unit_, unit_, 0, imported, 0));
  ASSERT_OK(driver_.cuMemSetAccess(range + 2 * unit_, unit_, &access_, 1));
  EXPECT_EQ(41, Read(range + 2 * unit_, 1)[0]);
  EXPECT_EQ(41, Read(range + 3 * unit_ - 1, 1)[0]);
  ASSERT_OK(driver_.cuMemsetD8(range + unit_, 42, unit_));
  for (const CUdeviceptr at : {range, range + unit_, range + 2 * unit_}) {
    EXPECT_EQ(42, Read(at, 1)[0]);
  }
  EXPECT_OK(driver_.cuMemUnmap(range, 3 * unit_));
  EXPECT_OK(driver_.cuMemRelease(handle));
  EXPECT_OK(driver_.cuMemRelease(imported));
  EXPECT_OK(driver_.cuMemAddressFree(range, 3 * unit_));
}

TEST_F(VirtualMemoryTest, MemoryNotMadeForItIsNotExported) {
  const CUmemGenericAllocationHandle handle = Create(unit_);
  int descriptor = -1;
  EXPECT_NE(CUDA_SUCCESS, driver_.cuMemExportToShareableHandle(
                              &descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  EXPECT_OK(driver_.cuMemRelease(handle));
}

TEST_F(VirtualMemoryTest, HostMemoryIsReachedFromBothSides) {
  int supported = 0;
  driver_.cuDeviceGetAttribute(
      &supported, CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device_);
  if (supported == 0) GTEST_SKIP() << "no host locations here";
  const size_t before = FreeBytes();
  properties_.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
  properties_.location.id = 0;
  const CUmemGenericAllocationHandle handle = Create(unit_);
  EXPECT_EQ(before, FreeBytes()) << "takes no device memory";
  const CUdeviceptr range = Reserve(unit_);
  ASSERT_OK(driver_.cuMemMap(range, unit_, 0, handle, 0));
  CUmemAccessDesc both[2] = {access_, access_};
  both[1].location = properties_.location;
  ASSERT_OK(driver_.cuMemSetAccess(range, unit_, both, 2));
  ASSERT_OK(driver_.cuMemsetD8(range, 55, unit_));
  ASSERT_OK(driver_.cuCtxSynchronize());
  EXPECT_EQ(55, *reinterpret_cast<char*>(range));
  int ordinal = -1;
  ASSERT_OK(driver_.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, range));
  EXPECT_EQ(device_, ordinal);
  unsigned type = 0;
  ASSERT_OK(driver_.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, range));
  EXPECT_EQ(static_cast<unsigned>(CU_MEMORYTYPE_HOST), type);
  void* host = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, range));
  unsigned on = 1;
  EXPECT_CUDA(CUDA_ERROR_NOT_SUPPORTED,
              driver_.cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, range));
  EXPECT_OK(driver_.cuMemUnmap(range, unit_));
  EXPECT_OK(driver_.cuMemRelease(handle));
  EXPECT_OK(driver_.cuMemAddressFree(range, unit_));
}

// The driver does not choose the NUMA node of host memory, so the caller has to name it.
TEST_F(VirtualMemoryTest, HostMemoryIsMadeAtANodeThatIsNamed) {
  CUmemGenericAllocationHandle handle = 0;
  properties_.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
  properties_.location.id = -1;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemCreate(&handle, unit_, &properties_, 0));
  properties_.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
  for (const int id : {-1, 0, 1}) {
    properties_.location.id = id;
    EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemCreate(&handle, unit_, &properties_, 0));
  }
  properties_.location.id = 0;
  size_t unit = 0;
  int supported = 0;
  driver_.cuDeviceGetAttribute(
      &supported, CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device_);
  if (supported == 0) return;
  EXPECT_OK(
      driver_.cuMemGetAllocationGranularity(&unit, &properties_, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  EXPECT_EQ(kPage, unit) << "but it has a granularity";
}

TEST_F(VirtualMemoryTest, OnlyMemoryForNetworkCardsSynchronizesItsOperations) {
  int supported = 0;
  driver_.cuDeviceGetAttribute(
      &supported, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, device_);
  const CUdeviceptr range = Reserve(unit_);
  for (const bool rdma : {false, true}) {
    if (rdma && supported == 0) break;
    properties_.allocFlags.gpuDirectRDMACapable = rdma ? 1 : 0;
    const CUmemGenericAllocationHandle handle = Create(unit_);
    ASSERT_OK(driver_.cuMemMap(range, unit_, 0, handle, 0));
    ASSERT_OK(driver_.cuMemSetAccess(range, unit_, &access_, 1));
    unsigned on = 1;
    EXPECT_CUDA(rdma ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED,
                driver_.cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, range));
    EXPECT_OK(driver_.cuMemUnmap(range, unit_));
    EXPECT_OK(driver_.cuMemRelease(handle));
  }
  EXPECT_OK(driver_.cuMemAddressFree(range, unit_));
}

// The rule of this test is documented by comments in PyTorch's allocator, for cudaMemcpyAsync and
// cudaMemcpyPeerAsync.
TEST_F(VirtualMemoryTest, WithoutAccessOfTheOtherDeviceACopyHasToNameBothContexts) {
  int devices = 0;
  ASSERT_OK(driver_.cuDeviceGetCount(&devices));
  if (devices < 2) GTEST_SKIP() << "one device only";
  CUcontext other = nullptr;
  ASSERT_OK(driver_.cuDevicePrimaryCtxRetain(&other, 1));
  const CUmemGenericAllocationHandle handle = Create(unit_);
  const CUdeviceptr range = Reserve(unit_);
  ASSERT_OK(driver_.cuMemMap(range, unit_, 0, handle, 0));
  ASSERT_OK(driver_.cuMemSetAccess(range, unit_, &access_, 1));
  ASSERT_OK(driver_.cuMemsetD8(range, 77, unit_));
  ASSERT_OK(driver_.cuCtxSynchronize());
  ASSERT_OK(driver_.cuCtxSetCurrent(other));
  CUdeviceptr there = 0;
  ASSERT_OK(driver_.cuMemAlloc(&there, unit_));
  EXPECT_NE(CUDA_SUCCESS, driver_.cuMemcpyDtoD(there, range, unit_));
  EXPECT_NE(CUDA_SUCCESS, driver_.cuMemcpyPeer(there, other, range, other, unit_));
  ASSERT_OK(driver_.cuMemcpyPeer(there, other, range, context_, unit_));
  EXPECT_EQ(std::vector<unsigned char>(unit_, 77), Read(there, unit_));
  ASSERT_OK(driver_.cuMemFree(there));
  ASSERT_OK(driver_.cuCtxSetCurrent(context_));
  EXPECT_OK(driver_.cuDevicePrimaryCtxRelease(1));
  EXPECT_OK(driver_.cuMemUnmap(range, unit_));
  EXPECT_OK(driver_.cuMemRelease(handle));
  EXPECT_OK(driver_.cuMemAddressFree(range, unit_));
}

TEST_F(VirtualMemoryTest, UnmappingUnderPendingWorkBreaksTheContext) {
  CUcontext own = nullptr;
  ASSERT_OK(driver_.cuCtxCreate(&own, nullptr, 0, device_));
  CUstream stream = nullptr;
  ASSERT_OK(driver_.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const CUdeviceptr range = Reserve(64 * unit_);
  const CUmemGenericAllocationHandle handle = Create(64 * unit_);
  ASSERT_OK(driver_.cuMemMap(range, 64 * unit_, 0, handle, 0));
  ASSERT_OK(driver_.cuMemSetAccess(range, 64 * unit_, &access_, 1));
  HeldStream held(stream);
  ASSERT_OK(driver_.cuMemsetD8Async(range, 1, 64 * unit_, stream));
  ASSERT_OK(driver_.cuMemUnmap(range, 64 * unit_));
  EXPECT_TRUE(held.LetGo()) << "unmapping waited for the work";
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS, driver_.cuStreamSynchronize(stream));
  CUdeviceptr block = 0;
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_ADDRESS, driver_.cuMemAlloc(&block, 16)) << "the error stays";
  EXPECT_OK(driver_.cuMemRelease(handle));
  EXPECT_OK(driver_.cuMemAddressFree(range, 64 * unit_));
  driver_.cuCtxDestroy(own);
  EXPECT_OK(driver_.cuCtxSetCurrent(context_));
}

}  // namespace
}  // namespace vramstow::simulator
