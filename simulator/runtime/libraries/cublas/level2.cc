// BLAS level 2: a matrix and vectors.
#include "simulator/runtime/libraries/cublas/call.h"
#include "simulator/runtime/libraries/cublas/widths.h"

// Macro arguments are types here, which cannot be put in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)

using vramstow::simulator::Call;
using vramstow::simulator::kDataType;

#define FOR_REAL_TYPES(DEFINE_AS, stem)        \
  BOTH_WIDTHS(DEFINE_AS, cublasS##stem, float) \
  BOTH_WIDTHS(DEFINE_AS, cublasD##stem, double)
#define FOR_COMPLEX_TYPES(DEFINE_AS, stem)         \
  BOTH_WIDTHS(DEFINE_AS, cublasC##stem, cuComplex) \
  BOTH_WIDTHS(DEFINE_AS, cublasZ##stem, cuDoubleComplex)

#define GEMV(name, Index, T)                                                            \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t trans, Index m, Index n, \
                      const T* alpha, const T* A, Index lda, const T* x, Index incx,    \
                      const T* beta, T* y, Index incy) {                                \
    return Call(handle, "cublas_gemv")                                                  \
        .Operation(trans)                                                               \
        .Extent(m)                                                                      \
        .Extent(n)                                                                      \
        .Scalar(alpha, kDataType<T>)                                                    \
        .Array(A)                                                                       \
        .Leading(lda, m)                                                                \
        .Array(x)                                                                       \
        .Increment(incx)                                                                \
        .Scalar(beta, kDataType<T>)                                                     \
        .Array(y)                                                                       \
        .Increment(incy)                                                                \
        .Type(kDataType<T>)                                                             \
        .Spread(trans == CUBLAS_OP_N ? m : n, 1)                                        \
        .Launch();                                                                      \
  }
FOR_REAL_TYPES(GEMV, gemv_v2)
FOR_COMPLEX_TYPES(GEMV, gemv_v2)

#define GEMV_BATCHED_TYPED(name, Index, In, Out, Scale)                                 \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t trans, Index m, Index n, \
                      const Scale* alpha, const In* const Aarray[], Index lda,          \
                      const In* const xarray[], Index incx, const Scale* beta,          \
                      Out* const yarray[], Index incy, Index batchCount) {              \
    return Call(handle, "cublas_gemv_batched")                                          \
        .Operation(trans)                                                               \
        .Extent(m)                                                                      \
        .Extent(n)                                                                      \
        .Scalar(alpha, kDataType<Scale>)                                                \
        .Array(Aarray)                                                                  \
        .Leading(lda, m)                                                                \
        .Array(xarray)                                                                  \
        .Increment(incx)                                                                \
        .Scalar(beta, kDataType<Scale>)                                                 \
        .Array(yarray)                                                                  \
        .Increment(incy)                                                                \
        .Extent(batchCount)                                                             \
        .Type(kDataType<In>)                                                            \
        .Type(kDataType<Out>)                                                           \
        .Spread(trans == CUBLAS_OP_N ? m : n, 1, batchCount)                            \
        .Launch();                                                                      \
  }
#define GEMV_BATCHED(name, Index, T) GEMV_BATCHED_TYPED(name, Index, T, T, T)
FOR_REAL_TYPES(GEMV_BATCHED, gemvBatched)
FOR_COMPLEX_TYPES(GEMV_BATCHED, gemvBatched)
BOTH_WIDTHS(GEMV_BATCHED_TYPED, cublasHSHgemvBatched, __half, __half, float)
BOTH_WIDTHS(GEMV_BATCHED_TYPED, cublasHSSgemvBatched, __half, float, float)
BOTH_WIDTHS(GEMV_BATCHED_TYPED, cublasTSTgemvBatched, __nv_bfloat16, __nv_bfloat16, float)
BOTH_WIDTHS(GEMV_BATCHED_TYPED, cublasTSSgemvBatched, __nv_bfloat16, float, float)

#define GEMV_STRIDED_TYPED(name, Index, In, Out, Scale)                                           \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t trans, Index m, Index n,           \
                      const Scale* alpha, const In* A, Index lda, long long strideA, const In* x, \
                      Index incx, long long stridex, const Scale* beta, Out* y, Index incy,       \
                      long long stridey, Index batchCount) {                                      \
    return Call(handle, "cublas_gemv_strided_batched")                                            \
        .Operation(trans)                                                                         \
        .Extent(m)                                                                                \
        .Extent(n)                                                                                \
        .Scalar(alpha, kDataType<Scale>)                                                          \
        .Array(A)                                                                                 \
        .Leading(lda, m)                                                                          \
        .Stride(strideA)                                                                          \
        .Array(x)                                                                                 \
        .Increment(incx)                                                                          \
        .Stride(stridex)                                                                          \
        .Scalar(beta, kDataType<Scale>)                                                           \
        .Array(y)                                                                                 \
        .Increment(incy)                                                                          \
        .Stride(stridey)                                                                          \
        .Extent(batchCount)                                                                       \
        .Type(kDataType<In>)                                                                      \
        .Type(kDataType<Out>)                                                                     \
        .Spread(trans == CUBLAS_OP_N ? m : n, 1, batchCount)                                      \
        .Launch();                                                                                \
  }
#define GEMV_STRIDED(name, Index, T) GEMV_STRIDED_TYPED(name, Index, T, T, T)
FOR_REAL_TYPES(GEMV_STRIDED, gemvStridedBatched)
FOR_COMPLEX_TYPES(GEMV_STRIDED, gemvStridedBatched)
BOTH_WIDTHS(GEMV_STRIDED_TYPED, cublasHSHgemvStridedBatched, __half, __half, float)
BOTH_WIDTHS(GEMV_STRIDED_TYPED, cublasHSSgemvStridedBatched, __half, float, float)
BOTH_WIDTHS(GEMV_STRIDED_TYPED, cublasTSTgemvStridedBatched, __nv_bfloat16, __nv_bfloat16, float)
BOTH_WIDTHS(GEMV_STRIDED_TYPED, cublasTSSgemvStridedBatched, __nv_bfloat16, float, float)

#define GBMV(name, Index, T)                                                                      \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t trans, Index m, Index n, Index kl, \
                      Index ku, const T* alpha, const T* A, Index lda, const T* x, Index incx,    \
                      const T* beta, T* y, Index incy) {                                          \
    return Call(handle, "cublas_gbmv")                                                            \
        .Operation(trans)                                                                         \
        .Extent(m)                                                                                \
        .Extent(n)                                                                                \
        .Inner(kl)                                                                                \
        .Inner(ku)                                                                                \
        .Scalar(alpha, kDataType<T>)                                                              \
        .Array(A)                                                                                 \
        .Leading(lda, kl + ku + 1)                                                                \
        .Array(x)                                                                                 \
        .Increment(incx)                                                                          \
        .Scalar(beta, kDataType<T>)                                                               \
        .Array(y)                                                                                 \
        .Increment(incy)                                                                          \
        .Type(kDataType<T>)                                                                       \
        .Spread(m, 1)                                                                             \
        .Launch();                                                                                \
  }
