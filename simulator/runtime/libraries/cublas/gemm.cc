// Implements the GEMM family: plain, batched, strided and grouped, for every type and for 32- and
// 64-bit sizes.
#include <algorithm>

#include "simulator/runtime/libraries/cublas/cublas_call.h"
#include "simulator/runtime/libraries/cublas/widths.h"

// Macro arguments are types here, which cannot be put in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)

namespace vramstow::simulator {
namespace {

// The arguments that all GEMM functions share, as 64-bit integers.
struct Gemm {
  cublasOperation_t transa;
  cublasOperation_t transb;
  int64_t m;
  int64_t n;
  int64_t k;
  const void* alpha;
  const void* a;
  cudaDataType a_type;
  int64_t lda;
  const void* b;
  cudaDataType b_type;
  int64_t ldb;
  const void* beta;
  void* c;
  cudaDataType c_type;
  int64_t ldc;
  cudaDataType scalar_type;
  // Distance in elements between two consecutive matrices of a batch; 0 if the caller gives the
  // address of each matrix.
  int64_t stride_a = 0;
  int64_t stride_b = 0;
  int64_t stride_c = 0;
  int64_t batch = 1;
};

// Returns the type of alpha and beta for a compute type; CUDA_R_8I means that there is no such
// compute type.
cudaDataType ScalarType(cublasComputeType_t compute, cudaDataType c_type) {
  const bool is_complex = c_type == CUDA_C_32F || c_type == CUDA_C_64F;
  switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return CUDA_R_16F;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
    case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
      return is_complex ? CUDA_C_32F : CUDA_R_32F;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
    case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
      return is_complex ? CUDA_C_64F : CUDA_R_64F;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return CUDA_R_32I;
  }
  return CUDA_R_8I;
}

cublasStatus_t Run(cublasHandle_t handle, const char* kernel, const Gemm& gemm) {
  return Call(handle, kernel)
      .Operation(gemm.transa)
      .Operation(gemm.transb)
      .Extent(gemm.m)
      .Extent(gemm.n)
      .Inner(gemm.k)
      .Require(gemm.scalar_type != CUDA_R_8I, CUBLAS_STATUS_NOT_SUPPORTED)
      .Scalar(gemm.alpha, gemm.scalar_type)
      .Array(gemm.a)
      .Type(gemm.a_type)
      .Leading(gemm.lda, gemm.transa == CUBLAS_OP_N ? gemm.m : gemm.k)
      .Stride(gemm.stride_a)
      .Array(gemm.b)
      .Type(gemm.b_type)
      .Leading(gemm.ldb, gemm.transb == CUBLAS_OP_N ? gemm.k : gemm.n)
      .Stride(gemm.stride_b)
      .Scalar(gemm.beta, gemm.scalar_type)
      .Array(gemm.c)
      .Type(gemm.c_type)
      .Leading(gemm.ldc, gemm.m)
      .Stride(gemm.stride_c)
      .Extent(gemm.batch)
      .Number(gemm.scalar_type)
      .Spread(gemm.m, gemm.n, gemm.batch)
      .Launch();
}

// Runs groups of GEMMs, each with its own sizes, as one kernel, as on a GPU.
template <typename Index>
cublasStatus_t RunGrouped(cublasHandle_t handle, const cublasOperation_t* transa,
                          const cublasOperation_t* transb, const Index* m, const Index* n,
                          const Index* k, const void* a, const Index* lda, const void* b,
                          const Index* ldb, void* c, const Index* ldc, Index group_count,
                          const Index* group_size) {
  Call call(handle, "cublas_gemm_grouped");
  call.Extent(group_count).Array(a).Array(b).Array(c);
  call.Require(group_count == 0 ||
               (transa && transb && m && n && k && lda && ldb && ldc && group_size));
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t batch = 0;
  for (Index i = 0;
       i < group_count && group_size != nullptr && m != nullptr && n != nullptr && k != nullptr &&
       lda != nullptr && ldb != nullptr && ldc != nullptr && transa != nullptr && transb != nullptr;
       ++i) {
    call.Require(m[i] >= 0 && n[i] >= 0 && k[i] >= 0 && group_size[i] >= 0);
    call.Require(lda[i] >= std::max<Index>(1, transa[i] == CUBLAS_OP_N ? m[i] : k[i]));
    call.Require(ldb[i] >= std::max<Index>(1, transb[i] == CUBLAS_OP_N ? k[i] : n[i]));
    call.Require(ldc[i] >= std::max<Index>(1, m[i]));
    rows = std::max<int64_t>(rows, m[i]);
    columns = std::max<int64_t>(columns, n[i]);
    batch += group_size[i];
  }
  return call.Spread(rows, columns, batch).Launch();
}

}  // namespace
}  // namespace vramstow::simulator

using vramstow::simulator::kDataType;
using vramstow::simulator::Run;
using vramstow::simulator::RunGrouped;
using vramstow::simulator::ScalarType;

