// Implements cuSOLVER's Cholesky, LU and LDL functions. The results of batched functions do not
// change, because their addresses lie on the device.
#include <library_types.h>

#include <algorithm>

#include "simulator/runtime/libraries/cusolver/handle.h"
#include "simulator/runtime/libraries/cusolver/matrices.h"

namespace vramstow::simulator {

namespace {

Result PivotsAt(const void* pivots, int64_t count, bool wide) {
  return {pivots, static_cast<size_t>(count) * (wide ? sizeof(int64_t) : sizeof(int32_t))};
}

cusolverStatus_t Potrf(cusolverDnHandle_t handle, int type, int uplo, int64_t n, void* a,
                       int64_t lda, int* info) {
  const bool pointers = (a != nullptr || n == 0) && info != nullptr;
  const cusolverStatus_t status = Check(handle, type, IsShape(n, n, lda), pointers);
  if (status != CUSOLVER_STATUS_SUCCESS || n == 0) return status;
  return LaunchSolver(
      handle, "cusolver_potrf",
      {Word(int64_t{type}), Word(int64_t{uplo}), Word(n), Word(a), Word(lda), Word(info)},
      {MatrixAt(a, type, n, n, lda), InfoAt(info)});
}

cusolverStatus_t PotrfBatched(cusolverDnHandle_t handle, int type, int uplo, int n, void* a,
                              int lda, int* infos, int batch) {
  const cusolverStatus_t status =
      Check(handle, type, IsShape(n, n, lda) && batch >= 0, a != nullptr && infos != nullptr);
  if (status != CUSOLVER_STATUS_SUCCESS || n == 0 || batch == 0) return status;
  return LaunchSolver(handle, "cusolver_potrf_batched",
                      {Word(int64_t{type}), Word(int64_t{uplo}), Word(int64_t{n}), Word(a),
                       Word(int64_t{lda}), Word(infos), Word(int64_t{batch})},
                      {InfoAt(infos, batch)});
}

cusolverStatus_t Potrs(cusolverDnHandle_t handle, int type, int uplo, int64_t n, int64_t columns,
                       const void* a, int64_t lda, void* b, int64_t ldb, int* info) {
  const bool shapes = IsShape(n, n, lda) && IsShape(n, columns, ldb);
  const cusolverStatus_t status = Check(handle, type, shapes, info != nullptr);
  if (status != CUSOLVER_STATUS_SUCCESS || n == 0 || columns == 0) return status;
  return LaunchSolver(handle, "cusolver_potrs",
                      {Word(int64_t{type}), Word(int64_t{uplo}), Word(n), Word(columns), Word(a),
                       Word(lda), Word(b), Word(ldb), Word(info)},
                      {MatrixAt(b, type, n, columns, ldb), InfoAt(info)});
}

cusolverStatus_t PotrsBatched(cusolverDnHandle_t handle, int type, int uplo, int n, int columns,
                              void* a, int lda, void* b, int ldb, int* info, int batch) {
  const bool shapes = IsShape(n, n, lda) && IsShape(n, columns, ldb) && batch >= 0;
  const cusolverStatus_t status = Check(handle, type, shapes, a != nullptr && b != nullptr);
  if (status != CUSOLVER_STATUS_SUCCESS || n == 0 || columns == 0 || batch == 0) return status;
  return LaunchSolver(
      handle, "cusolver_potrs_batched",
      {Word(int64_t{type}), Word(int64_t{uplo}), Word(int64_t{n}), Word(int64_t{columns}), Word(a),
       Word(int64_t{lda}), Word(b), Word(int64_t{ldb}), Word(info), Word(int64_t{batch})},
      {InfoAt(info)});
}

cusolverStatus_t Getrf(cusolverDnHandle_t handle, int type, int64_t rows, int64_t columns, void* a,
                       int64_t lda, const void* pivots, bool wide, int* info) {
  const cusolverStatus_t status = Check(handle, type, IsShape(rows, columns, lda), info != nullptr);
  if (status != CUSOLVER_STATUS_SUCCESS || rows == 0 || columns == 0) return status;
  return LaunchSolver(handle, "cusolver_getrf",
                      {Word(int64_t{type}), Word(rows), Word(columns), Word(a), Word(lda),
                       Word(pivots), Word(int64_t{wide ? 1 : 0}), Word(info)},
                      {MatrixAt(a, type, rows, columns, lda),
                       PivotsAt(pivots, std::min(rows, columns), wide), InfoAt(info)});
}

cusolverStatus_t Getrs(cusolverDnHandle_t handle, int type, int transposition, int64_t n,
                       int64_t columns, const void* a, int64_t lda, const void* pivots, bool wide,
                       void* b, int64_t ldb, int* info) {
  const bool shapes =
      IsShape(n, n, lda) && IsShape(n, columns, ldb) && transposition >= 0 && transposition <= 2;
  const cusolverStatus_t status = Check(handle, type, shapes, info != nullptr);
  if (status != CUSOLVER_STATUS_SUCCESS || n == 0 || columns == 0) return status;
  return LaunchSolver(
      handle, "cusolver_getrs",
      {Word(int64_t{type}), Word(int64_t{transposition}), Word(n), Word(columns), Word(a),
       Word(lda), Word(pivots), Word(int64_t{wide ? 1 : 0}), Word(b), Word(ldb), Word(info)},
      {MatrixAt(b, type, n, columns, ldb), InfoAt(info)});
}

cusolverStatus_t Sytrf(cusolverDnHandle_t handle, int type, int uplo, int n, void* a, int lda,
                       int* pivots, int* info) {
  const cusolverStatus_t status =
      Check(handle, type, IsShape(n, n, lda), info != nullptr && (a != nullptr || n == 0));
  if (status != CUSOLVER_STATUS_SUCCESS || n == 0) return status;
  return LaunchSolver(
      handle, "cusolver_sytrf",
      {Word(int64_t{type}), Word(int64_t{uplo}), Word(int64_t{n}), Word(a), Word(int64_t{lda})},
      {MatrixAt(a, type, n, n, lda), PivotsAt(pivots, pivots == nullptr ? 0 : n, false),
       InfoAt(info)});
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

// Defines the functions that exist once for each type.
#define VRAMSTOW_SOLVERS(letter, type)                                                          \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##potrf_bufferSize(                      \
      cusolverDnHandle_t handle, int /*uplo*/, int n, void* /*A*/, int lda, int* Lwork) {       \
    return Workspace(handle, n, n, lda, Lwork);                                                 \
  }                                                                                             \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##potrf(                                 \
      cusolverDnHandle_t handle, int uplo, int n, void* A, int lda, void* /*Workspace*/,        \
      int /*Lwork*/, int* devInfo) {                                                            \
    return Potrf(handle, type, uplo, n, A, lda, devInfo);                                       \
  }                                                                                             \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##potrfBatched(                          \
      cusolverDnHandle_t handle, int uplo, int n, void* Aarray, int lda, int* infoArray,        \
      int batchSize) {                                                                          \
    return PotrfBatched(handle, type, uplo, n, Aarray, lda, infoArray, batchSize);              \
  }                                                                                             \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##potrs(                                 \
      cusolverDnHandle_t handle, int uplo, int n, int nrhs, const void* A, int lda, void* B,    \
      int ldb, int* devInfo) {                                                                  \
    return Potrs(handle, type, uplo, n, nrhs, A, lda, B, ldb, devInfo);                         \
  }                                                                                             \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##potrsBatched(                          \
      cusolverDnHandle_t handle, int uplo, int n, int nrhs, void* A, int lda, void* B, int ldb, \
      int* info, int batchSize) {                                                               \
    return PotrsBatched(handle, type, uplo, n, nrhs, A, lda, B, ldb, info, batchSize);          \
  }                                                                                             \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##getrf_bufferSize(                      \
      cusolverDnHandle_t handle, int m, int n, void* /*A*/, int lda, int* Lwork) {              \
    return Workspace(handle, m, n, lda, Lwork);                                                 \
  }                                                                                             \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##getrf(                                 \
      cusolverDnHandle_t handle, int m, int n, void* A, int lda, void* /*Workspace*/,           \
      int* devIpiv, int* devInfo) {                                                             \
    return Getrf(handle, type, m, n, A, lda, devIpiv, false, devInfo);                          \
  }                                                                                             \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##getrs(                                 \
      cusolverDnHandle_t handle, int trans, int n, int nrhs, const void* A, int lda,            \
      const int* devIpiv, void* B, int ldb, int* devInfo) {                                     \
    return Getrs(handle, type, trans, n, nrhs, A, lda, devIpiv, false, B, ldb, devInfo);        \
  }                                                                                             \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##sytrf_bufferSize(                      \
      cusolverDnHandle_t handle, int n, void* /*A*/, int lda, int* lwork) {                     \
    return Workspace(handle, n, n, lda, lwork);                                                 \
  }                                                                                             \
  VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDn##letter##sytrf(                                 \
      cusolverDnHandle_t handle, int uplo, int n, void* A, int lda, int* ipiv, void* /*work*/,  \
      int /*lwork*/, int* info) {                                                               \
    return Sytrf(handle, type, uplo, n, A, lda, ipiv, info);                                    \
  }

