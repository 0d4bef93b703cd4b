// Implements factorisations and solvers over batches of small matrices (LAPACK's getrf, getri,
// getrs, geqrf and gels, and matinv). Pivots and the results for each matrix are arrays on the
// device and do not change. The only result on the host is `info`, which says that the arguments
// were valid.
#include "simulator/runtime/libraries/cublas/cublas_call.h"

// Macro arguments are types here, which cannot be put in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)

using vramstow::simulator::Call;
using vramstow::simulator::kDataType;

namespace {

// If the arguments are valid, sets `info` to 0, as LAPACK does. Returns `status`.
cublasStatus_t Report(cublasStatus_t status, int* info) {
  if (info != nullptr && status == CUBLAS_STATUS_SUCCESS) {
    *info = 0;
  }
  return status;
}

}  // namespace

#define FOR_ALL_TYPES(DEFINE, stem) \
  DEFINE(cublasS##stem, float)      \
  DEFINE(cublasD##stem, double)     \
  DEFINE(cublasC##stem, cuComplex)  \
  DEFINE(cublasZ##stem, cuDoubleComplex)

#define GETRF(name, T)                                                                        \
  cublasStatus_t name(cublasHandle_t handle, int n, T* const A[], int lda, int* P, int* info, \
                      int batchSize) {                                                        \
    return Call(handle, "cublas_getrf_batched")                                               \
        .Extent(n)                                                                            \
        .Array(A)                                                                             \
        .Leading(lda, n)                                                                      \
        .Array(P)                                                                             \
        .Array(info)                                                                          \
        .Extent(batchSize)                                                                    \
        .Type(kDataType<T>)                                                                   \
        .Spread(n, n, batchSize)                                                              \
        .Launch();                                                                            \
  }
FOR_ALL_TYPES(GETRF, getrfBatched)

#define GETRI(name, T)                                                                         \
  cublasStatus_t name(cublasHandle_t handle, int n, const T* const A[], int lda, const int* P, \
                      T* const C[], int ldc, int* info, int batchSize) {                       \
    return Call(handle, "cublas_getri_batched")                                                \
        .Extent(n)                                                                             \
        .Array(A)                                                                              \
        .Leading(lda, n)                                                                       \
        .Array(P)                                                                              \
        .Array(C)                                                                              \
        .Leading(ldc, n)                                                                       \
        .Array(info)                                                                           \
        .Extent(batchSize)                                                                     \
        .Type(kDataType<T>)                                                                    \
        .Spread(n, n, batchSize)                                                               \
        .Launch();                                                                             \
  }
FOR_ALL_TYPES(GETRI, getriBatched)

#define GETRS(name, T)                                                                         \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t trans, int n, int nrhs,         \
                      const T* const Aarray[], int lda, const int* devIpiv, T* const Barray[], \
                      int ldb, int* info, int batchSize) {                                     \
    return Report(Call(handle, "cublas_getrs_batched")                                         \
                      .Operation(trans)                                                        \
                      .Extent(n)                                                               \
                      .Extent(nrhs)                                                            \
                      .Array(Aarray)                                                           \
                      .Leading(lda, n)                                                         \
                      .Array(devIpiv)                                                          \
                      .Array(Barray)                                                           \
                      .Leading(ldb, n)                                                         \
                      .Extent(batchSize)                                                       \
                      .Type(kDataType<T>)                                                      \
                      .Spread(n, nrhs, batchSize)                                              \
                      .Launch(),                                                               \
                  info);                                                                       \
  }
FOR_ALL_TYPES(GETRS, getrsBatched)

#define MATINV(name, T)                                                                           \
  cublasStatus_t name(cublasHandle_t handle, int n, const T* const A[], int lda, T* const Ainv[], \
                      int lda_inv, int* info, int batchSize) {                                    \
    return Call(handle, "cublas_matinv_batched")                                                  \
        .Extent(n)                                                                                \
        .Require(n <= 32) /* documented limit */                                                  \
        .Array(A)                                                                                 \
        .Leading(lda, n)                                                                          \
        .Array(Ainv)                                                                              \
        .Leading(lda_inv, n)                                                                      \
        .Array(info)                                                                              \
        .Extent(batchSize)                                                                        \
        .Type(kDataType<T>)                                                                       \
        .Spread(n, n, batchSize)                                                                  \
        .Launch();                                                                                \
  }
FOR_ALL_TYPES(MATINV, matinvBatched)

#define GEQRF(name, T)                                                                 \
  cublasStatus_t name(cublasHandle_t handle, int m, int n, T* const Aarray[], int lda, \
                      T* const TauArray[], int* info, int batchSize) {                 \
    return Report(Call(handle, "cublas_geqrf_batched")                                 \
                      .Extent(m)                                                       \
                      .Extent(n)                                                       \
                      .Array(Aarray)                                                   \
                      .Leading(lda, m)                                                 \
                      .Array(TauArray)                                                 \
                      .Extent(batchSize)                                               \
                      .Type(kDataType<T>)                                              \
                      .Spread(m, n, batchSize)                                         \
                      .Launch(),                                                       \
                  info);                                                               \
  }
FOR_ALL_TYPES(GEQRF, geqrfBatched)

#define GELS(name, T)                                                                         \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t trans, int m, int n, int nrhs, \
                      T* const Aarray[], int lda, T* const Carray[], int ldc, int* info,      \
                      int* devInfoArray, int batchSize) {                                     \
    return Report(Call(handle, "cublas_gels_batched")                                         \
                      .Operation(trans)                                                       \
                      .Require(trans == CUBLAS_OP_N, CUBLAS_STATUS_NOT_SUPPORTED)             \
                      .Extent(m)                                                              \
                      .Extent(n)                                                              \
                      .Require(m >= n, CUBLAS_STATUS_NOT_SUPPORTED)                           \
                      .Extent(nrhs)                                                           \
                      .Array(Aarray)                                                          \
                      .Leading(lda, m)                                                        \
                      .Array(Carray)                                                          \
                      .Leading(ldc, m)                                                        \
                      .Array(devInfoArray)                                                    \
                      .Extent(batchSize)                                                      \
                      .Type(kDataType<T>)                                                     \
                      .Spread(m, n, batchSize)                                                \
                      .Launch(),                                                              \
                  info);                                                                      \
  }
FOR_ALL_TYPES(GELS, gelsBatched)

// NOLINTEND(bugprone-macro-parentheses)
