#include "simulator/runtime/libraries/cublas/cublas_call.h"

#include <algorithm>
#include <cstring>

#include "simulator/runtime/libraries/common/kernels.h"

namespace vramstow::simulator {

// The library's kernels. There is one for each kind of computation, whatever the element types are.
const char kKernelModule[] = VRAMSTOW_KERNEL_MODULE_HEAD
    // level 1
    VRAMSTOW_KERNEL("cublas_nrm2") VRAMSTOW_KERNEL("cublas_dot") VRAMSTOW_KERNEL("cublas_scal")
        VRAMSTOW_KERNEL("cublas_axpy") VRAMSTOW_KERNEL("cublas_copy") VRAMSTOW_KERNEL("cublas_swap")
            VRAMSTOW_KERNEL("cublas_iamax") VRAMSTOW_KERNEL("cublas_iamin")
                VRAMSTOW_KERNEL("cublas_asum") VRAMSTOW_KERNEL("cublas_rot")
    // level 2
    VRAMSTOW_KERNEL("cublas_gemv") VRAMSTOW_KERNEL("cublas_gbmv") VRAMSTOW_KERNEL("cublas_trmv")
        VRAMSTOW_KERNEL("cublas_trsv") VRAMSTOW_KERNEL("cublas_symv") VRAMSTOW_KERNEL("cublas_ger")
            VRAMSTOW_KERNEL("cublas_syr") VRAMSTOW_KERNEL("cublas_syr2")
                VRAMSTOW_KERNEL("cublas_gemv_batched")
                    VRAMSTOW_KERNEL("cublas_gemv_strided_batched")
    // level 3
    VRAMSTOW_KERNEL("cublas_gemm") VRAMSTOW_KERNEL("cublas_gemm_batched")
        VRAMSTOW_KERNEL("cublas_gemm_strided_batched") VRAMSTOW_KERNEL("cublas_gemm_grouped")
            VRAMSTOW_KERNEL("cublas_symm") VRAMSTOW_KERNEL("cublas_syrk")
                VRAMSTOW_KERNEL("cublas_syr2k") VRAMSTOW_KERNEL("cublas_trmm")
                    VRAMSTOW_KERNEL("cublas_trsm")
    // beyond BLAS
    VRAMSTOW_KERNEL("cublas_trsm_batched") VRAMSTOW_KERNEL("cublas_geam")
        VRAMSTOW_KERNEL("cublas_dgmm") VRAMSTOW_KERNEL("cublas_getrf_batched")
            VRAMSTOW_KERNEL("cublas_getri_batched") VRAMSTOW_KERNEL("cublas_getrs_batched")
                VRAMSTOW_KERNEL("cublas_matinv_batched") VRAMSTOW_KERNEL("cublas_geqrf_batched")
                    VRAMSTOW_KERNEL("cublas_gels_batched");

size_t BytesOf(cudaDataType type) {
  switch (type) {
    case CUDA_R_8I:
    case CUDA_R_8U:
    case CUDA_R_8F_E4M3:
    case CUDA_R_8F_E5M2:
      return 1;
    case CUDA_R_16F:
    case CUDA_R_16BF:
    case CUDA_C_8I:
    case CUDA_C_8U:
      return 2;
    case CUDA_R_32F:
    case CUDA_R_32I:
    case CUDA_R_32U:
    case CUDA_C_16F:
    case CUDA_C_16BF:
      return 4;
    case CUDA_R_64F:
    case CUDA_C_32F:
    case CUDA_C_32I:
      return 8;
    case CUDA_C_64F:
      return 16;
    default:
      return 0;
  }
}

Call::Call(cublasHandle_t handle, const char* kernel)
    : context_(CheckedHandle(handle)), kernel_(kernel) {
  if (context_ == nullptr) {
    status_ = CUBLAS_STATUS_NOT_INITIALIZED;
  }
}

void Call::Push(uint64_t word) {
  if (count_ < kArgumentWords) {
    words_[count_++] = word;
  }
}

Call& Call::Require(bool condition, cublasStatus_t status) {
  if (status_ == CUBLAS_STATUS_SUCCESS && !condition) {
    status_ = status;
  }
  return *this;
}

Call& Call::Number(int64_t value) {
  Push(static_cast<uint64_t>(value));
  return *this;
}

Call& Call::Operation(cublasOperation_t operation) {
  return Require(operation >= CUBLAS_OP_N && operation <= CUBLAS_OP_C).Number(operation);
}

Call& Call::Fill(cublasFillMode_t fill) {
  return Require(fill == CUBLAS_FILL_MODE_LOWER || fill == CUBLAS_FILL_MODE_UPPER).Number(fill);
}

Call& Call::Side(cublasSideMode_t side) {
  return Require(side == CUBLAS_SIDE_LEFT || side == CUBLAS_SIDE_RIGHT).Number(side);
}

Call& Call::Diagonal(cublasDiagType_t diagonal) {
  return Require(diagonal == CUBLAS_DIAG_NON_UNIT || diagonal == CUBLAS_DIAG_UNIT).Number(diagonal);
}

Call& Call::Extent(int64_t extent) {
  empty_ = empty_ || extent == 0;
  return Require(extent >= 0).Number(extent);
}

Call& Call::Inner(int64_t extent) { return Require(extent >= 0).Number(extent); }

Call& Call::Leading(int64_t leading, int64_t rows) {
  return Require(leading >= std::max<int64_t>(rows, 1)).Number(leading);
}

Call& Call::Increment(int64_t increment) { return Require(increment != 0).Number(increment); }

Call& Call::Stride(int64_t stride) { return Number(stride); }

Call& Call::Type(cudaDataType type) {
  return Require(BytesOf(type) > 0, CUBLAS_STATUS_NOT_SUPPORTED).Number(type);
}

Call& Call::Scalar(const void* value, cudaDataType type) {
  Require(value != nullptr);
  uint64_t words[2] = {};
  if (status_ == CUBLAS_STATUS_SUCCESS) {
    if (context_->pointer_mode == CUBLAS_POINTER_MODE_HOST) {
      memcpy(words, value, BytesOf(type));
    } else {
      words[0] = reinterpret_cast<uint64_t>(value);
    }
  }
  Push(words[0]);
  Push(words[1]);
  return *this;
}

Call& Call::Array(const void* address) {
  Push(reinterpret_cast<uint64_t>(address));
  return *this;
}

Call& Call::Spread(int64_t rows, int64_t columns, int64_t batch) {
  size_ = {rows, columns, batch};
  return *this;
}

CUresult Call::LaunchNow() {
  words_[kPointerModeWord] = context_->pointer_mode == CUBLAS_POINTER_MODE_HOST ? 0 : 1;
  return LaunchWork(kernel_, context_->stream, size_, words_, kArgumentWords);
}

cublasStatus_t Call::Launch() {
  if (status_ != CUBLAS_STATUS_SUCCESS || empty_) {
    return status_;
  }
  return StatusOf(LaunchNow());
}

cublasStatus_t Call::LaunchForResult(void* result, size_t bytes) {
  Require(result != nullptr);
  if (status_ != CUBLAS_STATUS_SUCCESS) {
    return status_;
  }
  const bool on_host = context_->pointer_mode == CUBLAS_POINTER_MODE_HOST;
  if (empty_ && on_host) {
    memset(result, 0, bytes);
    return CUBLAS_STATUS_SUCCESS;
  }
  auto target = reinterpret_cast<CUdeviceptr>(result);
  if (on_host) {
    target = context_->user_workspace != 0 && context_->user_workspace_bytes >= bytes
                 ? context_->user_workspace
                 : context_->default_workspace;
    if (target == 0) {
      return CUBLAS_STATUS_ALLOC_FAILED;
    }
  }
  CUresult outcome = ClearDeviceMemory(target, bytes, context_->stream);
  Push(target);
  if (outcome == CUDA_SUCCESS && !empty_) {
    outcome = LaunchNow();
  }
  if (outcome == CUDA_SUCCESS && on_host) {
    outcome = CopyDeviceToHost(result, target, bytes, context_->stream);
  }
  if (outcome == CUDA_SUCCESS && on_host) {
    outcome = SynchronizeStream(context_->stream);
  }
  return StatusOf(outcome);
}

}  // namespace vramstow::simulator
