// Checks the matrices that are passed to cuSOLVER, and describes where the results of a call lie.
//
// Idea: each function checks its arguments and queues a kernel. Its results are not computed
// (common/left_out.h). Modelled: workspaces are as large as the matrix. Functions with a type
// letter count them in elements, and the generic functions in bytes.
//
// Ownership: none. Threads: pure functions. Errors: cusolverStatus_t. Units: elements, or bytes
// where a name says so.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUSOLVER_MATRICES_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUSOLVER_MATRICES_H_

#include <library_types.h>

#include <climits>
#include <cstddef>
#include <cstdint>

#include "simulator/runtime/libraries/common/element_bytes.h"
#include "simulator/runtime/libraries/common/left_out.h"
#include "simulator/runtime/libraries/cusolver/handle.h"

namespace vramstow::simulator {

inline bool IsSolved(int type) {
  return type == CUDA_R_32F || type == CUDA_R_64F || type == CUDA_C_32F || type == CUDA_C_64F;
}

inline Result MatrixAt(const void* address, int type, int64_t rows, int64_t columns,
                       int64_t leading) {
  return {address, static_cast<size_t>((columns - 1) * leading + rows) * BytesOfElement(type)};
}
inline Result InfoAt(const int* info, int count = 1) {
  return {info, static_cast<size_t>(count) * sizeof *info};
}
// Describes `count` real numbers (such as singular values) of the same precision as `type`. The
// result has no bytes if the address is null.
inline Result RealsAt(const void* address, int type, int64_t count) {
  const size_t bytes = type == CUDA_R_32F || type == CUDA_C_32F ? 4 : 8;
  return {address, address == nullptr ? 0 : static_cast<size_t>(count) * bytes};
}
// Describes `count` matrices whose beginnings are `stride` elements apart. The result has no bytes
// if the address is null.
inline Result MatricesAt(const void* address, int type, int64_t rows, int64_t columns,
                         int64_t leading, int64_t stride, int64_t count) {
  if (address == nullptr || rows == 0 || columns == 0 || count == 0) return {address, 0};
  const Result last = MatrixAt(address, type, rows, columns, leading);
  return {address, static_cast<size_t>((count - 1) * stride) * BytesOfElement(type) + last.bytes};
}

// True if a matrix can have these numbers of rows and columns, with `leading` elements from one
// column to the next.
inline bool IsShape(int64_t rows, int64_t columns, int64_t leading) {
  return rows >= 0 && columns >= 0 && leading >= (rows > 1 ? rows : 1);
}

inline cusolverStatus_t Workspace(cusolverDnHandle_t handle, int rows, int columns, int leading,
                                  int* elements) {
  if (!IsHandle(handle)) return CUSOLVER_STATUS_NOT_INITIALIZED;
  const int64_t needed = int64_t{rows} * columns;
  if (elements == nullptr || !IsShape(rows, columns, leading) || needed > INT_MAX) {
    return CUSOLVER_STATUS_INVALID_VALUE;
  }
  *elements = static_cast<int>(needed);
  return CUSOLVER_STATUS_SUCCESS;
}

// Like Workspace, for `count` matrices of the same shape.
inline cusolverStatus_t Workspaces(cusolverDnHandle_t handle, int rows, int columns, int leading,
                                   int count, int* elements) {
  const cusolverStatus_t status = Workspace(handle, rows, columns, leading, elements);
  if (status != CUSOLVER_STATUS_SUCCESS) return status;
  const int64_t needed = int64_t{*elements} * count;
  if (count < 0 || needed > INT_MAX) return CUSOLVER_STATUS_INVALID_VALUE;
  *elements = static_cast<int>(needed);
  return CUSOLVER_STATUS_SUCCESS;
}

inline cusolverStatus_t WorkspaceBytes(cusolverDnHandle_t handle, int64_t rows, int64_t columns,
                                       int64_t leading, int type, size_t* device, size_t* host) {
  if (!IsHandle(handle)) return CUSOLVER_STATUS_NOT_INITIALIZED;
  if (device == nullptr || host == nullptr || !IsShape(rows, columns, leading) || !IsSolved(type)) {
    return CUSOLVER_STATUS_INVALID_VALUE;
  }
  *device = static_cast<size_t>(rows * columns) * BytesOfElement(type);
  *host = 0;
  return CUSOLVER_STATUS_SUCCESS;
}

// Returns a success if the handle and the type are valid and the caller's own checks (`shapes` and
// `pointers`) were successful.
inline cusolverStatus_t Check(cusolverDnHandle_t handle, int type, bool shapes, bool pointers) {
  if (!IsHandle(handle)) return CUSOLVER_STATUS_NOT_INITIALIZED;
  return shapes && pointers && IsSolved(type) ? CUSOLVER_STATUS_SUCCESS
                                              : CUSOLVER_STATUS_INVALID_VALUE;
}

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUSOLVER_MATRICES_H_