FOR_REAL_TYPES(GBMV, gbmv_v2)
FOR_COMPLEX_TYPES(GBMV, gbmv_v2)

// A triangular matrix and a vector, multiplied (trmv) or solved (trsv) in place.
#define TRIANGULAR(name, Index, kernel, T)                                                       \
  cublasStatus_t name(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,     \
                      cublasDiagType_t diag, Index n, const T* A, Index lda, T* x, Index incx) { \
    return Call(handle, kernel)                                                                  \
        .Fill(uplo)                                                                              \
        .Operation(trans)                                                                        \
        .Diagonal(diag)                                                                          \
        .Extent(n)                                                                               \
        .Array(A)                                                                                \
        .Leading(lda, n)                                                                         \
        .Array(x)                                                                                \
        .Increment(incx)                                                                         \
        .Type(kDataType<T>)                                                                      \
        .Spread(n, 1)                                                                            \
        .Launch();                                                                               \
  }
#define TRMV(name, Index, T) TRIANGULAR(name, Index, "cublas_trmv", T)
#define TRSV(name, Index, T) TRIANGULAR(name, Index, "cublas_trsv", T)
FOR_REAL_TYPES(TRMV, trmv_v2)
FOR_COMPLEX_TYPES(TRMV, trmv_v2)
FOR_REAL_TYPES(TRSV, trsv_v2)
FOR_COMPLEX_TYPES(TRSV, trsv_v2)

