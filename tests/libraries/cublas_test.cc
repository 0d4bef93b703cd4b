#include <cublas_v2.h>
#include <dlfcn.h>

#include "tests/libraries/device_fixture.h"

namespace vramstow {
namespace {

constexpr size_t kMebibyte = 1 << 20;

class CublasTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_EQ(cublasCreate(&handle_), CUBLAS_STATUS_SUCCESS);
  }
  void TearDown() override { EXPECT_EQ(cublasDestroy(handle_), CUBLAS_STATUS_SUCCESS); }

  cublasHandle_t handle_ = nullptr;
};

TEST_F(DeviceTest, CreatingACublasHandleAllocatesItsWorkspaceAndDestroyingGivesItBack) {
  const size_t before = UsedMemory();
  cublasHandle_t handle = nullptr;
  ASSERT_EQ(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
  // A handle uses 66 MiB on a GPU of compute capability 9.0. Its two small blocks share a page of 2
  // MiB.
  EXPECT_EQ(UsedMemory() - before, 66 * kMebibyte);
  ASSERT_EQ(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(UsedMemory(), before);
}

TEST_F(DeviceTest, TheWorkspaceOfCublasFollowsItsOwnEnvironmentVariable) {
  ASSERT_EQ(setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:2:16:8", 1), 0);
  const size_t before = UsedMemory();
  cublasHandle_t handle = nullptr;
  ASSERT_EQ(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
  // The handle needs 8,320 KiB, rounded up to the device's pages of 2 MiB, and two small blocks.
  EXPECT_EQ(UsedMemory() - before, 12 * kMebibyte);
  ASSERT_EQ(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(setenv("CUBLAS_WORKSPACE_CONFIG", "nonsense", 1), 0);
  ASSERT_EQ(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(UsedMemory() - before, 66 * kMebibyte);
  ASSERT_EQ(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
  unsetenv("CUBLAS_WORKSPACE_CONFIG");
}

TEST_F(DeviceTest, CreatingACublasHandleFailsWhenItsWorkspaceDoesNotFit) {
  size_t free = 0;
  size_t total = 0;
  ASSERT_EQ(cuMemGetInfo(&free, &total), CUDA_SUCCESS);
  const DeviceMemory most(free - 16 * kMebibyte);
  cublasHandle_t handle = nullptr;
  EXPECT_EQ(cublasCreate(&handle), CUBLAS_STATUS_ALLOC_FAILED);
  EXPECT_EQ(handle, nullptr);
}

TEST_F(DeviceTest, NoCublasHandleIsNotInitialized) {
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cublasSetStream(nullptr, stream), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasDestroy(nullptr), CUBLAS_STATUS_NOT_INITIALIZED);
  const float one = 1;
  EXPECT_EQ(cublasSgemm(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, nullptr, 1, nullptr, 1,
                        &one, nullptr, 1),
            CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasCreate(nullptr), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(CublasTest, KeepsItsSettings) {
  cublasMath_t math = CUBLAS_TENSOR_OP_MATH;
  EXPECT_EQ(cublasGetMathMode(handle_, &math), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(math, CUBLAS_DEFAULT_MATH);
  EXPECT_EQ(cublasSetMathMode(handle_, CUBLAS_TF32_TENSOR_OP_MATH), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasGetMathMode(handle_, &math), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(math, CUBLAS_TF32_TENSOR_OP_MATH);
  const auto combined = static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH |
                                                  CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
  EXPECT_EQ(cublasSetMathMode(handle_, combined), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasSetMathMode(handle_, static_cast<cublasMath_t>(31)), CUBLAS_STATUS_INVALID_VALUE);
  cublasAtomicsMode_t atomics = CUBLAS_ATOMICS_NOT_ALLOWED;
  EXPECT_EQ(cublasSetAtomicsMode(handle_, CUBLAS_ATOMICS_ALLOWED), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasGetAtomicsMode(handle_, &atomics), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(atomics, CUBLAS_ATOMICS_ALLOWED);
  EXPECT_EQ(cublasGetAtomicsMode(handle_, nullptr), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(CublasTest, ANewStreamBringsTheDefaultWorkspaceBackAndMisalignedOnesAreRefused) {
  CUstream stream = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  const DeviceMemory workspace(kMebibyte);
  EXPECT_EQ(cublasSetWorkspace(handle_, workspace.as<void>(), kMebibyte), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasSetWorkspace(handle_, workspace.as<char>() + 16, 1024),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSetStream(handle_, stream), CUBLAS_STATUS_SUCCESS);
  cudaStream_t current = nullptr;
  EXPECT_EQ(cublasGetStream(handle_, &current), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(current, stream);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
}

TEST_F(CublasTest, AGemmIsOneKernelWithItsArgumentsWhenItsTurnComes) {
  SeenKernel gemm("cublas_gemm");
  const DeviceMemory a(4096);
  const DeviceMemory b(4096);
  const DeviceMemory c(4096);
  const float alpha = 2.5f;
  const float beta = 0;
  ASSERT_EQ(cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_T, 300, 200, 2, &alpha, a.as<float>(), 300,
                        b.as<float>(), 200, &beta, c.as<float>(), 300),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_TRUE(gemm.launches().empty()) << "work is deferred to the stream";
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  ASSERT_EQ(gemm.launches().size(), 1u);
  const auto& launch = gemm.launches()[0];
  EXPECT_EQ(launch.words[0], uint64_t{CUBLAS_OP_N});
  EXPECT_EQ(launch.words[1], uint64_t{CUBLAS_OP_T});
  EXPECT_EQ(launch.words[2], 300u);
  EXPECT_EQ(launch.words[3], 200u);
  EXPECT_EQ(launch.words[4], 2u);
  float seen_alpha = 0;
  memcpy(&seen_alpha, &launch.words[5], sizeof(seen_alpha));
  EXPECT_EQ(seen_alpha, alpha);
  EXPECT_EQ(launch.words[7], a.address());
  EXPECT_EQ(launch.grid[0], 3u);
  EXPECT_EQ(launch.grid[1], 2u);
}

TEST_F(CublasTest, WrongGemmArgumentsAreRefusedAndEmptyOnesDoNothing) {
  SeenKernel gemm("cublas_gemm");
  const DeviceMemory memory(4096);
  float* p = memory.as<float>();
  const float one = 1;
  const auto call = [&](int m, int n, int k, int lda, int ldb, int ldc, const float* alpha) {
    return cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, alpha, p, lda, p, ldb, &one, p,
                       ldc);
  };
  EXPECT_EQ(call(-1, 2, 2, 2, 2, 2, &one), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(call(4, 2, 2, 3, 2, 4, &one), CUBLAS_STATUS_INVALID_VALUE) << "lda < m";
  EXPECT_EQ(call(4, 2, 5, 4, 4, 4, &one), CUBLAS_STATUS_INVALID_VALUE) << "ldb < k";
  EXPECT_EQ(call(4, 2, 2, 4, 2, 3, &one), CUBLAS_STATUS_INVALID_VALUE) << "ldc < m";
  EXPECT_EQ(call(4, 2, 2, 4, 2, 4, nullptr), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(
      cublasGemmEx(handle_, CUBLAS_OP_CONJG, CUBLAS_OP_N, 1, 1, 1, &one, p, CUDA_R_32F, 1, p,
                   CUDA_R_32F, 1, &one, p, CUDA_R_32F, 1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
      CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, p, CUDA_R_32F, 1, p,
                         CUDA_R_32F, 1, &one, p, CUDA_R_32F, 1, static_cast<cublasComputeType_t>(1),
                         CUBLAS_GEMM_DEFAULT),
            CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(call(0, 2, 2, 2, 2, 2, &one), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_TRUE(gemm.launches().empty());
  EXPECT_EQ(call(2, 2, 0, 2, 2, 2, &one), CUBLAS_STATUS_SUCCESS) << "C is still scaled";
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(gemm.launches().size(), 1u);
}

// A test can replace the effect of a stand-in's kernel. Here the new effect differs from the
// kernel's own effect.
void ComputeTwiceTheDot(const vramstowSimulatorLaunch* launch) {
  const auto* words = static_cast<const uint64_t*>(launch->parameters[0]);
  const size_t n = words[0];
  const auto* x = static_cast<const float*>(vramstowSimulatorTranslate(words[1], 4 * n, 0));
  const auto* y = static_cast<const float*>(vramstowSimulatorTranslate(words[4], 4 * n, 0));
  auto* result = static_cast<float*>(vramstowSimulatorTranslate(words[7], 4, 1));
  *result = 0;
  for (size_t i = 0; i < n; ++i) {
    *result += 2 * x[i] * y[i];
  }
}

TEST_F(CublasTest, AResultOnTheHostIsWaitedFor) {
  const float values[] = {1, 2, 3, 4};
  const DeviceMemory x(sizeof(values));
  ASSERT_EQ(cublasSetVector(4, sizeof(float), values, 1, x.as<float>(), 1), CUBLAS_STATUS_SUCCESS);
  float result = -1;
  ASSERT_EQ(cublasSdot(handle_, 4, x.as<float>(), 1, x.as<float>(), 1, &result),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(result, 30);
  const size_t size = 256;
  ASSERT_EQ(vramstowSimulatorRegisterKernel("cublas_dot", ComputeTwiceTheDot, &size, 1, 0, nullptr),
            0);
  ASSERT_EQ(cublasSdot(handle_, 4, x.as<float>(), 1, x.as<float>(), 1, &result),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(result, 60);
  vramstowSimulatorRegisterKernel("cublas_dot", nullptr, nullptr, 0, 0, nullptr);
  result = -1;
  ASSERT_EQ(cublasSdot(handle_, 0, x.as<float>(), 1, x.as<float>(), 1, &result),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(result, 0);
}

TEST_F(CublasTest, InDevicePointerModeAResultStaysOnTheDevice) {
  SeenKernel dot("cublas_dot");
  const DeviceMemory x(64);
  const DeviceMemory result(64);
  ASSERT_EQ(cublasSetPointerMode(handle_, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasSdot(handle_, 4, x.as<float>(), 1, x.as<float>(), 1, result.as<float>()),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_TRUE(dot.launches().empty()) << "nothing is waited for";
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  ASSERT_EQ(dot.launches().size(), 1u);
  EXPECT_EQ(dot.launches()[0].words[7], result.address());
}

TEST_F(CublasTest, MatricesTravelWithTheirGaps) {
  const float from[] = {1, 2, 9, 3, 4, 9};  // 2 × 2 with a leading dimension of 3
  const DeviceMemory middle(64);
  ASSERT_EQ(cublasSetMatrix(2, 2, sizeof(float), from, 3, middle.as<float>(), 2),
            CUBLAS_STATUS_SUCCESS);
  float to[4] = {};
  ASSERT_EQ(cublasGetMatrix(2, 2, sizeof(float), middle.as<float>(), 2, to, 2),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(std::vector<float>(to, to + 4), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(cublasSetMatrix(2, 2, sizeof(float), from, 1, middle.as<float>(), 2),
            CUBLAS_STATUS_INVALID_VALUE);
  float every_second[2] = {};
  ASSERT_EQ(cublasGetVector(2, sizeof(float), middle.as<float>(), 2, every_second, 1),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(every_second[1], 3);
}

TEST_F(CublasTest, AGemmIsCapturedIntoAGraph) {
  SeenKernel gemm("cublas_gemm");
  CUstream stream = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(cublasSetStream(handle_, stream), CUBLAS_STATUS_SUCCESS);
  const DeviceMemory memory(4096);
  float* p = memory.as<float>();
  const float one = 1;
  ASSERT_EQ(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, p, 2, p, 2, &one, p, 2),
            CUBLAS_STATUS_SUCCESS);
  CUgraph graph = nullptr;
  ASSERT_EQ(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  size_t nodes = 0;
  ASSERT_EQ(cuGraphGetNodes(graph, nullptr, &nodes), CUDA_SUCCESS);
  EXPECT_EQ(nodes, 1u);
  EXPECT_TRUE(gemm.launches().empty());
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(cublasSetStream(handle_, nullptr), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
}

TEST_F(CublasTest, WhatIsNotSimulatedRefusesAndNamesItselfOnce) {
  auto create = reinterpret_cast<int (*)(void**)>(dlsym(RTLD_DEFAULT, "cublasXtCreate"));
  ASSERT_NE(create, nullptr);
  void* out = nullptr;
  testing::internal::CaptureStderr();
  EXPECT_EQ(create(&out), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(create(&out), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "vramstow simulator: cublasXtCreate is not part of the simulated cuBLAS; it returned "
            "CUBLAS_STATUS_NOT_SUPPORTED.\n");
  // This function belongs to the first version of cuBLAS's API and returns its result instead of a
  // status.
  auto old_dot = reinterpret_cast<float (*)(int, const float*, int, const float*, int)>(
      dlsym(RTLD_DEFAULT, "cublasSdot"));
  ASSERT_NE(old_dot, nullptr);
  testing::internal::CaptureStderr();
  EXPECT_EQ(old_dot(1, nullptr, 1, nullptr, 1), 0.0f);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("cublasSdot "), std::string::npos);
}

TEST_F(CublasTest, NamesItsStatusCodesAndItsVersion) {
  EXPECT_STREQ(cublasGetStatusName(CUBLAS_STATUS_ALLOC_FAILED), "CUBLAS_STATUS_ALLOC_FAILED");
  EXPECT_STRNE(cublasGetStatusString(CUBLAS_STATUS_ALLOC_FAILED), "");
  int version = 0;
  EXPECT_EQ(cublasGetVersion(handle_, &version), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(version / 10000, CUBLAS_VER_MAJOR);
  int major = 0;
  EXPECT_EQ(cublasGetProperty(MAJOR_VERSION, &major), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(major, version / 10000);
}

}  // namespace
}  // namespace vramstow
