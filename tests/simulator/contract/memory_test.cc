// Tests device and host memory, and queries of addresses.
#include <stdlib.h>

#include <set>
#include <utility>

#include "tests/simulator/contract/driver.h"

namespace vramstow::simulator {
namespace {

using MemoryTest = ContractTest;
// Tests that allocate all memory of the GPU, which other programs may be using. The acceptance kit
// for real GPUs skips suites whose names begin with "Filling".
using FillingTest = ContractTest;
using UndefinedMemoryTest = ContractTest;
using HostMemoryTest = ContractTest;
using PointerTest = ContractTest;

TEST_F(MemoryTest, ZeroBytesAreRefused) {
  CUdeviceptr block = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemAlloc(&block, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemAlloc(nullptr, 16));
}

TEST_F(MemoryTest, BlocksAreAlignedTo256Bytes) {
  for (const size_t bytes : {size_t{1}, size_t{511}, size_t{4097}, kMiB + 1, 5 * kMiB}) {
    EXPECT_EQ(0u, Allocate(bytes) % 256) << bytes;
  }
}

TEST_F(MemoryTest, BlocksDoNotOverlap) {
  std::set<std::pair<CUdeviceptr, CUdeviceptr>> ranges;
  for (int i = 0; i < 200; ++i) {
    const size_t bytes = 1 + (i * 7919) % 3000000;
    const CUdeviceptr block = Allocate(bytes);
    ranges.insert({block, block + bytes});
  }
  CUdeviceptr end = 0;
  for (const auto& [first, last] : ranges) {
    EXPECT_GE(first, end);
    end = last;
  }
}

TEST_F(MemoryTest, FreeingReturnsTheMemory) {
  const size_t before = FreeBytes();
  CUdeviceptr block = 0;
  ASSERT_OK(driver_.cuMemAlloc(&block, 100 * kMiB));
  EXPECT_LE(FreeBytes(), before - 100 * kMiB);
  ASSERT_OK(driver_.cuMemFree(block));
  EXPECT_EQ(before, FreeBytes());
}

TEST_F(MemoryTest, SmallBlocksShareAPage) {
  const size_t before = FreeBytes();
  for (int i = 0; i < 100; ++i) Allocate(512);
  EXPECT_LE(before - FreeBytes(), kPage);
}

TEST_F(MemoryTest, MoreThanThereIsIsOutOfMemory) {
  CUdeviceptr block = 0;
  size_t total = 0;
  ASSERT_OK(driver_.cuMemGetInfo(nullptr, &total));
  EXPECT_CUDA(CUDA_ERROR_OUT_OF_MEMORY, driver_.cuMemAlloc(&block, total));
  EXPECT_CUDA(CUDA_ERROR_OUT_OF_MEMORY, driver_.cuMemAlloc(&block, ~size_t{0} / 2));
  Allocate(1024);  // the context still works
}

TEST_F(FillingTest, AllOfTheFreeMemoryCanBeHad) {
  std::vector<CUdeviceptr> blocks;
  CUdeviceptr block = 0;
  while (driver_.cuMemAlloc(&block, 64 * kMiB) == CUDA_SUCCESS) blocks.push_back(block);
  EXPECT_LT(FreeBytes(), 64 * kMiB);
  for (const CUdeviceptr each : blocks) ASSERT_OK(driver_.cuMemFree(each));
}

TEST_F(MemoryTest, FreeingTwiceOrInsideIsRefused) {
  CUdeviceptr block = 0;
  ASSERT_OK(driver_.cuMemAlloc(&block, kMiB));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemFree(block + 256));
  ASSERT_OK(driver_.cuMemFree(block));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemFree(block));
}

TEST_F(MemoryTest, FreeingNullDoesNothing) { EXPECT_OK(driver_.cuMemFree(0)); }

TEST_F(MemoryTest, FreeWaitsForPendingWork) {
  void* host = nullptr;
  ASSERT_OK(driver_.cuMemHostAlloc(&host, 64 * kMiB, 0));
  CUdeviceptr block = 0;
  ASSERT_OK(driver_.cuMemAlloc(&block, 64 * kMiB));
  CUstream stream = NewStream();
  ASSERT_OK(driver_.cuMemsetD8Async(block, 5, 64 * kMiB, stream));
  ASSERT_OK(driver_.cuMemcpyDtoHAsync(host, block, 64 * kMiB, stream));
  ASSERT_OK(driver_.cuMemFree(block));
  EXPECT_EQ(5, static_cast<char*>(host)[64 * kMiB - 1]);
  EXPECT_OK(driver_.cuMemFreeHost(host));
}

