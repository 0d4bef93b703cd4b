// Implements copies of vectors and matrices between host and device. A vector with gaps is treated
// as a matrix whose rows are single elements, so that one strided copy serves all forms.
#include <cstdint>

#include "simulator/runtime/libraries/common/device.h"
#include "simulator/runtime/libraries/cublas/cublas_handle.h"
#include "simulator/runtime/libraries/cublas/widths.h"

namespace vramstow::simulator {
namespace {

enum class Direction { kToDevice, kToHost };

// Copies `columns` pieces of `width` bytes; the pieces lie `from_pitch` and `to_pitch` bytes apart.
cublasStatus_t Transfer(Direction direction, const void* from, size_t from_pitch, void* to,
                        size_t to_pitch, size_t width, size_t columns, CUstream stream, bool wait) {
  if (width == 0 || columns == 0) {
    return CUBLAS_STATUS_SUCCESS;
  }
  if (from == nullptr || to == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  CUDA_MEMCPY2D copy = {};
  copy.WidthInBytes = width;
  copy.Height = columns;
  copy.srcPitch = from_pitch;
  copy.dstPitch = to_pitch;
  if (direction == Direction::kToDevice) {
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = from;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = reinterpret_cast<CUdeviceptr>(to);
  } else {
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = reinterpret_cast<CUdeviceptr>(from);
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = to;
  }
  CUresult result = Copy2D(copy, stream);
  if (result == CUDA_SUCCESS && wait) {
    result = SynchronizeStream(stream);
  }
  return result == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

cublasStatus_t Vector(Direction direction, int64_t n, int64_t element, const void* from,
                      int64_t from_increment, void* to, int64_t to_increment, CUstream stream,
                      bool wait) {
  if (n < 0 || element <= 0 || from_increment <= 0 || to_increment <= 0) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (from_increment == 1 && to_increment == 1) {
    const size_t bytes = static_cast<size_t>(n) * element;
    return Transfer(direction, from, bytes, to, bytes, bytes, 1, stream, wait);
  }
  return Transfer(direction, from, from_increment * element, to, to_increment * element, element, n,
                  stream, wait);
}

cublasStatus_t Matrix(Direction direction, int64_t rows, int64_t columns, int64_t element,
                      const void* from, int64_t from_leading, void* to, int64_t to_leading,
                      CUstream stream, bool wait) {
  if (rows < 0 || columns < 0 || element <= 0 || from_leading < rows || to_leading < rows ||
      from_leading <= 0 || to_leading <= 0) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return Transfer(direction, from, from_leading * element, to, to_leading * element, rows * element,
                  columns, stream, wait);
}

}  // namespace
}  // namespace vramstow::simulator

using vramstow::simulator::Direction;
using vramstow::simulator::Matrix;
using vramstow::simulator::Vector;

#define VECTOR(name, Index, direction)                                                           \
  cublasStatus_t name(Index n, Index elemSize, const void* x, Index incx, void* y, Index incy) { \
    return Vector(direction, n, elemSize, x, incx, y, incy, nullptr, true);                      \
  }
BOTH_WIDTHS(VECTOR, cublasSetVector, Direction::kToDevice)
BOTH_WIDTHS(VECTOR, cublasGetVector, Direction::kToHost)

#define VECTOR_ASYNC(name, Index, direction)                                                   \
  cublasStatus_t name(Index n, Index elemSize, const void* x, Index incx, void* y, Index incy, \
                      cudaStream_t stream) {                                                   \
    return Vector(direction, n, elemSize, x, incx, y, incy, stream, false);                    \
  }
BOTH_WIDTHS(VECTOR_ASYNC, cublasSetVectorAsync, Direction::kToDevice)
BOTH_WIDTHS(VECTOR_ASYNC, cublasGetVectorAsync, Direction::kToHost)

#define MATRIX(name, Index, direction)                                                           \
  cublasStatus_t name(Index rows, Index cols, Index elemSize, const void* A, Index lda, void* B, \
                      Index ldb) {                                                               \
    return Matrix(direction, rows, cols, elemSize, A, lda, B, ldb, nullptr, true);               \
  }
BOTH_WIDTHS(MATRIX, cublasSetMatrix, Direction::kToDevice)
BOTH_WIDTHS(MATRIX, cublasGetMatrix, Direction::kToHost)

#define MATRIX_ASYNC(name, Index, direction)                                                     \
  cublasStatus_t name(Index rows, Index cols, Index elemSize, const void* A, Index lda, void* B, \
                      Index ldb, cudaStream_t stream) {                                          \
    return Matrix(direction, rows, cols, elemSize, A, lda, B, ldb, stream, false);               \
  }
BOTH_WIDTHS(MATRIX_ASYNC, cublasSetMatrixAsync, Direction::kToDevice)
BOTH_WIDTHS(MATRIX_ASYNC, cublasGetMatrixAsync, Direction::kToHost)
