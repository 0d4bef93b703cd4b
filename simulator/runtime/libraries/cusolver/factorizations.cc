// cuSOLVER's Cholesky and LU functions: arguments are checked, then a kernel is queued. What it
// would give is left out (common/left_out.h); that of batches, whose addresses lie on the device,
// stays as it was.
//
// Modelled: workspaces as large as the matrix, in elements for the functions with a letter, in
// bytes for the generic ones.
#include <library_types.h>

#include <algorithm>
#include <climits>

#include "simulator/runtime/libraries/common/kernels.h"
#include "simulator/runtime/libraries/common/left_out.h"
#include "simulator/runtime/libraries/cusolver/handle.h"

namespace vramstow::simulator {

// NOLINTNEXTLINE(readability-identifier-naming): as common/device.h declares it
extern const char kKernelModule[];
const char kKernelModule[] = VRAMSTOW_KERNEL_MODULE_HEAD VRAMSTOW_KERNEL("cusolver_potrf")
    VRAMSTOW_KERNEL("cusolver_potrf_batched") VRAMSTOW_KERNEL("cusolver_potrs")
        VRAMSTOW_KERNEL("cusolver_potrs_batched") VRAMSTOW_KERNEL("cusolver_getrf")
            VRAMSTOW_KERNEL("cusolver_getrs");

namespace {

// Bytes of an element; 0 for a type that is not float, double or complex of either.
size_t BytesOfType(int type) {
  switch (type) {
    case CUDA_R_32F:
      return 4;
    case CUDA_R_64F:
    case CUDA_C_32F:
      return 8;
    case CUDA_C_64F:
      return 16;
    default:
      return 0;
  }
}

Result MatrixAt(const void* address, int type, int64_t rows, int64_t columns, int64_t leading) {
  return {address, static_cast<size_t>((columns - 1) * leading + rows) * BytesOfType(type)};
}
Result InfoAt(const int* info, int count = 1) {
  return {info, static_cast<size_t>(count) * sizeof *info};
}
Result PivotsAt(const void* pivots, int64_t count, bool wide) {
  return {pivots, static_cast<size_t>(count) * (wide ? sizeof(int64_t) : sizeof(int32_t))};
}

// The order of a square matrix, or rows and columns, with the distance between columns.
bool IsShape(int64_t rows, int64_t columns, int64_t leading) {
  return rows >= 0 && columns >= 0 && leading >= (rows > 1 ? rows : 1);
}

cusolverStatus_t Workspace(cusolverDnHandle_t handle, int rows, int columns, int leading,
                           int* elements) {
  if (!IsHandle(handle)) return CUSOLVER_STATUS_NOT_INITIALIZED;
  const int64_t needed = int64_t{rows} * columns;
  if (elements == nullptr || !IsShape(rows, columns, leading) || needed > INT_MAX) {
    return CUSOLVER_STATUS_INVALID_VALUE;
  }
  *elements = static_cast<int>(needed);
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t WorkspaceBytes(cusolverDnHandle_t handle, int64_t rows, int64_t columns,
                                int64_t leading, int type, size_t* device, size_t* host) {
  if (!IsHandle(handle)) return CUSOLVER_STATUS_NOT_INITIALIZED;
  if (device == nullptr || host == nullptr || !IsShape(rows, columns, leading) ||
      BytesOfType(type) == 0) {
    return CUSOLVER_STATUS_INVALID_VALUE;
  }
  *device = static_cast<size_t>(rows * columns) * BytesOfType(type);
  *host = 0;
  return CUSOLVER_STATUS_SUCCESS;
}

// Whether the call may go on; an empty one is done.
cusolverStatus_t Check(cusolverDnHandle_t handle, int type, bool shapes, bool pointers) {
  if (!IsHandle(handle)) return CUSOLVER_STATUS_NOT_INITIALIZED;
  return shapes && pointers && BytesOfType(type) > 0 ? CUSOLVER_STATUS_SUCCESS
                                                     : CUSOLVER_STATUS_INVALID_VALUE;
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

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

// The functions that exist once for each type.
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