#define GEMM(name, Index, T)                                                                      \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,  \
                      Index m, Index n, Index k, const T* alpha, const T* A, Index lda,           \
                      const T* B, Index ldb, const T* beta, T* C, Index ldc) {                    \
    return Run(handle, "cublas_gemm",                                                             \
               {transa, transb, m, n, k, alpha, A, kDataType<T>, lda, B, kDataType<T>, ldb, beta, \
                C, kDataType<T>, ldc, kDataType<T>});                                             \
  }
BOTH_WIDTHS(GEMM, cublasSgemm_v2, float)
BOTH_WIDTHS(GEMM, cublasDgemm_v2, double)
BOTH_WIDTHS(GEMM, cublasCgemm_v2, cuComplex)
BOTH_WIDTHS(GEMM, cublasZgemm_v2, cuDoubleComplex)
BOTH_WIDTHS(GEMM, cublasCgemm3m, cuComplex)
BOTH_WIDTHS(GEMM, cublasZgemm3m, cuDoubleComplex)
BOTH_WIDTHS(GEMM, cublasHgemm, __half)

#define GEMM_MIXED(name, Index, T)                                                                 \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,   \
                      Index m, Index n, Index k, const T* alpha, const void* A,                    \
                      cudaDataType Atype, Index lda, const void* B, cudaDataType Btype, Index ldb, \
                      const T* beta, void* C, cudaDataType Ctype, Index ldc) {                     \
    return Run(handle, "cublas_gemm",                                                              \
               {transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype, ldc, \
                kDataType<T>});                                                                    \
  }
BOTH_WIDTHS(GEMM_MIXED, cublasSgemmEx, float)
BOTH_WIDTHS(GEMM_MIXED, cublasCgemmEx, cuComplex)
BOTH_WIDTHS(GEMM_MIXED, cublasCgemm3mEx, cuComplex)

#define GEMM_EX(name, Index, ...)                                                                  \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,   \
                      Index m, Index n, Index k, const void* alpha, const void* A,                 \
                      cudaDataType Atype, Index lda, const void* B, cudaDataType Btype, Index ldb, \
                      const void* beta, void* C, cudaDataType Ctype, Index ldc,                    \
                      cublasComputeType_t computeType, cublasGemmAlgo_t) {                         \
    return Run(handle, "cublas_gemm",                                                              \
               {transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype, ldc, \
                ScalarType(computeType, Ctype)});                                                  \
  }
BOTH_WIDTHS(GEMM_EX, cublasGemmEx)

#define GEMM_BATCHED(name, Index, T)                                                             \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, \
                      Index m, Index n, Index k, const T* alpha, const T* const Aarray[],        \
                      Index lda, const T* const Barray[], Index ldb, const T* beta,              \
                      T* const Carray[], Index ldc, Index batchCount) {                          \
    return Run(handle, "cublas_gemm_batched",                                                    \
               {transa,                                                                          \
                transb,                                                                          \
                m,                                                                               \
                n,                                                                               \
                k,                                                                               \
                alpha,                                                                           \
                Aarray,                                                                          \
                kDataType<T>,                                                                    \
                lda,                                                                             \
                Barray,                                                                          \
                kDataType<T>,                                                                    \
                ldb,                                                                             \
                beta,                                                                            \
                const_cast<T**>(Carray),                                                         \
                kDataType<T>,                                                                    \
                ldc,                                                                             \
                kDataType<T>,                                                                    \
                0,                                                                               \
                0,                                                                               \
                0,                                                                               \
                batchCount});                                                                    \
  }
BOTH_WIDTHS(GEMM_BATCHED, cublasSgemmBatched, float)
BOTH_WIDTHS(GEMM_BATCHED, cublasDgemmBatched, double)
BOTH_WIDTHS(GEMM_BATCHED, cublasCgemmBatched, cuComplex)
BOTH_WIDTHS(GEMM_BATCHED, cublasZgemmBatched, cuDoubleComplex)
BOTH_WIDTHS(GEMM_BATCHED, cublasCgemm3mBatched, cuComplex)
BOTH_WIDTHS(GEMM_BATCHED, cublasHgemmBatched, __half)

#define GEMM_BATCHED_EX(name, Index, ...)                                                        \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, \
                      Index m, Index n, Index k, const void* alpha, const void* const Aarray[],  \
                      cudaDataType Atype, Index lda, const void* const Barray[],                 \
                      cudaDataType Btype, Index ldb, const void* beta, void* const Carray[],     \
                      cudaDataType Ctype, Index ldc, Index batchCount,                           \
                      cublasComputeType_t computeType, cublasGemmAlgo_t) {                       \
    return Run(handle, "cublas_gemm_batched",                                                    \
               {transa,                                                                          \
                transb,                                                                          \
                m,                                                                               \
                n,                                                                               \
                k,                                                                               \
                alpha,                                                                           \
                Aarray,                                                                          \
                Atype,                                                                           \
                lda,                                                                             \
                Barray,                                                                          \
                Btype,                                                                           \
                ldb,                                                                             \
                beta,                                                                            \
                const_cast<void**>(Carray),                                                      \
                Ctype,                                                                           \
                ldc,                                                                             \
                ScalarType(computeType, Ctype),                                                  \
                0,                                                                               \
                0,                                                                               \
                0,                                                                               \
                batchCount});                                                                    \
  }
