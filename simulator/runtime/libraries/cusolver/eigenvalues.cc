// Implements cuSOLVER's functions for eigenvalues: of one or many symmetric or Hermitian matrices,
// and of a general matrix.
#include <library_types.h>

#include "simulator/runtime/libraries/cusolver/handle.h"
#include "simulator/runtime/libraries/cusolver/matrices.h"

namespace vramstow::simulator {
namespace {

// Replaces `count` matrices of n × n, which lie one after the other, by their eigenvectors.
cusolverStatus_t Syevd(cusolverDnHandle_t handle, int type, int jobz, int uplo, int64_t n, void* a,
                       int64_t lda, void* values, int* info, int64_t count = 1) {
  const bool pointers = info != nullptr && (n == 0 || (a != nullptr && values != nullptr));
  const cusolverStatus_t status = Check(handle, type, IsShape(n, n, lda) && count >= 0, pointers);
  if (status != CUSOLVER_STATUS_SUCCESS || n == 0 || count == 0) return status;
  return LaunchSolver(handle, "cusolver_syevd",
                      {Word(int64_t{type}), Word(int64_t{jobz}), Word(int64_t{uplo}), Word(n),
                       Word(a), Word(lda), Word(values), Word(count)},
                      {MatricesAt(a, type, n, n, lda, lda * n, count),
                       RealsAt(values, type, n * count), InfoAt(info, static_cast<int>(count))});
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

// `evd` and `evj` are the names of the functions for this type: syevd and syevj, or heevd and
// heevj.
#define VRAMSTOW_EIGEN(letter, type, evd, evj)                                                  \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##evd##_bufferSize(                      \
      cusolverDnHandle_t handle, int /*jobz*/, int /*uplo*/, int n, const void* /*A*/, int lda, \
      const void* /*W*/, int* lwork) {                                                          \
    return Workspace(handle, n, n, lda, lwork);                                                 \
  }                                                                                             \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##evd(                                   \
      cusolverDnHandle_t handle, int jobz, int uplo, int n, void* A, int lda, void* W,          \
      void* /*work*/, int /*lwork*/, int* info) {                                               \
    return Syevd(handle, type, jobz, uplo, n, A, lda, W, info);                                 \
  }                                                                                             \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##evj##_bufferSize(                      \
      cusolverDnHandle_t handle, int /*jobz*/, int /*uplo*/, int n, const void* /*A*/, int lda, \
      const void* /*W*/, int* lwork, void* /*params*/) {                                        \
    return Workspace(handle, n, n, lda, lwork);                                                 \
  }                                                                                             \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##evj(                                   \
      cusolverDnHandle_t handle, int jobz, int uplo, int n, void* A, int lda, void* W,          \
      void* /*work*/, int /*lwork*/, int* info, void* /*params*/) {                             \
    return Syevd(handle, type, jobz, uplo, n, A, lda, W, info);                                 \
  }                                                                                             \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##evj##Batched_bufferSize(               \
      cusolverDnHandle_t handle, int /*jobz*/, int /*uplo*/, int n, const void* /*A*/, int lda, \
      const void* /*W*/, int* lwork, void* /*params*/, int batchSize) {                         \
    return Workspaces(handle, n, n, lda, batchSize, lwork);                                     \
  }                                                                                             \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##evj##Batched(                          \
      cusolverDnHandle_t handle, int jobz, int uplo, int n, void* A, int lda, void* W,          \
      void* /*work*/, int /*lwork*/, int* info, void* /*params*/, int batchSize) {              \
    return Syevd(handle, type, jobz, uplo, n, A, lda, W, info, batchSize);                      \
  }

VRAMSTOW_EIGEN(S, CUDA_R_32F, syevd, syevj)
VRAMSTOW_EIGEN(D, CUDA_R_64F, syevd, syevj)
VRAMSTOW_EIGEN(C, CUDA_C_32F, heevd, heevj)
VRAMSTOW_EIGEN(Z, CUDA_C_64F, heevd, heevj)

VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnXsyevd_bufferSize(
    cusolverDnHandle_t handle, cusolverDnParams_t /*params*/, int /*jobz*/, int /*uplo*/, int64_t n,
    cudaDataType dataTypeA, const void* /*A*/, int64_t lda, cudaDataType /*dataTypeW*/,
    const void* /*W*/, cudaDataType /*computeType*/, size_t* workspaceInBytesOnDevice,
    size_t* workspaceInBytesOnHost) {
  return WorkspaceBytes(handle, n, n, lda, dataTypeA, workspaceInBytesOnDevice,
                        workspaceInBytesOnHost);
}

VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnXsyevd(
    cusolverDnHandle_t handle, cusolverDnParams_t /*params*/, int jobz, int uplo, int64_t n,
    cudaDataType dataTypeA, void* A, int64_t lda, cudaDataType /*dataTypeW*/, void* W,
    cudaDataType /*computeType*/, void* /*bufferOnDevice*/, size_t /*workspaceInBytesOnDevice*/,
    void* /*bufferOnHost*/, size_t /*workspaceInBytesOnHost*/, int* info) {
  return Syevd(handle, dataTypeA, jobz, uplo, n, A, lda, W, info);
}

VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnXsyevBatched_bufferSize(
    cusolverDnHandle_t handle, cusolverDnParams_t /*params*/, int /*jobz*/, int /*uplo*/, int64_t n,
    cudaDataType dataTypeA, const void* /*A*/, int64_t lda, cudaDataType /*dataTypeW*/,
    const void* /*W*/, cudaDataType /*computeType*/, size_t* workspaceInBytesOnDevice,
    size_t* workspaceInBytesOnHost, int64_t batchSize) {
  if (batchSize < 0) return CUSOLVER_STATUS_INVALID_VALUE;
  return WorkspaceBytes(handle, n, n * batchSize, lda, dataTypeA, workspaceInBytesOnDevice,
                        workspaceInBytesOnHost);
}

VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnXsyevBatched(
    cusolverDnHandle_t handle, cusolverDnParams_t /*params*/, int jobz, int uplo, int64_t n,
    cudaDataType dataTypeA, void* A, int64_t lda, cudaDataType /*dataTypeW*/, void* W,
    cudaDataType /*computeType*/, void* /*bufferOnDevice*/, size_t /*workspaceInBytesOnDevice*/,
    void* /*bufferOnHost*/, size_t /*workspaceInBytesOnHost*/, int* info, int64_t batchSize) {
  return Syevd(handle, dataTypeA, jobz, uplo, n, A, lda, W, info, batchSize);
}

VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnXgeev_bufferSize(
    cusolverDnHandle_t handle, cusolverDnParams_t /*params*/, int /*jobvl*/, int /*jobvr*/,
    int64_t n, cudaDataType dataTypeA, const void* /*A*/, int64_t lda, cudaDataType /*dataTypeW*/,
    const void* /*W*/, cudaDataType /*dataTypeVL*/, const void* /*VL*/, int64_t /*ldvl*/,
    cudaDataType /*dataTypeVR*/, const void* /*VR*/, int64_t /*ldvr*/, cudaDataType /*computeType*/,
    size_t* workspaceInBytesOnDevice, size_t* workspaceInBytesOnHost) {
  return WorkspaceBytes(handle, n, n, lda, dataTypeA, workspaceInBytesOnDevice,
                        workspaceInBytesOnHost);
}

// The eigenvalues are complex numbers of the type `dataTypeW`.
VRAMSTOW_CUSOLVER cusolverStatus_t
cusolverDnXgeev(cusolverDnHandle_t handle, cusolverDnParams_t /*params*/, int jobvl, int jobvr,
                int64_t n, cudaDataType dataTypeA, void* A, int64_t lda, cudaDataType dataTypeW,
                void* W, cudaDataType dataTypeVL, void* VL, int64_t ldvl, cudaDataType dataTypeVR,
                void* VR, int64_t ldvr, cudaDataType /*computeType*/, void* /*bufferOnDevice*/,
                size_t /*workspaceInBytesOnDevice*/, void* /*bufferOnHost*/,
                size_t /*workspaceInBytesOnHost*/, int* info) {
  const bool pointers = info != nullptr && (n == 0 || (A != nullptr && W != nullptr));
  const cusolverStatus_t status = Check(handle, dataTypeA, IsShape(n, n, lda), pointers);
  if (status != CUSOLVER_STATUS_SUCCESS || n == 0) return status;
  return LaunchSolver(
      handle, "cusolver_geev",
      {Word(int64_t{dataTypeA}), Word(n), Word(A), Word(lda), Word(W), Word(VL), Word(VR)},
      {MatrixAt(A, dataTypeA, n, n, lda), MatrixAt(W, dataTypeW, n, 1, n),
       MatricesAt(jobvl == 0 ? nullptr : VL, dataTypeVL, n, n, ldvl, 0, 1),
       MatricesAt(jobvr == 0 ? nullptr : VR, dataTypeVR, n, n, ldvr, 0, 1), InfoAt(info)});
}
