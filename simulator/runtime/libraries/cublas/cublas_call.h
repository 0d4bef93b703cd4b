// Call is one cuBLAS computation: it checks and records the arguments one after the other, then
// queues the kernel that stands for the computation on the handle's stream.
//
//   return Call(handle, "cublas_gemv").Operation(trans).Extent(m).Extent(n).Scalar(alpha,
//   CUDA_R_32F)
//       .Array(A).Leading(lda, m).Array(x).Increment(incx) … .Launch();
//
// The first wrong argument decides the status, and the rest is skipped. The kernel's argument words
// are the values in the order of the calls. Integers and addresses are stored as they are. A scalar
// has two words: in host pointer mode they hold its bytes (at most 16), and in device pointer mode
// its address and 0. The last word is 0 in host and 1 in device pointer mode.
//
// Ownership: none. Threads: a Call belongs to one thread. Errors: cuBLAS's status codes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUBLAS_CUBLAS_CALL_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUBLAS_CUBLAS_CALL_H_

#include <cstddef>
#include <cstdint>

#include "simulator/runtime/libraries/common/device.h"
#include "simulator/runtime/libraries/cublas/cublas_handle.h"

namespace vramstow::simulator {

// The cudaDataType of the types that cuBLAS's signatures use.
template <typename T>
inline constexpr cudaDataType kDataType = CUDA_R_32F;
template <>
inline constexpr cudaDataType kDataType<double> = CUDA_R_64F;
template <>
inline constexpr cudaDataType kDataType<cuComplex> = CUDA_C_32F;
template <>
inline constexpr cudaDataType kDataType<cuDoubleComplex> = CUDA_C_64F;
template <>
inline constexpr cudaDataType kDataType<__half> = CUDA_R_16F;
template <>
inline constexpr cudaDataType kDataType<__nv_bfloat16> = CUDA_R_16BF;

inline constexpr size_t kPointerModeWord = kArgumentWords - 1;

// Returns the bytes of one value, as a matrix element or a scalar. Returns 0 for a type that cuBLAS
// does not have.
size_t BytesOf(cudaDataType type);

class Call {
 public:
  Call(cublasHandle_t handle, const char* kernel);

  // Adds a transposition; CUBLAS_OP_CONJG is refused as in cuBLAS.
  Call& Operation(cublasOperation_t operation);
  Call& Fill(cublasFillMode_t fill);
  Call& Side(cublasSideMode_t side);
  Call& Diagonal(cublasDiagType_t diagonal);
  // Adds a number of results (rows, columns, batch). It must not be negative; if it is 0, nothing
  // is launched.
  Call& Extent(int64_t extent);
  // Adds a size that may be 0 without making the whole call empty, such as the k of a GEMM.
  Call& Inner(int64_t extent);
  // Adds the distance between columns, which must be at least `rows` and at least 1.
  Call& Leading(int64_t leading, int64_t rows);
  // Adds the distance between a vector's elements, which must not be 0.
  Call& Increment(int64_t increment);
  Call& Stride(int64_t stride);
  Call& Type(cudaDataType type);
  // Adds a scalar. In host pointer mode its value is read from host memory. A null address is
  // refused.
  Call& Scalar(const void* value, cudaDataType type);
  // Adds an address in device memory. The kernel checks whether it is valid.
  Call& Array(const void* address);
  Call& Number(int64_t value);
  // Adds a check that the functions above do not cover.
  Call& Require(bool condition, cublasStatus_t status = CUBLAS_STATUS_INVALID_VALUE);

  // Sets the number of results that determines the grid. If this function is not called, the grid
  // has one tile.
  Call& Spread(int64_t rows, int64_t columns, int64_t batch = 1);

  cublasStatus_t Launch();

  // Launches a computation whose result is one value. In device pointer mode `result` is the
  // kernel's last argument. In host pointer mode the call waits for the stream and writes `bytes`
  // bytes to `result`; unless the driver knows the kernel by name, the value is 0.
  cublasStatus_t LaunchForResult(void* result, size_t bytes);

 private:
  void Push(uint64_t word);
  CUresult LaunchNow();

  cublasContext* context_;
  const char* kernel_;
  cublasStatus_t status_ = CUBLAS_STATUS_SUCCESS;
  bool empty_ = false;
  WorkSize size_;
  uint64_t words_[kArgumentWords] = {};
  size_t count_ = 0;
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUBLAS_CUBLAS_CALL_H_