BOTH_WIDTHS(GEMM_BATCHED_EX, cublasGemmBatchedEx)

#define GEMM_STRIDED(name, Index, T)                                                              \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,  \
                      Index m, Index n, Index k, const T* alpha, const T* A, Index lda,           \
                      long long strideA, const T* B, Index ldb, long long strideB, const T* beta, \
                      T* C, Index ldc, long long strideC, Index batchCount) {                     \
    return Run(                                                                                   \
        handle, "cublas_gemm_strided_batched",                                                    \
        {transa,  transb,       m,         n,    k, alpha,        A,   kDataType<T>, lda,         \
         B,       kDataType<T>, ldb,       beta, C, kDataType<T>, ldc, kDataType<T>, strideA,     \
         strideB, strideC,      batchCount});                                                     \
  }
BOTH_WIDTHS(GEMM_STRIDED, cublasSgemmStridedBatched, float)
BOTH_WIDTHS(GEMM_STRIDED, cublasDgemmStridedBatched, double)
BOTH_WIDTHS(GEMM_STRIDED, cublasCgemmStridedBatched, cuComplex)
BOTH_WIDTHS(GEMM_STRIDED, cublasZgemmStridedBatched, cuDoubleComplex)
BOTH_WIDTHS(GEMM_STRIDED, cublasCgemm3mStridedBatched, cuComplex)
BOTH_WIDTHS(GEMM_STRIDED, cublasHgemmStridedBatched, __half)

#define GEMM_STRIDED_EX(name, Index, ...)                                                          \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,   \
                      Index m, Index n, Index k, const void* alpha, const void* A,                 \
                      cudaDataType Atype, Index lda, long long strideA, const void* B,             \
                      cudaDataType Btype, Index ldb, long long strideB, const void* beta, void* C, \
                      cudaDataType Ctype, Index ldc, long long strideC, Index batchCount,          \
                      cublasComputeType_t computeType, cublasGemmAlgo_t) {                         \
    return Run(handle, "cublas_gemm_strided_batched",                                              \
               {transa,                                                                            \
                transb,                                                                            \
                m,                                                                                 \
                n,                                                                                 \
                k,                                                                                 \
                alpha,                                                                             \
                A,                                                                                 \
                Atype,                                                                             \
                lda,                                                                               \
                B,                                                                                 \
                Btype,                                                                             \
                ldb,                                                                               \
                beta,                                                                              \
                C,                                                                                 \
                Ctype,                                                                             \
                ldc,                                                                               \
                ScalarType(computeType, Ctype),                                                    \
                strideA,                                                                           \
                strideB,                                                                           \
                strideC,                                                                           \
                batchCount});                                                                      \
  }
BOTH_WIDTHS(GEMM_STRIDED_EX, cublasGemmStridedBatchedEx)

#define GEMM_GROUPED(name, Index, T)                                                             \
  cublasStatus_t name(cublasHandle_t handle, const cublasOperation_t transa_array[],             \
                      const cublasOperation_t transb_array[], const Index m_array[],             \
                      const Index n_array[], const Index k_array[], const T[],                   \
                      const T* const Aarray[], const Index lda_array[], const T* const Barray[], \
                      const Index ldb_array[], const T[], T* const Carray[],                     \
                      const Index ldc_array[], Index group_count, const Index group_size[]) {    \
    return RunGrouped<Index>(handle, transa_array, transb_array, m_array, n_array, k_array,      \
                             Aarray, lda_array, Barray, ldb_array, const_cast<T**>(Carray),      \
                             ldc_array, group_count, group_size);                                \
  }
BOTH_WIDTHS(GEMM_GROUPED, cublasSgemmGroupedBatched, float)
BOTH_WIDTHS(GEMM_GROUPED, cublasDgemmGroupedBatched, double)

#define GEMM_GROUPED_EX(name, Index, ...)                                                         \
  cublasStatus_t name(cublasHandle_t handle, const cublasOperation_t transa_array[],              \
                      const cublasOperation_t transb_array[], const Index m_array[],              \
                      const Index n_array[], const Index k_array[], const void*,                  \
                      const void* const Aarray[], cudaDataType_t, const Index lda_array[],        \
                      const void* const Barray[], cudaDataType_t, const Index ldb_array[],        \
                      const void*, void* const Carray[], cudaDataType_t, const Index ldc_array[], \
                      Index group_count, const Index group_size[], cublasComputeType_t) {         \
    return RunGrouped<Index>(handle, transa_array, transb_array, m_array, n_array, k_array,       \
                             Aarray, lda_array, Barray, ldb_array, const_cast<void**>(Carray),    \
                             ldc_array, group_count, group_size);                                 \
  }
BOTH_WIDTHS(GEMM_GROUPED_EX, cublasGemmGroupedBatchedEx)

// NOLINTEND(bugprone-macro-parentheses)
