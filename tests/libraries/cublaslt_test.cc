#include <cublasLt.h>
#include <cublas_v2.h>

#include "tests/libraries/device_fixture.h"

namespace vramstow {
namespace {

// A fixture for D (m × n) = A (m × k) × B (k × n) in column order, with all arguments of the call.
class CublasLtTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_EQ(cublasLtCreate(&handle_), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cublasLtMatmulDescCreate(&description_, CUBLAS_COMPUTE_32F, CUDA_R_32F),
              CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cublasLtMatmulPreferenceCreate(&preference_), CUBLAS_STATUS_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cublasLtMatmulPreferenceDestroy(preference_), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasLtMatmulDescDestroy(description_), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasLtDestroy(handle_), CUBLAS_STATUS_SUCCESS);
  }

  void Shape(uint64_t m, uint64_t n, uint64_t k) {
    ASSERT_EQ(cublasLtMatrixLayoutInit(&a_, CUDA_R_16BF, m, k, m), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cublasLtMatrixLayoutInit(&b_, CUDA_R_16BF, k, n, k), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cublasLtMatrixLayoutInit(&d_, CUDA_R_16BF, m, n, m), CUBLAS_STATUS_SUCCESS);
  }

  cublasStatus_t Heuristic(cublasLtHandle_t handle, cublasLtMatmulHeuristicResult_t* result) {
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle, description_, &a_, &b_, &d_, &d_, preference_, 1, result, &count);
    EXPECT_EQ(count, status == CUBLAS_STATUS_SUCCESS ? 1 : 0);
    return status;
  }

  void AllowWorkspace(size_t bytes) {
    ASSERT_EQ(cublasLtMatmulPreferenceSetAttribute(
                  preference_, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof(bytes)),
              CUBLAS_STATUS_SUCCESS);
  }

  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t description_ = nullptr;
  cublasLtMatmulPreference_t preference_ = nullptr;
  cublasLtMatrixLayoutOpaque_t a_ = {};
  cublasLtMatrixLayoutOpaque_t b_ = {};
  cublasLtMatrixLayoutOpaque_t d_ = {};
};

