#include <cstdlib>
#include <cstring>
#include <memory>

#include "tests/runtime/runtime_test.h"

namespace vramstow {
namespace {

TEST(Memory, KeepsWhatIsCopiedIntoIt) {
  DeviceBuffer buffer(64);
  std::string letters = Letters(64);
  ASSERT_CUDA(cudaMemcpy(buffer.get(), letters.data(), 64, cudaMemcpyHostToDevice));
  EXPECT_EQ(buffer.Read(64), letters);
}

TEST(Memory, OfNoBytesIsANullPointer) {
  void* pointer = &pointer;
  ASSERT_CUDA(cudaMalloc(&pointer, 0));
  EXPECT_EQ(pointer, nullptr);
  EXPECT_CUDA(cudaFree(nullptr));
}

TEST(Memory, CountsAsUsedWhileItLives) {
  size_t before = 0;
  size_t during = 0;
  size_t after = 0;
  size_t total = 0;
  ASSERT_CUDA(cudaMemGetInfo(&before, &total));
  {
    DeviceBuffer buffer(size_t{64} << 20);
    ASSERT_CUDA(cudaMemGetInfo(&during, &total));
  }
  ASSERT_CUDA(cudaMemGetInfo(&after, &total));
  EXPECT_EQ(before - during, size_t{64} << 20);
  EXPECT_EQ(after, before);
}

TEST(Memory, BeyondTheDeviceIsRefusedAndTheRestStillServed) {
  void* pointer = nullptr;
  EXPECT_FAILS(cudaMalloc(&pointer, size_t{1} << 45), cudaErrorMemoryAllocation);
  DeviceBuffer buffer(1024);
}

TEST(Memory, CannotBeFreedTwice) {
  void* pointer = nullptr;
  ASSERT_CUDA(cudaMalloc(&pointer, 1024));
  ASSERT_CUDA(cudaFree(pointer));
  EXPECT_FAILS(cudaFree(pointer), cudaErrorInvalidValue);
}

TEST(Memory, IsFilledByMemset) {
  DeviceBuffer buffer(16);
  ASSERT_CUDA(cudaMemset(buffer.get(), 'x', 16));
  ASSERT_CUDA(cudaMemset(buffer.at(4), 'y', 4));
  EXPECT_EQ(buffer.Read(16), "xxxxyyyyxxxxxxxx");
  EXPECT_CUDA(cudaMemset(nullptr, 0, 0));
}

TEST(Memory, IsFilledInTwoAndThreeDimensions) {
  DeviceBuffer buffer(24);
  ASSERT_CUDA(cudaMemset(buffer.get(), '.', 24));
  ASSERT_CUDA(cudaMemset2D(buffer.get(), 4, 'x', 2, 3));
  EXPECT_EQ(buffer.Read(24), "xx..xx..xx..............");
  cudaPitchedPtr pitched = {buffer.get(), 4, 4, 3};
  ASSERT_CUDA(cudaMemset3D(pitched, 'y', {1, 2, 2}));
  EXPECT_EQ(buffer.Read(24), "yx..yx..xx..y...y.......");
}

TEST(Memory, WithPitchHasAlignedRows) {
  void* pointer = nullptr;
  size_t pitch = 0;
  ASSERT_CUDA(cudaMallocPitch(&pointer, &pitch, 100, 8));
  EXPECT_GE(pitch, 100u);
  EXPECT_EQ(pitch % 32, 0u);
  ASSERT_CUDA(cudaFree(pointer));
  cudaPitchedPtr pitched = {};
  ASSERT_CUDA(cudaMalloc3D(&pitched, {100, 8, 3}));
  EXPECT_EQ(pitched.pitch, pitch);
  EXPECT_EQ(pitched.ysize, 8u);
  ASSERT_CUDA(cudaFree(pitched.ptr));
}

TEST(Memory, OfMoreRowsThanANumberHoldsIsRefused) {
  cudaPitchedPtr pitched = {};
  const size_t half = size_t{1} << 32;
  EXPECT_EQ(cudaMalloc3D(&pitched, {100, half, half}), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMalloc3D(&pitched, {100, half + 1, half}), cudaErrorInvalidValue);
  EXPECT_EQ(pitched.ptr, nullptr);
  DeviceBuffer buffer(64);
  pitched = {buffer.get(), 4, 4, 2};
  EXPECT_EQ(cudaMemset3D(pitched, 1, {1, 2, ~size_t{0}}), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset3D(pitched, 1, {1, 1, ~size_t{0}}), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset3D(pitched, 1, {1, 3, 2}), cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(Memory, OfTheHostIsReadAndWrittenByTheHost) {
  void* pointer = nullptr;
  ASSERT_CUDA(cudaMallocHost(&pointer, 4096));
  memset(pointer, 'h', 4096);
  DeviceBuffer buffer(4096);
  ASSERT_CUDA(cudaMemcpy(buffer.get(), pointer, 4096, cudaMemcpyDefault));
  EXPECT_EQ(buffer.Read(4096), std::string(4096, 'h'));
  void* device_pointer = nullptr;
  ASSERT_CUDA(cudaHostGetDevicePointer(&device_pointer, pointer, 0));
  EXPECT_EQ(device_pointer, pointer);
  ASSERT_CUDA(cudaFreeHost(pointer));
}

TEST(Memory, OfTheHostCanBeRegistered) {
  auto free_it = [](void* pointer) { free(pointer); };
  std::unique_ptr<void, decltype(free_it)> memory(aligned_alloc(4096, 8192), free_it);
  ASSERT_CUDA(cudaHostRegister(memory.get(), 8192, cudaHostRegisterDefault));
  EXPECT_FAILS(cudaHostRegister(memory.get(), 8192, cudaHostRegisterDefault),
               cudaErrorHostMemoryAlreadyRegistered);
  cudaPointerAttributes attributes;
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, memory.get()));
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  ASSERT_CUDA(cudaHostUnregister(memory.get()));
  EXPECT_FAILS(cudaHostUnregister(memory.get()), cudaErrorHostMemoryNotRegistered);
}

TEST(Memory, ThatIsManagedIsUsedByBothSides) {
  void* pointer = nullptr;
  ASSERT_CUDA(cudaMallocManaged(&pointer, 4096, cudaMemAttachGlobal));
  memset(pointer, 'm', 4096);
  DeviceBuffer buffer(4096);
  ASSERT_CUDA(cudaMemcpy(buffer.get(), pointer, 4096, cudaMemcpyDefault));
  EXPECT_EQ(buffer.Read(4), "mmmm");
  ASSERT_CUDA(cudaFree(pointer));
}

TEST(Memory, PointersOfEachKindAreTold) {
  DeviceBuffer device(1024);
  void* host = nullptr;
  void* managed = nullptr;
  int stack = 0;
  cudaPointerAttributes attributes;
  ASSERT_CUDA(cudaHostAlloc(&host, 1024, cudaHostAllocPortable));
  ASSERT_CUDA(cudaMallocManaged(&managed, 1024, cudaMemAttachGlobal));
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, device.at(100)));
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.device, 0);
  EXPECT_EQ(attributes.devicePointer, device.at(100));
  EXPECT_EQ(attributes.hostPointer, nullptr);
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, host));
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_EQ(attributes.hostPointer, host);
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, managed));
  EXPECT_EQ(attributes.type, cudaMemoryTypeManaged);
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, &stack));
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(attributes.devicePointer, nullptr);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  ASSERT_CUDA(cudaFreeHost(host));
  ASSERT_CUDA(cudaFree(managed));
}

