#include <cuda.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/runtime/runtime_test.h"

namespace vramstow {
namespace {

using MemAlloc = CUresult (*)(CUdeviceptr*, size_t);
using MemFree = CUresult (*)(CUdeviceptr);

void* FindDriverFunction(const char* name, unsigned version) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
  EXPECT_CUDA(
      cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &status));
  EXPECT_EQ(status, cudaDriverEntryPointSuccess);
  return function;
}

TEST(EntryPoint, IsADriverFunctionThatSharesTheRuntimesMemory) {
  ASSERT_CUDA(cudaFree(nullptr));
  auto allocate = reinterpret_cast<MemAlloc>(FindDriverFunction("cuMemAlloc", 12000));
  auto release = reinterpret_cast<MemFree>(FindDriverFunction("cuMemFree", 12000));
  CUdeviceptr address = 0;
  ASSERT_EQ(allocate(&address, 1024), CUDA_SUCCESS);
  EXPECT_CUDA(cudaMemset(reinterpret_cast<void*>(address), 1, 1024));
  EXPECT_EQ(release(address), CUDA_SUCCESS);
}

TEST(EntryPoint, OfThePerThreadVariantIsAnotherOne) {
  void* legacy = nullptr;
  void* per_thread = nullptr;
  ASSERT_CUDA(cudaGetDriverEntryPointByVersion("cuMemcpyAsync", &legacy, 12000,
                                               cudaEnableLegacyStream, nullptr));
  ASSERT_CUDA(cudaGetDriverEntryPointByVersion("cuMemcpyAsync", &per_thread, 12000,
                                               cudaEnablePerThreadDefaultStream, nullptr));
  EXPECT_NE(legacy, per_thread);
}

TEST(EntryPoint, OfAnUnknownNameIsNotFound) {
  void* function = &function;
  cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSuccess;
  ASSERT_CUDA(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &function, 12000, cudaEnableDefault,
                                               &status));
  EXPECT_EQ(status, cudaDriverEntryPointSymbolNotFound);
  EXPECT_EQ(function, nullptr);
  EXPECT_FAILS(
      cudaGetDriverEntryPointByVersion(nullptr, &function, 12000, cudaEnableDefault, &status),
      cudaErrorInvalidValue);
}

TEST(Context, OfTheApplicationIsUsed) {
  ASSERT_CUDA(cudaSetDevice(0));
  auto retain = reinterpret_cast<CUresult (*)(CUcontext*, CUdevice)>(
      FindDriverFunction("cuDevicePrimaryCtxRetain", 12000));
  auto set =
      reinterpret_cast<CUresult (*)(CUcontext)>(FindDriverFunction("cuCtxSetCurrent", 12000));
  auto release = reinterpret_cast<CUresult (*)(CUdevice)>(
      FindDriverFunction("cuDevicePrimaryCtxRelease", 12000));
  CUcontext second = nullptr;
  ASSERT_EQ(retain(&second, 1), CUDA_SUCCESS);
  ASSERT_EQ(set(second), CUDA_SUCCESS);
  int device = -1;
  ASSERT_CUDA(cudaGetDevice(&device));
  EXPECT_EQ(device, 1);
  ASSERT_CUDA(cudaSetDevice(0));
  EXPECT_EQ(release(1), CUDA_SUCCESS);
}

TEST(Fork, ChildOfAProcessThatUsedCudaGetsAnErrorAndLeavesNormally) {
  ASSERT_CUDA(cudaFree(nullptr));
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    void* pointer = nullptr;
    bool failed = cudaMalloc(&pointer, 1024) != cudaSuccess;
    exit(failed ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace vramstow