TEST_F(CublasLtTest, GivesAttributesBackAndRefusesWrongSizes) {
  const int32_t transposed = CUBLAS_OP_T;
  ASSERT_EQ(cublasLtMatmulDescSetAttribute(description_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                           sizeof(transposed)),
            CUBLAS_STATUS_SUCCESS);
  int32_t answer = -1;
  size_t written = 0;
  ASSERT_EQ(cublasLtMatmulDescGetAttribute(description_, CUBLASLT_MATMUL_DESC_TRANSA, &answer,
                                           sizeof(answer), &written),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(answer, CUBLAS_OP_T);
  EXPECT_EQ(written, sizeof(answer));
  EXPECT_EQ(cublasLtMatmulDescGetAttribute(description_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, nullptr,
                                           0, &written),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(written, sizeof(void*));
  const int64_t wide = 1;
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(description_, CUBLASLT_MATMUL_DESC_TRANSA, &wide,
                                           sizeof(wide)),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(
                description_, static_cast<cublasLtMatmulDescAttributes_t>(63), &wide, sizeof(wide)),
            CUBLAS_STATUS_INVALID_VALUE);
  uint32_t alignment = 0;
  ASSERT_EQ(
      cublasLtMatmulPreferenceGetAttribute(preference_, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                                           &alignment, sizeof(alignment), nullptr),
      CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(alignment, 256u);
}

TEST_F(CublasLtTest, TheHeuristicNeverWantsMoreWorkspaceThanAllowed) {
  Shape(64, 64, 8192);
  cublasLtMatmulHeuristicResult_t result = {};
  ASSERT_EQ(Heuristic(handle_, &result), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(result.workspaceSize, 0u);
  AllowWorkspace(1 << 20);
  ASSERT_EQ(Heuristic(handle_, &result), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(result.state, CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(result.workspaceSize, 64 * 64 * 2 * sizeof(float));
  AllowWorkspace(1024);
  ASSERT_EQ(Heuristic(handle_, &result), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(result.workspaceSize, 0u);
}

TEST_F(CublasLtTest, ShapesThatDoNotFitAreRefused) {
  Shape(8, 4, 2);
  ASSERT_EQ(cublasLtMatrixLayoutInit(&b_, CUDA_R_16BF, 3, 4, 3), CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulHeuristicResult_t result = {};
  EXPECT_EQ(Heuristic(handle_, &result), CUBLAS_STATUS_INVALID_VALUE);
  Shape(8, 4, 2);
  ASSERT_EQ(cublasLtMatrixLayoutInit(&a_, CUDA_R_16BF, 8, 2, 7), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(Heuristic(handle_, &result), CUBLAS_STATUS_INVALID_VALUE) << "leading dimension";
  EXPECT_EQ(Heuristic(nullptr, &result), CUBLAS_STATUS_NOT_INITIALIZED);
}

TEST_F(CublasLtTest, AMatmulIsOneKernelOnItsStream) {
  SeenKernel matmul("cublaslt_matmul");
  Shape(8, 4, 2);
  const DeviceMemory memory(4096);
  void* p = memory.as<void>();
  const float one = 1;
  cublasLtMatmulHeuristicResult_t result = {};
  ASSERT_EQ(Heuristic(handle_, &result), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasLtMatmul(handle_, description_, &one, p, &a_, p, &b_, &one, p, &d_, p, &d_,
                           &result.algo, nullptr, 0, nullptr),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_TRUE(matmul.launches().empty());
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  ASSERT_EQ(matmul.launches().size(), 1u);
  EXPECT_EQ(matmul.launches()[0].words[8], memory.address());
  EXPECT_EQ(cublasLtMatmul(handle_, description_, nullptr, p, &a_, p, &b_, &one, p, &d_, p, &d_,
                           &result.algo, nullptr, 0, nullptr),
            CUBLAS_STATUS_INVALID_VALUE);
  cublasLtMatmulAlgo_t never_initialised = {};
  EXPECT_EQ(cublasLtMatmul(handle_, description_, &one, p, &a_, p, &b_, &one, p, &d_, p, &d_,
                           &never_initialised, nullptr, 0, nullptr),
            CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(CublasLtTest, AnAlgorithmThatNeedsWorkspaceIsRefusedWithoutIt) {
  Shape(64, 64, 8192);
  AllowWorkspace(1 << 20);
  cublasLtMatmulHeuristicResult_t result = {};
  ASSERT_EQ(Heuristic(handle_, &result), CUBLAS_STATUS_SUCCESS);
  const DeviceMemory memory(4 << 20);
  void* p = memory.as<void>();
  const float one = 1;
  EXPECT_EQ(cublasLtMatmul(handle_, description_, &one, p, &a_, p, &b_, &one, p, &d_, p, &d_,
                           &result.algo, nullptr, 0, nullptr),
            CUBLAS_STATUS_INVALID_VALUE);
  cublasLtMatmulHeuristicResult_t checked = {};
  ASSERT_EQ(
      cublasLtMatmulAlgoCheck(handle_, description_, &a_, &b_, &d_, &d_, &result.algo, &checked),
      CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(checked.workspaceSize, result.workspaceSize);
}

TEST_F(CublasLtTest, ACublasHandleServesAsItsHandle) {
  cublasHandle_t cublas = nullptr;
  ASSERT_EQ(cublasCreate(&cublas), CUBLAS_STATUS_SUCCESS);
  Shape(8, 4, 2);
  cublasLtMatmulHeuristicResult_t result = {};
  EXPECT_EQ(Heuristic(reinterpret_cast<cublasLtHandle_t>(cublas), &result), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasDestroy(cublas), CUBLAS_STATUS_SUCCESS);
}

}  // namespace
}  // namespace vramstow
