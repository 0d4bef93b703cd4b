#include "tests/runtime/runtime_test.h"

namespace vramstow {
namespace {

TEST(Copy, BetweenDeviceBuffersKeepsBytes) {
  DeviceBuffer from(16);
  DeviceBuffer to(16);
  ASSERT_CUDA(cudaMemcpy(from.get(), Letters(16).data(), 16, cudaMemcpyHostToDevice));
  ASSERT_CUDA(cudaMemcpy(to.get(), from.get(), 16, cudaMemcpyDeviceToDevice));
  EXPECT_EQ(to.Read(16), Letters(16));
}

TEST(Copy, OnTheHostIsOneToo) {
  std::string from = Letters(16);
  std::string to(16, '?');
  ASSERT_CUDA(cudaMemcpy(to.data(), from.data(), 16, cudaMemcpyHostToHost));
  EXPECT_EQ(to, from);
}

TEST(Copy, OfNoBytesAsksForNothing) {
  EXPECT_CUDA(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyDefault));
  EXPECT_CUDA(cudaMemcpyAsync(nullptr, nullptr, 0, cudaMemcpyDefault, nullptr));
  EXPECT_FAILS(cudaMemcpy(nullptr, nullptr, 1, cudaMemcpyDefault), cudaErrorInvalidValue);
}

TEST(Copy, BeyondABufferIsRefused) {
  DeviceBuffer buffer(1024);
  std::string host(size_t{8} << 20, 'x');
  EXPECT_FAILS(cudaMemcpy(buffer.get(), host.data(), host.size(), cudaMemcpyHostToDevice),
               cudaErrorInvalidValue);
}

TEST(Copy, InStreamOrderIsThereAfterTheStream) {
  DeviceBuffer buffer(16);
  cudaStream_t stream = nullptr;
  ASSERT_CUDA(cudaStreamCreate(&stream));
  std::string from = Letters(16);
  std::string to(16, '?');
  ASSERT_CUDA(cudaMemsetAsync(buffer.get(), 'z', 16, stream));
  ASSERT_CUDA(cudaMemcpyAsync(buffer.get(), from.data(), 8, cudaMemcpyHostToDevice, stream));
  ASSERT_CUDA(cudaMemcpyAsync(to.data(), buffer.get(), 16, cudaMemcpyDeviceToHost, stream));
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(to, "abcdefghzzzzzzzz");
  ASSERT_CUDA(cudaStreamDestroy(stream));
}

TEST(Copy, InTwoDimensionsTakesRows) {
  DeviceBuffer buffer(12);
  ASSERT_CUDA(cudaMemset(buffer.get(), '.', 12));
  ASSERT_CUDA(cudaMemcpy2D(buffer.get(), 4, Letters(6).data(), 2, 2, 3, cudaMemcpyHostToDevice));
  EXPECT_EQ(buffer.Read(12), "ab..cd..ef..");
  std::string back(6, '?');
  ASSERT_CUDA(
      cudaMemcpy2DAsync(back.data(), 2, buffer.get(), 4, 2, 3, cudaMemcpyDeviceToHost, nullptr));
  ASSERT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(back, Letters(6));
}

TEST(Copy, WithRowsThatOverlapIsRefused) {
  DeviceBuffer buffer(64);
  std::string host(64, 'x');
  EXPECT_FAILS(cudaMemcpy2D(buffer.get(), 2, host.data(), 8, 4, 2, cudaMemcpyHostToDevice),
               cudaErrorInvalidPitchValue);
}

TEST(Copy, InThreeDimensionsTakesSlices) {
  DeviceBuffer buffer(24);
  ASSERT_CUDA(cudaMemset(buffer.get(), '.', 24));
  std::string letters = Letters(8);
  cudaMemcpy3DParms parameters = {};
  parameters.srcPtr = {letters.data(), 2, 2, 2};
  parameters.dstPtr = {buffer.get(), 4, 4, 3};
  parameters.extent = {2, 2, 2};
  parameters.kind = cudaMemcpyHostToDevice;
  ASSERT_CUDA(cudaMemcpy3D(&parameters));
  EXPECT_EQ(buffer.Read(24), "ab..cd......ef..gh......");
}

TEST(Copy, OfNeitherMemoryNorArrayIsRefused) {
  cudaMemcpy3DParms parameters = {};
  parameters.extent = {2, 2, 2};
  EXPECT_FAILS(cudaMemcpy3D(&parameters), cudaErrorInvalidValue);
  EXPECT_FAILS(cudaMemcpy3D(nullptr), cudaErrorInvalidValue);
}

TEST(Copy, BetweenDevicesKeepsBytes) {
  ASSERT_CUDA(cudaSetDevice(0));
  DeviceBuffer from(16);
  ASSERT_CUDA(cudaSetDevice(1));
  DeviceBuffer to(16);
  ASSERT_CUDA(cudaMemcpy(from.get(), Letters(16).data(), 16, cudaMemcpyHostToDevice));
  ASSERT_CUDA(cudaMemcpyPeer(to.get(), 1, from.get(), 0, 8));
  ASSERT_CUDA(cudaMemcpyPeerAsync(to.at(8), 1, from.at(8), 0, 8, nullptr));
  ASSERT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(to.Read(16), Letters(16));
  EXPECT_FAILS(cudaMemcpyPeer(to.get(), 1, from.get(), 7, 8), cudaErrorInvalidDevice);
  ASSERT_CUDA(cudaSetDevice(0));
}

}  // namespace
}  // namespace vramstow