TEST_F(MemoryTest, PitchIsAMultipleAndLargeEnough) {
  CUdeviceptr block = 0;
  size_t pitch = 0;
  ASSERT_OK(driver_.cuMemAllocPitch(&block, &pitch, 1001, 7, 4));
  blocks_.push_back(block);
  EXPECT_GE(pitch, 1001u);
  EXPECT_EQ(0u, pitch % 32);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemAllocPitch(&block, &pitch, 1001, 7, 5));
}

// A size that does not fit into 64 bits must not become a small one.
TEST_F(MemoryTest, RowsThatAreTooLongTogetherAreRefused) {
  constexpr size_t kMost = ~size_t{0};
  const struct {
    size_t width, height;
  } shapes[] = {{size_t{1} << 33, size_t{1} << 31},
                {(size_t{1} << 33) + 512, size_t{1} << 31},
                {kMost, 16},
                {kMost, 1},
                {16, kMost}};
  for (const auto& shape : shapes) {
    CUdeviceptr block = 0;
    size_t pitch = 7;
    EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
                driver_.cuMemAllocPitch(&block, &pitch, shape.width, shape.height, 4))
        << shape.width;
    EXPECT_EQ(0u, block);
    EXPECT_EQ(7u, pitch);
  }
}

TEST_F(MemoryTest, AddressRangeIsTheBlockAsAskedFor) {
  const CUdeviceptr block = Allocate(1000);
  CUdeviceptr base = 0;
  size_t size = 0;
  ASSERT_OK(driver_.cuMemGetAddressRange(&base, &size, block + 999));
  EXPECT_EQ(block, base);
  EXPECT_EQ(1000u, size);
  EXPECT_OK(driver_.cuMemGetAddressRange(nullptr, &size, block));
  EXPECT_OK(driver_.cuMemGetAddressRange(&base, nullptr, block));
  int on_host = 0;
  EXPECT_NE(CUDA_SUCCESS,
            driver_.cuMemGetAddressRange(&base, &size, reinterpret_cast<CUdeviceptr>(&on_host)));
}

TEST_F(MemoryTest, HostFaultsOnADeviceAddress) {
  const CUdeviceptr block = Allocate(kMiB);
  EXPECT_DEATH(*reinterpret_cast<volatile int*>(block) = 1, "");
}

TEST_F(MemoryTest, ArraysKeepTheirDescriptor) {
  CUDA_ARRAY_DESCRIPTOR wish = {};
  wish.Width = 64;
  wish.Height = 32;
  wish.Format = CU_AD_FORMAT_FLOAT;
  wish.NumChannels = 4;
  CUarray array = nullptr;
  CUDA_ARRAY_DESCRIPTOR read = {};
  ASSERT_OK(driver_.cuArrayCreate(&array, &wish));
  ASSERT_OK(driver_.cuArrayGetDescriptor(&read, array));
  EXPECT_EQ(64u, read.Width);
  EXPECT_EQ(4u, read.NumChannels);
  EXPECT_OK(driver_.cuArrayDestroy(array));
}

TEST_F(UndefinedMemoryTest, DestroyedArraysAreRefused) {
  CUDA_ARRAY_DESCRIPTOR wish = {64, 32, CU_AD_FORMAT_FLOAT, 4};
  CUarray array = nullptr;
  ASSERT_OK(driver_.cuArrayCreate(&array, &wish));
  EXPECT_OK(driver_.cuArrayDestroy(array));
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, driver_.cuArrayDestroy(array));
}

TEST_F(HostMemoryTest, PinnedMemoryIsTheHostsToUse) {
  void* host = nullptr;
  ASSERT_OK(driver_.cuMemAllocHost(&host, 3 * kMiB));
  static_cast<char*>(host)[3 * kMiB - 1] = 42;
  CUdeviceptr device = 0;
  ASSERT_OK(driver_.cuMemHostGetDevicePointer(&device, host, 0));
  EXPECT_EQ(reinterpret_cast<CUdeviceptr>(host), device) << "unified addressing";
  EXPECT_OK(driver_.cuMemFreeHost(host));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemFreeHost(host));
}

TEST_F(HostMemoryTest, PinnedMemoryTakesNoDeviceMemory) {
  const size_t before = FreeBytes();
  void* host = nullptr;
  ASSERT_OK(driver_.cuMemHostAlloc(&host, 256 * kMiB, CU_MEMHOSTALLOC_PORTABLE));
  EXPECT_EQ(before, FreeBytes());
  unsigned flags = 0;
  EXPECT_OK(driver_.cuMemHostGetFlags(&flags, host));
  EXPECT_TRUE((flags & CU_MEMHOSTALLOC_PORTABLE) != 0);
  EXPECT_OK(driver_.cuMemFreeHost(host));
}