TEST(Memory, InArraysKeepsRows) {
  cudaArray_t array = nullptr;
  cudaChannelFormatDesc format = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  ASSERT_CUDA(cudaMallocArray(&array, &format, 4, 2, 0));
  cudaExtent extent = {};
  cudaChannelFormatDesc reported = {};
  ASSERT_CUDA(cudaArrayGetInfo(&reported, &extent, nullptr, array));
  EXPECT_EQ(extent.width, 4u);
  EXPECT_EQ(extent.height, 2u);
  EXPECT_EQ(reported.x, 32);
  EXPECT_EQ(reported.f, cudaChannelFormatKindFloat);
  std::string letters = Letters(32);
  std::string back(32, '?');
  ASSERT_CUDA(cudaMemcpy2DToArray(array, 0, 0, letters.data(), 16, 16, 2, cudaMemcpyHostToDevice));
  ASSERT_CUDA(cudaMemcpy2DFromArray(back.data(), 16, array, 0, 0, 16, 2, cudaMemcpyDeviceToHost));
  EXPECT_EQ(back, letters);
  ASSERT_CUDA(cudaFreeArray(array));
}

TEST(Memory, InArraysOfNoSuchFormatIsRefused) {
  cudaArray_t array = nullptr;
  cudaChannelFormatDesc three = cudaCreateChannelDesc(32, 32, 32, 0, cudaChannelFormatKindFloat);
  cudaChannelFormatDesc mixed = cudaCreateChannelDesc(8, 16, 0, 0, cudaChannelFormatKindUnsigned);
  EXPECT_FAILS(cudaMallocArray(&array, &three, 4, 2, 0), cudaErrorInvalidChannelDescriptor);
  EXPECT_FAILS(cudaMallocArray(&array, &mixed, 4, 2, 0), cudaErrorInvalidChannelDescriptor);
}

}  // namespace
}  // namespace vramstow
