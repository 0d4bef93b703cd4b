// Tests the results that programs get on a machine without libcuda.so.1, as in this test's
// environment.
#include <dlfcn.h>

#include "tests/runtime/runtime_test.h"

namespace vramstow {
namespace {

class NoDriver : public testing::Test {
 protected:
  void SetUp() override {
    if (dlopen("libcuda.so.1", RTLD_NOW) != nullptr) {
      GTEST_SKIP() << "this machine has a CUDA driver";
    }
  }
};

TEST_F(NoDriver, EveryCallSaysThatTheDriverIsInsufficient) {
  int count = -1;
  void* pointer = nullptr;
  EXPECT_FAILS(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
  EXPECT_FAILS(cudaMalloc(&pointer, 16), cudaErrorInsufficientDriver);
  EXPECT_FAILS(cudaSetDevice(0), cudaErrorInsufficientDriver);
  EXPECT_FAILS(cudaDeviceSynchronize(), cudaErrorInsufficientDriver);
  cudaDriverEntryPointQueryResult status;
  EXPECT_FAILS(
      cudaGetDriverEntryPointByVersion("cuInit", &pointer, 12000, cudaEnableDefault, &status),
      cudaErrorInsufficientDriver);
}

TEST_F(NoDriver, VersionsCanBeAskedFor) {
  int version = -1;
  ASSERT_CUDA(cudaDriverGetVersion(&version));
  EXPECT_EQ(version, 0);
  ASSERT_CUDA(cudaRuntimeGetVersion(&version));
  EXPECT_EQ(version, 13020);
}

}  // namespace
}  // namespace vramstow
