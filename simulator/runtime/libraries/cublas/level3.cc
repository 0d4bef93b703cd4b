// BLAS level 3 beside GEMM, and the two extensions of the same shape (geam, dgmm).
#include "simulator/runtime/libraries/cublas/call.h"
#include "simulator/runtime/libraries/cublas/widths.h"

// Macro arguments are types here, which cannot be put in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)

using vramstow::simulator::Call;
using vramstow::simulator::kDataType;

#define FOR_REAL_TYPES(DEFINE_AS, stem, ...)                \
  BOTH_WIDTHS(DEFINE_AS, cublasS##stem, __VA_ARGS__, float) \
  BOTH_WIDTHS(DEFINE_AS, cublasD##stem, __VA_ARGS__, double)
#define FOR_COMPLEX_TYPES(DEFINE_AS, stem, ...)                 \
  BOTH_WIDTHS(DEFINE_AS, cublasC##stem, __VA_ARGS__, cuComplex) \
  BOTH_WIDTHS(DEFINE_AS, cublasZ##stem, __VA_ARGS__, cuDoubleComplex)

// A symmetric or Hermitian matrix times a general one.
#define SYMM(name, Index, kernel, T)                                                       \
  cublasStatus_t name(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, \
                      Index m, Index n, const T* alpha, const T* A, Index lda, const T* B, \
                      Index ldb, const T* beta, T* C, Index ldc) {                         \
    return Call(handle, kernel)                                                            \
        .Side(side)                                                                        \
        .Fill(uplo)                                                                        \
        .Extent(m)                                                                         \
        .Extent(n)                                                                         \
        .Scalar(alpha, kDataType<T>)                                                       \
        .Array(A)                                                                          \
        .Leading(lda, side == CUBLAS_SIDE_LEFT ? m : n)                                    \
        .Array(B)                                                                          \
        .Leading(ldb, m)                                                                   \
        .Scalar(beta, kDataType<T>)                                                        \
        .Array(C)                                                                          \
        .Leading(ldc, m)                                                                   \
        .Type(kDataType<T>)                                                                \
        .Spread(m, n)                                                                      \
        .Launch();                                                                         \
  }
FOR_REAL_TYPES(SYMM, symm_v2, "cublas_symm")
FOR_COMPLEX_TYPES(SYMM, symm_v2, "cublas_symm")
FOR_COMPLEX_TYPES(SYMM, hemm_v2, "cublas_symm")

// A matrix times its own transpose. The Hermitian form has real scalars.
#define SYRK_SCALED(name, Index, T, Scale)                                                   \
  cublasStatus_t name(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, \
                      Index n, Index k, const Scale* alpha, const T* A, Index lda,           \
                      const Scale* beta, T* C, Index ldc) {                                  \
    return Call(handle, "cublas_syrk")                                                       \
        .Fill(uplo)                                                                          \
        .Operation(trans)                                                                    \
        .Extent(n)                                                                           \
        .Inner(k)                                                                            \
        .Scalar(alpha, kDataType<Scale>)                                                     \
        .Array(A)                                                                            \
        .Leading(lda, trans == CUBLAS_OP_N ? n : k)                                          \
        .Scalar(beta, kDataType<Scale>)                                                      \
        .Array(C)                                                                            \
        .Leading(ldc, n)                                                                     \
        .Type(kDataType<T>)                                                                  \
        .Spread(n, n)                                                                        \
        .Launch();                                                                           \
  }
BOTH_WIDTHS(SYRK_SCALED, cublasSsyrk_v2, float, float)
BOTH_WIDTHS(SYRK_SCALED, cublasDsyrk_v2, double, double)
BOTH_WIDTHS(SYRK_SCALED, cublasCsyrk_v2, cuComplex, cuComplex)
BOTH_WIDTHS(SYRK_SCALED, cublasZsyrk_v2, cuDoubleComplex, cuDoubleComplex)
BOTH_WIDTHS(SYRK_SCALED, cublasCherk_v2, cuComplex, float)
BOTH_WIDTHS(SYRK_SCALED, cublasZherk_v2, cuDoubleComplex, double)

// The same with two matrices (syr2k, her2k), and the form whose product is known to be symmetric
// (syrkx, herkx).
#define SYR2K_SCALED(name, Index, T, Scale)                                                  \
  cublasStatus_t name(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, \
                      Index n, Index k, const T* alpha, const T* A, Index lda, const T* B,   \
                      Index ldb, const Scale* beta, T* C, Index ldc) {                       \
    return Call(handle, "cublas_syr2k")                                                      \
        .Fill(uplo)                                                                          \
        .Operation(trans)                                                                    \
        .Extent(n)                                                                           \
        .Inner(k)                                                                            \
        .Scalar(alpha, kDataType<T>)                                                         \
        .Array(A)                                                                            \
        .Leading(lda, trans == CUBLAS_OP_N ? n : k)                                          \
        .Array(B)                                                                            \
        .Leading(ldb, trans == CUBLAS_OP_N ? n : k)                                          \
        .Scalar(beta, kDataType<Scale>)                                                      \
        .Array(C)                                                                            \
        .Leading(ldc, n)                                                                     \
        .Type(kDataType<T>)                                                                  \
        .Spread(n, n)                                                                        \
        .Launch();                                                                           \
  }
BOTH_WIDTHS(SYR2K_SCALED, cublasSsyr2k_v2, float, float)
BOTH_WIDTHS(SYR2K_SCALED, cublasDsyr2k_v2, double, double)
BOTH_WIDTHS(SYR2K_SCALED, cublasCsyr2k_v2, cuComplex, cuComplex)
BOTH_WIDTHS(SYR2K_SCALED, cublasZsyr2k_v2, cuDoubleComplex, cuDoubleComplex)
BOTH_WIDTHS(SYR2K_SCALED, cublasCher2k_v2, cuComplex, float)
BOTH_WIDTHS(SYR2K_SCALED, cublasZher2k_v2, cuDoubleComplex, double)
BOTH_WIDTHS(SYR2K_SCALED, cublasSsyrkx, float, float)
BOTH_WIDTHS(SYR2K_SCALED, cublasDsyrkx, double, double)
BOTH_WIDTHS(SYR2K_SCALED, cublasCsyrkx, cuComplex, cuComplex)
BOTH_WIDTHS(SYR2K_SCALED, cublasZsyrkx, cuDoubleComplex, cuDoubleComplex)
BOTH_WIDTHS(SYR2K_SCALED, cublasCherkx, cuComplex, float)
BOTH_WIDTHS(SYR2K_SCALED, cublasZherkx, cuDoubleComplex, double)

// A triangular matrix times a general one, with the result in a third.
#define TRMM(name, Index, kernel, T)                                                       \
  cublasStatus_t name(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, \
                      cublasOperation_t trans, cublasDiagType_t diag, Index m, Index n,    \
                      const T* alpha, const T* A, Index lda, const T* B, Index ldb, T* C,  \
                      Index ldc) {                                                         \
    return Call(handle, kernel)                                                            \
        .Side(side)                                                                        \
        .Fill(uplo)                                                                        \
        .Operation(trans)                                                                  \
        .Diagonal(diag)                                                                    \
        .Extent(m)                                                                         \
        .Extent(n)                                                                         \
        .Scalar(alpha, kDataType<T>)                                                       \
        .Array(A)                                                                          \
        .Leading(lda, side == CUBLAS_SIDE_LEFT ? m : n)                                    \
        .Array(B)                                                                          \
        .Leading(ldb, m)                                                                   \
        .Array(C)                                                                          \
        .Leading(ldc, m)                                                                   \
        .Type(kDataType<T>)                                                                \
        .Spread(m, n)                                                                      \
        .Launch();                                                                         \
  }
FOR_REAL_TYPES(TRMM, trmm_v2, "cublas_trmm")
FOR_COMPLEX_TYPES(TRMM, trmm_v2, "cublas_trmm")

// A triangular system, solved in place.
#define TRSM(name, Index, kernel, T)                                                       \
  cublasStatus_t name(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, \
                      cublasOperation_t trans, cublasDiagType_t diag, Index m, Index n,    \
                      const T* alpha, const T* A, Index lda, T* B, Index ldb) {            \
    return Call(handle, kernel)                                                            \
        .Side(side)                                                                        \
        .Fill(uplo)                                                                        \
        .Operation(trans)                                                                  \
        .Diagonal(diag)                                                                    \
        .Extent(m)                                                                         \
        .Extent(n)                                                                         \
        .Scalar(alpha, kDataType<T>)                                                       \
        .Array(A)                                                                          \
        .Leading(lda, side == CUBLAS_SIDE_LEFT ? m : n)                                    \
        .Array(B)                                                                          \
        .Leading(ldb, m)                                                                   \
        .Type(kDataType<T>)                                                                \
        .Spread(m, n)                                                                      \
        .Launch();                                                                         \
  }
FOR_REAL_TYPES(TRSM, trsm_v2, "cublas_trsm")
FOR_COMPLEX_TYPES(TRSM, trsm_v2, "cublas_trsm")

#define TRSM_BATCHED(name, Index, kernel, T)                                                  \
  cublasStatus_t name(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,    \
                      cublasOperation_t trans, cublasDiagType_t diag, Index m, Index n,       \
                      const T* alpha, const T* const A[], Index lda, T* const B[], Index ldb, \
                      Index batchCount) {                                                     \
    return Call(handle, kernel)                                                               \
        .Side(side)                                                                           \
        .Fill(uplo)                                                                           \
        .Operation(trans)                                                                     \
        .Diagonal(diag)                                                                       \
        .Extent(m)                                                                            \
        .Extent(n)                                                                            \
        .Scalar(alpha, kDataType<T>)                                                          \
        .Array(A)                                                                             \
        .Leading(lda, side == CUBLAS_SIDE_LEFT ? m : n)                                       \
        .Array(B)                                                                             \
        .Leading(ldb, m)                                                                      \
        .Extent(batchCount)                                                                   \
        .Type(kDataType<T>)                                                                   \
        .Spread(m, n, batchCount)                                                             \
        .Launch();                                                                            \
  }
FOR_REAL_TYPES(TRSM_BATCHED, trsmBatched, "cublas_trsm_batched")
FOR_COMPLEX_TYPES(TRSM_BATCHED, trsmBatched, "cublas_trsm_batched")

// The sum of two matrices, each optionally transposed.
#define GEAM(name, Index, kernel, T)                                                             \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, \
                      Index m, Index n, const T* alpha, const T* A, Index lda, const T* beta,    \
                      const T* B, Index ldb, T* C, Index ldc) {                                  \
    return Call(handle, kernel)                                                                  \
        .Operation(transa)                                                                       \
        .Operation(transb)                                                                       \
        .Extent(m)                                                                               \
        .Extent(n)                                                                               \
        .Scalar(alpha, kDataType<T>)                                                             \
        .Array(A)                                                                                \
        .Leading(lda, transa == CUBLAS_OP_N ? m : n)                                             \
        .Scalar(beta, kDataType<T>)                                                              \
        .Array(B)                                                                                \
        .Leading(ldb, transb == CUBLAS_OP_N ? m : n)                                             \
        .Array(C)                                                                                \
        .Leading(ldc, m)                                                                         \
        .Type(kDataType<T>)                                                                      \
        .Spread(m, n)                                                                            \
        .Launch();                                                                               \
  }
FOR_REAL_TYPES(GEAM, geam, "cublas_geam")
FOR_COMPLEX_TYPES(GEAM, geam, "cublas_geam")

// A matrix times a diagonal one.
#define DGMM(name, Index, kernel, T)                                                              \
  cublasStatus_t name(cublasHandle_t handle, cublasSideMode_t mode, Index m, Index n, const T* A, \
                      Index lda, const T* x, Index incx, T* C, Index ldc) {                       \
    return Call(handle, kernel)                                                                   \
        .Side(mode)                                                                               \
        .Extent(m)                                                                                \
        .Extent(n)                                                                                \
        .Array(A)                                                                                 \
        .Leading(lda, m)                                                                          \
        .Array(x)                                                                                 \
        .Number(incx)                                                                             \
        .Array(C)                                                                                 \
        .Leading(ldc, m)                                                                          \
        .Type(kDataType<T>)                                                                       \
        .Spread(m, n)                                                                             \
        .Launch();                                                                                \
  }
FOR_REAL_TYPES(DGMM, dgmm, "cublas_dgmm")
FOR_COMPLEX_TYPES(DGMM, dgmm, "cublas_dgmm")

// NOLINTEND(bugprone-macro-parentheses)
