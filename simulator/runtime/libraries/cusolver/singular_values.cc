// Implements cuSOLVER's singular value decompositions: by QR or by Jacobi's method, of one matrix
// or of many.
#include <library_types.h>

#include <algorithm>

#include "simulator/runtime/libraries/cusolver/handle.h"
#include "simulator/runtime/libraries/cusolver/matrices.h"

namespace vramstow::simulator {
namespace {

// The results of `count` decompositions. Strides are in elements; a null pointer means that these
// results are not requested.
struct Singular {
  int64_t m;
  int64_t n;
  int64_t count = 1;
  void* values;
  void* left;  // m by `left_columns`
  int64_t left_columns;
  int64_t left_leading;
  int64_t left_stride = 0;
  void* right;  // `right_rows` by `right_columns`
  int64_t right_rows;
  int64_t right_columns;
  int64_t right_leading;
  int64_t right_stride = 0;
};

cusolverStatus_t Gesvd(cusolverDnHandle_t handle, int type, const void* a, int64_t lda,
                       const Singular& results, int* info) {
  const bool shapes = IsShape(results.m, results.n, lda) && results.count >= 0;
  const cusolverStatus_t status =
      Check(handle, type, shapes, info != nullptr && results.values != nullptr);
  if (status != CUSOLVER_STATUS_SUCCESS || results.m == 0 || results.n == 0 || results.count == 0) {
    return status;
  }
  const int64_t values = std::min(results.m, results.n) * results.count;
  return LaunchSolver(
      handle, "cusolver_gesvd",
      {Word(int64_t{type}), Word(results.m), Word(results.n), Word(a), Word(lda),
       Word(results.values), Word(results.left), Word(results.right), Word(results.count)},
      {RealsAt(results.values, type, values),
       MatricesAt(results.left, type, results.m, results.left_columns, results.left_leading,
                  results.left_stride, results.count),
       MatricesAt(results.right, type, results.right_rows, results.right_columns,
                  results.right_leading, results.right_stride, results.count),
       InfoAt(info, static_cast<int>(results.count))});
}

// Returns how many singular vectors a job letter requests: 'A' requests all, 'S' as many as there
// are singular values, and 'N' none.
int64_t VectorsOf(signed char job, int64_t all, int64_t values) {
  return job == 'A' ? all : job == 'S' ? values : 0;
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

#define VRAMSTOW_SVD(letter, type)                                                                \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##gesvd_bufferSize(                        \
      cusolverDnHandle_t handle, int m, int n, int* lwork) {                                      \
    return Workspace(handle, m, n, std::max(m, 1), lwork);                                        \
  }                                                                                               \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##gesvd(                                   \
      cusolverDnHandle_t handle, signed char jobu, signed char jobvt, int m, int n, void* A,      \
      int lda, void* S, void* U, int ldu, void* VT, int ldvt, void* /*work*/, int /*lwork*/,      \
      void* /*rwork*/, int* info) {                                                               \
    const int k = std::min(m, n);                                                                 \
    return Gesvd(handle, type, A, lda,                                                            \
                 {.m = m,                                                                         \
                  .n = n,                                                                         \
                  .values = S,                                                                    \
                  .left = U,                                                                      \
                  .left_columns = VectorsOf(jobu, m, k),                                          \
                  .left_leading = ldu,                                                            \
                  .right = VT,                                                                    \
                  .right_rows = VectorsOf(jobvt, n, k),                                           \
                  .right_columns = n,                                                             \
                  .right_leading = ldvt},                                                         \
                 info);                                                                           \
  }                                                                                               \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##gesvdj_bufferSize(                       \
      cusolverDnHandle_t handle, int /*jobz*/, int /*econ*/, int m, int n, const void* /*A*/,     \
      int lda, const void* /*S*/, const void* /*U*/, int /*ldu*/, const void* /*V*/, int /*ldv*/, \
      int* lwork, void* /*params*/) {                                                             \
    return Workspace(handle, m, n, lda, lwork);                                                   \
  }                                                                                               \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##gesvdj(                                  \
      cusolverDnHandle_t handle, int jobz, int econ, int m, int n, void* A, int lda, void* S,     \
      void* U, int ldu, void* V, int ldv, void* /*work*/, int /*lwork*/, int* info,               \
      void* /*params*/) {                                                                         \
    const int k = std::min(m, n);                                                                 \
    return Gesvd(handle, type, A, lda,                                                            \
                 {.m = m,                                                                         \
                  .n = n,                                                                         \
                  .values = S,                                                                    \
                  .left = jobz == 0 ? nullptr : U,                                                \
                  .left_columns = econ == 0 ? m : k,                                              \
                  .left_leading = ldu,                                                            \
                  .right = jobz == 0 ? nullptr : V,                                               \
                  .right_rows = n,                                                                \
                  .right_columns = econ == 0 ? n : k,                                             \
                  .right_leading = ldv},                                                          \
                 info);                                                                           \
  }                                                                                               \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##gesvdjBatched_bufferSize(                \
      cusolverDnHandle_t handle, int /*jobz*/, int m, int n, const void* /*A*/, int lda,          \
      const void* /*S*/, const void* /*U*/, int /*ldu*/, const void* /*V*/, int /*ldv*/,          \
      int* lwork, void* /*params*/, int batchSize) {                                              \
    return Workspaces(handle, m, n, lda, batchSize, lwork);                                       \
  }                                                                                               \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##gesvdjBatched(                           \
      cusolverDnHandle_t handle, int jobz, int m, int n, void* A, int lda, void* S, void* U,      \
      int ldu, void* V, int ldv, void* /*work*/, int /*lwork*/, int* info, void* /*params*/,      \
      int batchSize) {                                                                            \
    return Gesvd(handle, type, A, lda,                                                            \
                 {.m = m,                                                                         \
                  .n = n,                                                                         \
                  .count = batchSize,                                                             \
                  .values = S,                                                                    \
                  .left = jobz == 0 ? nullptr : U,                                                \
                  .left_columns = m,                                                              \
                  .left_leading = ldu,                                                            \
                  .left_stride = int64_t{ldu} * m,                                                \
                  .right = jobz == 0 ? nullptr : V,                                               \
                  .right_rows = n,                                                                \
                  .right_columns = n,                                                             \
                  .right_leading = ldv,                                                           \
                  .right_stride = int64_t{ldv} * n},                                              \
                 info);                                                                           \
  }                                                                                               \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##gesvdaStridedBatched_bufferSize(         \
      cusolverDnHandle_t handle, int /*jobz*/, int /*rank*/, int m, int n, const void* /*d_A*/,   \
      int lda, long long /*strideA*/, const void* /*d_S*/, long long /*strideS*/,                 \
      const void* /*d_U*/, int /*ldu*/, long long /*strideU*/, const void* /*d_V*/, int /*ldv*/,  \
      long long /*strideV*/, int* lwork, int batchSize) {                                         \
    return Workspaces(handle, m, n, lda, batchSize, lwork);                                       \
  }                                                                                               \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##gesvdaStridedBatched(                    \
      cusolverDnHandle_t handle, int jobz, int rank, int m, int n, const void* d_A, int lda,      \
      long long /*strideA*/, void* d_S, long long /*strideS*/, void* d_U, int ldu,                \
      long long strideU, void* d_V, int ldv, long long strideV, void* /*d_work*/, int /*lwork*/,  \
      int* d_info, double* /*h_R_nrmF*/, int batchSize) {                                         \
    return Gesvd(handle, type, d_A, lda,                                                          \
                 {.m = m,                                                                         \
                  .n = n,                                                                         \
                  .count = batchSize,                                                             \
                  .values = d_S,                                                                  \
                  .left = jobz == 0 ? nullptr : d_U,                                              \
                  .left_columns = rank,                                                           \
                  .left_leading = ldu,                                                            \
                  .left_stride = strideU,                                                         \
                  .right = jobz == 0 ? nullptr : d_V,                                             \
                  .right_rows = n,                                                                \
                  .right_columns = rank,                                                          \
                  .right_leading = ldv,                                                           \
                  .right_stride = strideV},                                                       \
                 d_info);                                                                         \
  }

VRAMSTOW_SVD(S, CUDA_R_32F)
VRAMSTOW_SVD(D, CUDA_R_64F)
VRAMSTOW_SVD(C, CUDA_C_32F)
VRAMSTOW_SVD(Z, CUDA_C_64F)