TEST_F(HostMemoryTest, UnknownFlagsAreRefused) {
  void* host = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemHostAlloc(&host, 16, 1u << 20));
}

TEST_F(HostMemoryTest, RegisteringTwiceIsRefused) {
  std::vector<char> memory(2 * kMiB);
  ASSERT_OK(driver_.cuMemHostRegister(memory.data(), memory.size(), 0));
  EXPECT_CUDA(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
              driver_.cuMemHostRegister(memory.data(), memory.size(), 0));
  EXPECT_OK(driver_.cuMemHostUnregister(memory.data()));
  EXPECT_CUDA(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, driver_.cuMemHostUnregister(memory.data()));
}

TEST_F(HostMemoryTest, RegisteringBeyondTheLastAddressIsRefused) {
  std::vector<char> memory(4096);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemHostRegister(memory.data(), ~size_t{0}, 0));
}

TEST_F(HostMemoryTest, ManagedMemoryIsForBothSides) {
  CUdeviceptr block = 0;
  ASSERT_OK(driver_.cuMemAllocManaged(&block, kMiB, CU_MEM_ATTACH_GLOBAL));
  ASSERT_OK(driver_.cuMemsetD8(block, 9, kMiB));
  ASSERT_OK(driver_.cuCtxSynchronize());
  EXPECT_EQ(9, *reinterpret_cast<char*>(block + kMiB - 1));
  EXPECT_OK(driver_.cuMemFree(block));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemAllocManaged(&block, kMiB, 77));
}

TEST_F(PointerTest, DeviceMemorySaysWhatItIs) {
  const CUdeviceptr block = Allocate(5000);
  CUmemorytype type = CU_MEMORYTYPE_HOST;
  int ordinal = -1;
  CUcontext context = nullptr;
  CUdeviceptr start = 0;
  size_t size = 0;
  unsigned long long id = 0;
  unsigned managed = 1;
  const auto get = [&](void* data, CUpointer_attribute attribute) {
    EXPECT_OK(driver_.cuPointerGetAttribute(data, attribute, block + 10));
  };
  get(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
  get(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
  get(&context, CU_POINTER_ATTRIBUTE_CONTEXT);
  get(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
  get(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
  get(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID);
  get(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED);
  EXPECT_EQ(CU_MEMORYTYPE_DEVICE, type);
  EXPECT_EQ(device_, ordinal);
  EXPECT_EQ(context_, context);
  EXPECT_EQ(block, start);
  EXPECT_EQ(5000u, size);
  EXPECT_NE(0u, id);
  EXPECT_EQ(0u, managed);
}

TEST_F(PointerTest, BufferIdsAreNeverUsedAgain) {
  std::set<unsigned long long> ids;
  for (int i = 0; i < 20; ++i) {
    CUdeviceptr block = 0;
    unsigned long long id = 0;
    ASSERT_OK(driver_.cuMemAlloc(&block, kMiB));
    ASSERT_OK(driver_.cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, block));
    ASSERT_OK(driver_.cuMemFree(block));
    EXPECT_TRUE(ids.insert(id).second);
  }
}

TEST_F(PointerTest, UnknownPointerIsRefusedAloneAndNullInALot) {
  int on_host = 0;
  const auto address = reinterpret_cast<CUdeviceptr>(&on_host);
  CUmemorytype type = CU_MEMORYTYPE_DEVICE;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
  unsigned managed = 1;
  unsigned kind = 7;
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                      CU_POINTER_ATTRIBUTE_IS_MANAGED};
  void* data[] = {&kind, &managed};
  ASSERT_OK(driver_.cuPointerGetAttributes(2, attributes, data, address));
  EXPECT_EQ(0u, kind);
  EXPECT_EQ(0u, managed);
}

TEST_F(PointerTest, PinnedMemoryIsHostMemoryWithADevicePointer) {
  void* host = nullptr;
  ASSERT_OK(driver_.cuMemHostAlloc(&host, 4096, 0));
  const auto address = reinterpret_cast<CUdeviceptr>(host);
  unsigned type = 0;
  CUdeviceptr device = 0;
  void* back = nullptr;
  ASSERT_OK(driver_.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
  ASSERT_OK(driver_.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address));
  ASSERT_OK(driver_.cuPointerGetAttribute(&back, CU_POINTER_ATTRIBUTE_HOST_POINTER, address));
  EXPECT_EQ(static_cast<unsigned>(CU_MEMORYTYPE_HOST), type);
  EXPECT_EQ(address, device);
  EXPECT_EQ(host, back);
  EXPECT_OK(driver_.cuMemFreeHost(host));
}

}  // namespace
}  // namespace vramstow::simulator
