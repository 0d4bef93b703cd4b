// Converts a failed driver call to a status of cuBLAS or cuBLASLt.
//
// Ownership: values. Threads: a pure function. Errors: the results are errors. Units: none.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUBLAS_STATUS_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUBLAS_STATUS_H_

#include <cuda.h>

#include "simulator/runtime/libraries/cublas/cublas.h"

namespace vramstow::simulator {

inline cublasStatus_t StatusOf(CUresult result) {
  switch (result) {
    case CUDA_SUCCESS:
      return CUBLAS_STATUS_SUCCESS;
    case CUDA_ERROR_OUT_OF_MEMORY:
      return CUBLAS_STATUS_ALLOC_FAILED;
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CUDA_ERROR_INVALID_CONTEXT:
      return CUBLAS_STATUS_NOT_INITIALIZED;
    default:
      return CUBLAS_STATUS_EXECUTION_FAILED;
  }
}

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUBLAS_STATUS_H_
