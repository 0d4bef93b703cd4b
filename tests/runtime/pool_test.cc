#include "tests/runtime/runtime_test.h"

namespace vramstow {
namespace {

TEST(Pool, ServesMemoryInStreamOrder) {
  cudaStream_t stream = nullptr;
  ASSERT_CUDA(cudaStreamCreate(&stream));
  void* pointer = nullptr;
  std::string to(16, '?');
  ASSERT_CUDA(cudaMallocAsync(&pointer, 1024, stream));
  ASSERT_CUDA(cudaMemsetAsync(pointer, 'p', 16, stream));
  ASSERT_CUDA(cudaMemcpyAsync(to.data(), pointer, 16, cudaMemcpyDeviceToHost, stream));
  ASSERT_CUDA(cudaFreeAsync(pointer, stream));
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(to, std::string(16, 'p'));
  ASSERT_CUDA(cudaStreamDestroy(stream));
}

TEST(Pool, CountsWhatIsUsed) {
  cudaMemPool_t pool = nullptr;
  ASSERT_CUDA(cudaDeviceGetDefaultMemPool(&pool, 0));
  uint64_t before = 0;
  uint64_t during = 0;
  void* pointer = nullptr;
  ASSERT_CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &before));
  ASSERT_CUDA(cudaMallocFromPoolAsync(&pointer, size_t{4} << 20, pool, nullptr));
  ASSERT_CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &during));
  EXPECT_GE(during - before, uint64_t{4} << 20);
  ASSERT_CUDA(cudaFreeAsync(pointer, nullptr));
  ASSERT_CUDA(cudaDeviceSynchronize());
}

TEST(Pool, KeepsItsThreshold) {
  cudaMemPool_t pool = nullptr;
  ASSERT_CUDA(cudaDeviceGetDefaultMemPool(&pool, 0));
  uint64_t threshold = uint64_t{64} << 20;
  ASSERT_CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  threshold = 0;
  ASSERT_CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  EXPECT_EQ(threshold, uint64_t{64} << 20);
  threshold = 0;
  ASSERT_CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  EXPECT_CUDA(cudaMemPoolTrimTo(pool, 0));
}

TEST(Pool, OfNoBytesGivesANullPointer) {
  void* pointer = &pointer;
  ASSERT_CUDA(cudaMallocAsync(&pointer, 0, nullptr));
  EXPECT_EQ(pointer, nullptr);
  EXPECT_CUDA(cudaFreeAsync(nullptr, nullptr));
  EXPECT_FAILS(cudaMallocAsync(nullptr, 16, nullptr), cudaErrorInvalidValue);
}

TEST(Pool, BeyondTheDeviceIsOutOfMemory) {
  void* pointer = nullptr;
  EXPECT_FAILS(cudaMallocAsync(&pointer, size_t{1} << 45, nullptr), cudaErrorMemoryAllocation);
}

TEST(Pool, CanBeMadeAndDestroyed) {
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  cudaMemPool_t pool = nullptr;
  ASSERT_CUDA(cudaMemPoolCreate(&pool, &properties));
  ASSERT_CUDA(cudaMemPoolDestroy(pool));
}

}  // namespace
}  // namespace vramstow
