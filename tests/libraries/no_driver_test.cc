// Tests the results of the stand-ins if there is no driver at all.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cudnn.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace vramstow {
namespace {

TEST(NoDriver, LibrariesAreNotInitialized) {
  if (access("/proc/driver/nvidia/version", F_OK) == 0) {
    GTEST_SKIP() << "this machine has NVIDIA's driver";
  }
  cublasHandle_t cublas = nullptr;
  EXPECT_EQ(cublasCreate(&cublas), CUBLAS_STATUS_NOT_INITIALIZED);
  cublasLtHandle_t cublaslt = nullptr;
  EXPECT_EQ(cublasLtCreate(&cublaslt), CUBLAS_STATUS_NOT_INITIALIZED);
  cudnnHandle_t cudnn = nullptr;
  EXPECT_EQ(cudnnCreate(&cudnn), CUDNN_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cudnnGetVersion() / 10000, size_t{CUDNN_MAJOR});
}

}  // namespace
}  // namespace vramstow
