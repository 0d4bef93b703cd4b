#include <thread>

#include "tests/runtime/runtime_test.h"

namespace vramstow {
namespace {

TEST(Error, IsKeptUntilItIsAskedFor) {
  void* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(nullptr, 16), cudaErrorInvalidValue);
  ASSERT_CUDA(cudaMalloc(&pointer, 16));
  ASSERT_CUDA(cudaFree(pointer));
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(Error, IsKeptPerThread) {
  EXPECT_EQ(cudaMalloc(nullptr, 16), cudaErrorInvalidValue);
  std::thread([] { EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess); }).join();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

TEST(Error, HasANameAndAText) {
  EXPECT_STREQ(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
  EXPECT_STREQ(cudaGetErrorString(cudaSuccess), "no error");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorNotReady), "device not ready");
  EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(12345)), "unrecognized error code");
  EXPECT_STREQ(cudaGetErrorString(static_cast<cudaError_t>(12345)), "unrecognized error code");
}

TEST(Error, OfAHandleThatIsNoneIsSaid) {
  EXPECT_FAILS(cudaStreamDestroy(nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_FAILS(cudaEventDestroy(nullptr), cudaErrorInvalidResourceHandle);
}

TEST(Error, OfACopyDirectionThatIsNoneIsSaid) {
  DeviceBuffer buffer(16);
  char host[16];
  EXPECT_FAILS(cudaMemcpy(host, buffer.get(), 16, static_cast<cudaMemcpyKind>(7)),
               cudaErrorInvalidMemcpyDirection);
}

TEST(Error, OfAFunctionThatIsNoKernelIsSaid) {
  static int no_kernel;
  cudaFuncAttributes attributes;
  EXPECT_FAILS(cudaFuncGetAttributes(&attributes, &no_kernel), cudaErrorInvalidDeviceFunction);
  EXPECT_FAILS(cudaLaunchKernel(&no_kernel, dim3(1), dim3(1), nullptr, 0, nullptr),
               cudaErrorInvalidDeviceFunction);
}

TEST(Error, OfASymbolThatIsNoneIsSaid) {
  static int no_symbol;
  void* address = nullptr;
  size_t size = 0;
  EXPECT_FAILS(cudaGetSymbolAddress(&address, &no_symbol), cudaErrorInvalidSymbol);
  EXPECT_FAILS(cudaGetSymbolSize(&size, &no_symbol), cudaErrorInvalidSymbol);
}

TEST(Error, OfWhatIsNotSimulatedIsSaidOnceByName) {
  unsigned count = 0;
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaGraphicsUnregisterResource(nullptr), cudaErrorNotSupported);
  EXPECT_EQ(cudaGraphicsUnregisterResource(nullptr), cudaErrorNotSupported);
  std::string said = testing::internal::GetCapturedStderr();
  for (size_t at = said.find("cudaGraphicsUnregisterResource"); at != std::string::npos;
       at = said.find("cudaGraphicsUnregisterResource", at + 1)) {
    ++count;
  }
  EXPECT_EQ(count, 1u) << said;
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotSupported);
}

}  // namespace
}  // namespace vramstow