// A symmetric or Hermitian matrix and a vector.
#define SYMV(name, Index, T)                                                                 \
  cublasStatus_t name(cublasHandle_t handle, cublasFillMode_t uplo, Index n, const T* alpha, \
                      const T* A, Index lda, const T* x, Index incx, const T* beta, T* y,    \
                      Index incy) {                                                          \
    return Call(handle, "cublas_symv")                                                       \
        .Fill(uplo)                                                                          \
        .Extent(n)                                                                           \
        .Scalar(alpha, kDataType<T>)                                                         \
        .Array(A)                                                                            \
        .Leading(lda, n)                                                                     \
        .Array(x)                                                                            \
        .Increment(incx)                                                                     \
        .Scalar(beta, kDataType<T>)                                                          \
        .Array(y)                                                                            \
        .Increment(incy)                                                                     \
        .Type(kDataType<T>)                                                                  \
        .Spread(n, 1)                                                                        \
        .Launch();                                                                           \
  }
FOR_REAL_TYPES(SYMV, symv_v2)
FOR_COMPLEX_TYPES(SYMV, symv_v2)
FOR_COMPLEX_TYPES(SYMV, hemv_v2)

// A matrix gains the product of two vectors.
#define GER(name, Index, T)                                                                \
  cublasStatus_t name(cublasHandle_t handle, Index m, Index n, const T* alpha, const T* x, \
                      Index incx, const T* y, Index incy, T* A, Index lda) {               \
    return Call(handle, "cublas_ger")                                                      \
        .Extent(m)                                                                         \
        .Extent(n)                                                                         \
        .Scalar(alpha, kDataType<T>)                                                       \
        .Array(x)                                                                          \
        .Increment(incx)                                                                   \
        .Array(y)                                                                          \
        .Increment(incy)                                                                   \
        .Array(A)                                                                          \
        .Leading(lda, m)                                                                   \
        .Type(kDataType<T>)                                                                \
        .Spread(m, n)                                                                      \
        .Launch();                                                                         \
  }
FOR_REAL_TYPES(GER, ger_v2)
FOR_COMPLEX_TYPES(GER, geru_v2)
FOR_COMPLEX_TYPES(GER, gerc_v2)

#define SYR(name, Index, T, Scale)                                                               \
  cublasStatus_t name(cublasHandle_t handle, cublasFillMode_t uplo, Index n, const Scale* alpha, \
                      const T* x, Index incx, T* A, Index lda) {                                 \
    return Call(handle, "cublas_syr")                                                            \
        .Fill(uplo)                                                                              \
        .Extent(n)                                                                               \
        .Scalar(alpha, kDataType<Scale>)                                                         \
        .Array(x)                                                                                \
        .Increment(incx)                                                                         \
        .Array(A)                                                                                \
        .Leading(lda, n)                                                                         \
        .Type(kDataType<T>)                                                                      \
        .Spread(n, n)                                                                            \
        .Launch();                                                                               \
  }
BOTH_WIDTHS(SYR, cublasSsyr_v2, float, float)
BOTH_WIDTHS(SYR, cublasDsyr_v2, double, double)
BOTH_WIDTHS(SYR, cublasCsyr_v2, cuComplex, cuComplex)
BOTH_WIDTHS(SYR, cublasZsyr_v2, cuDoubleComplex, cuDoubleComplex)
BOTH_WIDTHS(SYR, cublasCher_v2, cuComplex, float)
BOTH_WIDTHS(SYR, cublasZher_v2, cuDoubleComplex, double)

#define SYR2(name, Index, T)                                                                 \
  cublasStatus_t name(cublasHandle_t handle, cublasFillMode_t uplo, Index n, const T* alpha, \
                      const T* x, Index incx, const T* y, Index incy, T* A, Index lda) {     \
    return Call(handle, "cublas_syr2")                                                       \
        .Fill(uplo)                                                                          \
        .Extent(n)                                                                           \
        .Scalar(alpha, kDataType<T>)                                                         \
        .Array(x)                                                                            \
        .Increment(incx)                                                                     \
        .Array(y)                                                                            \
        .Increment(incy)                                                                     \
        .Array(A)                                                                            \
        .Leading(lda, n)                                                                     \
        .Type(kDataType<T>)                                                                  \
        .Spread(n, n)                                                                        \
        .Launch();                                                                           \
  }
FOR_REAL_TYPES(SYR2, syr2_v2)
FOR_COMPLEX_TYPES(SYR2, syr2_v2)
FOR_COMPLEX_TYPES(SYR2, her2_v2)

// NOLINTEND(bugprone-macro-parentheses)
