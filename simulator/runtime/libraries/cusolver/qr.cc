// Implements cuSOLVER's QR factorisation, and the functions that use its reflectors.
#include <library_types.h>

#include <algorithm>

#include "simulator/runtime/libraries/cusolver/handle.h"
#include "simulator/runtime/libraries/cusolver/matrices.h"

namespace vramstow::simulator {
namespace {

cusolverStatus_t Geqrf(cusolverDnHandle_t handle, int type, int64_t m, int64_t n, void* a,
                       int64_t lda, void* tau, int* info) {
  const cusolverStatus_t status = Check(handle, type, IsShape(m, n, lda), info != nullptr);
  if (status != CUSOLVER_STATUS_SUCCESS || m == 0 || n == 0) return status;
  return LaunchSolver(
      handle, "cusolver_geqrf",
      {Word(int64_t{type}), Word(m), Word(n), Word(a), Word(lda), Word(tau)},
      {MatrixAt(a, type, m, n, lda), MatricesAt(tau, type, std::min(m, n), 1, std::min(m, n), 0, 1),
       InfoAt(info)});
}

cusolverStatus_t Orgqr(cusolverDnHandle_t handle, int type, int m, int n, int k, void* a, int lda,
                       int* info) {
  const bool shapes = IsShape(m, n, lda) && k >= 0 && k <= n && n <= m;
  const cusolverStatus_t status = Check(handle, type, shapes, info != nullptr);
  if (status != CUSOLVER_STATUS_SUCCESS || m == 0 || n == 0) return status;
  return LaunchSolver(handle, "cusolver_orgqr",
                      {Word(int64_t{type}), Word(int64_t{m}), Word(int64_t{n}), Word(int64_t{k}),
                       Word(a), Word(int64_t{lda})},
                      {MatrixAt(a, type, m, n, lda), InfoAt(info)});
}

cusolverStatus_t Ormqr(cusolverDnHandle_t handle, int type, int side, int m, int n, const void* a,
                       void* c, int ldc, int* info) {
  const cusolverStatus_t status = Check(handle, type, IsShape(m, n, ldc), info != nullptr);
  if (status != CUSOLVER_STATUS_SUCCESS || m == 0 || n == 0) return status;
  return LaunchSolver(handle, "cusolver_ormqr",
                      {Word(int64_t{type}), Word(int64_t{side}), Word(int64_t{m}), Word(int64_t{n}),
                       Word(a), Word(c), Word(int64_t{ldc})},
                      {MatrixAt(c, type, m, n, ldc), InfoAt(info)});
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

// `org` and `orm` are the names of the functions for this type: orgqr and ormqr, or ungqr and
// unmqr.
#define VRAMSTOW_QR(letter, type, org, orm)                                                       \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##geqrf_bufferSize(                        \
      cusolverDnHandle_t handle, int m, int n, void* /*A*/, int lda, int* lwork) {                \
    return Workspace(handle, m, n, lda, lwork);                                                   \
  }                                                                                               \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##geqrf(                                   \
      cusolverDnHandle_t handle, int m, int n, void* A, int lda, void* TAU, void* /*Workspace*/,  \
      int /*Lwork*/, int* devInfo) {                                                              \
    return Geqrf(handle, type, m, n, A, lda, TAU, devInfo);                                       \
  }                                                                                               \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##org##_bufferSize(                        \
      cusolverDnHandle_t handle, int m, int n, int /*k*/, const void* /*A*/, int lda,             \
      const void* /*tau*/, int* lwork) {                                                          \
    return Workspace(handle, m, n, lda, lwork);                                                   \
  }                                                                                               \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##org(                                     \
      cusolverDnHandle_t handle, int m, int n, int k, void* A, int lda, const void* /*tau*/,      \
      void* /*work*/, int /*lwork*/, int* info) {                                                 \
    return Orgqr(handle, type, m, n, k, A, lda, info);                                            \
  }                                                                                               \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##orm##_bufferSize(                        \
      cusolverDnHandle_t handle, int /*side*/, int /*trans*/, int m, int n, int /*k*/,            \
      const void* /*A*/, int /*lda*/, const void* /*tau*/, const void* /*C*/, int ldc,            \
      int* lwork) {                                                                               \
    return Workspace(handle, m, n, ldc, lwork);                                                   \
  }                                                                                               \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##orm(                                     \
      cusolverDnHandle_t handle, int side, int /*trans*/, int m, int n, int /*k*/, const void* A, \
      int /*lda*/, const void* /*tau*/, void* C, int ldc, void* /*work*/, int /*lwork*/,          \
      int* devInfo) {                                                                             \
    return Ormqr(handle, type, side, m, n, A, C, ldc, devInfo);                                   \
  }

VRAMSTOW_QR(S, CUDA_R_32F, orgqr, ormqr)
VRAMSTOW_QR(D, CUDA_R_64F, orgqr, ormqr)
VRAMSTOW_QR(C, CUDA_C_32F, ungqr, unmqr)
VRAMSTOW_QR(Z, CUDA_C_64F, ungqr, unmqr)

VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnXgeqrf_bufferSize(
    cusolverDnHandle_t handle, cusolverDnParams_t /*params*/, int64_t m, int64_t n,
    cudaDataType dataTypeA, const void* /*A*/, int64_t lda, cudaDataType /*dataTypeTau*/,
    const void* /*tau*/, cudaDataType /*computeType*/, size_t* workspaceInBytesOnDevice,
    size_t* workspaceInBytesOnHost) {
  return WorkspaceBytes(handle, m, n, lda, dataTypeA, workspaceInBytesOnDevice,
                        workspaceInBytesOnHost);
}

VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnXgeqrf(
    cusolverDnHandle_t handle, cusolverDnParams_t /*params*/, int64_t m, int64_t n,
    cudaDataType dataTypeA, void* A, int64_t lda, cudaDataType /*dataTypeTau*/, void* tau,
    cudaDataType /*computeType*/, void* /*bufferOnDevice*/, size_t /*workspaceInBytesOnDevice*/,
    void* /*bufferOnHost*/, size_t /*workspaceInBytesOnHost*/, int* info) {
  return Geqrf(handle, dataTypeA, m, n, A, lda, tau, info);
}