VRAMSTOW_SOLVERS(S, CUDA_R_32F)
VRAMSTOW_SOLVERS(D, CUDA_R_64F)
VRAMSTOW_SOLVERS(C, CUDA_C_32F)
VRAMSTOW_SOLVERS(Z, CUDA_C_64F)

VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnXpotrf_bufferSize(
    cusolverDnHandle_t handle, cusolverDnParams_t /*params*/, int /*uplo*/, int64_t n,
    cudaDataType dataTypeA, const void* /*A*/, int64_t lda, cudaDataType /*computeType*/,
    size_t* workspaceInBytesOnDevice, size_t* workspaceInBytesOnHost) {
  return WorkspaceBytes(handle, n, n, lda, dataTypeA, workspaceInBytesOnDevice,
                        workspaceInBytesOnHost);
}

VRAMSTOW_CUSOLVER cusolverStatus_t
cusolverDnXpotrf(cusolverDnHandle_t handle, cusolverDnParams_t /*params*/, int uplo, int64_t n,
                 cudaDataType dataTypeA, void* A, int64_t lda, cudaDataType /*computeType*/,
                 void* /*bufferOnDevice*/, size_t /*workspaceInBytesOnDevice*/,
                 void* /*bufferOnHost*/, size_t /*workspaceInBytesOnHost*/, int* info) {
  return Potrf(handle, dataTypeA, uplo, n, A, lda, info);
}

VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnXpotrs(cusolverDnHandle_t handle,
                                                    cusolverDnParams_t /*params*/, int uplo,
                                                    int64_t n, int64_t nrhs, cudaDataType dataTypeA,
                                                    const void* A, int64_t lda,
                                                    cudaDataType /*dataTypeB*/, void* B,
                                                    int64_t ldb, int* info) {
  return Potrs(handle, dataTypeA, uplo, n, nrhs, A, lda, B, ldb, info);
}

VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnXgetrf_bufferSize(
    cusolverDnHandle_t handle, cusolverDnParams_t /*params*/, int64_t m, int64_t n,
    cudaDataType dataTypeA, const void* /*A*/, int64_t lda, cudaDataType /*computeType*/,
    size_t* workspaceInBytesOnDevice, size_t* workspaceInBytesOnHost) {
  return WorkspaceBytes(handle, m, n, lda, dataTypeA, workspaceInBytesOnDevice,
                        workspaceInBytesOnHost);
}

VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnXgetrf(
    cusolverDnHandle_t handle, cusolverDnParams_t /*params*/, int64_t m, int64_t n,
    cudaDataType dataTypeA, void* A, int64_t lda, int64_t* ipiv, cudaDataType /*computeType*/,
    void* /*bufferOnDevice*/, size_t /*workspaceInBytesOnDevice*/, void* /*bufferOnHost*/,
    size_t /*workspaceInBytesOnHost*/, int* info) {
  return Getrf(handle, dataTypeA, m, n, A, lda, ipiv, true, info);
}

VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnXgetrs(cusolverDnHandle_t handle,
                                                    cusolverDnParams_t /*params*/, int trans,
                                                    int64_t n, int64_t nrhs, cudaDataType dataTypeA,
                                                    const void* A, int64_t lda, const int64_t* ipiv,
                                                    cudaDataType /*dataTypeB*/, void* B,
                                                    int64_t ldb, int* info) {
  return Getrs(handle, dataTypeA, trans, n, nrhs, A, lda, ipiv, true, B, ldb, info);
}

VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnXsytrs_bufferSize(
    cusolverDnHandle_t handle, int /*uplo*/, int64_t n, int64_t /*nrhs*/, cudaDataType dataTypeA,
    const void* /*A*/, int64_t lda, const int64_t* /*ipiv*/, cudaDataType /*dataTypeB*/,
    void* /*B*/, int64_t /*ldb*/, size_t* workspaceInBytesOnDevice,
    size_t* workspaceInBytesOnHost) {
  return WorkspaceBytes(handle, n, n, lda, dataTypeA, workspaceInBytesOnDevice,
                        workspaceInBytesOnHost);
}

VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnXsytrs(
    cusolverDnHandle_t handle, int uplo, int64_t n, int64_t nrhs, cudaDataType dataTypeA,
    const void* A, int64_t lda, const int64_t* /*ipiv*/, cudaDataType /*dataTypeB*/, void* B,
    int64_t ldb, void* /*bufferOnDevice*/, size_t /*workspaceInBytesOnDevice*/,
    void* /*bufferOnHost*/, size_t /*workspaceInBytesOnHost*/, int* info) {
  return Potrs(handle, dataTypeA, uplo, n, nrhs, A, lda, B, ldb, info);
}
