#include "simulator/runtime/libraries/cublas/cublas_handle.h"

#include <cstdlib>
#include <iterator>
#include <new>

#include "simulator/runtime/libraries/common/device.h"
#include "simulator/runtime/libraries/common/versions.h"

// Macro arguments are types here, which cannot be put in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)

namespace vramstow::simulator {

cublasContext* CheckedHandle(cublasHandle_t handle) {
  return handle != nullptr && handle->magic == kBlasMagic ? handle : nullptr;
}

size_t DefaultWorkspaceBytes(int compute_capability, const char* configuration) {
  if (configuration != nullptr) {
    size_t total = 0;
    bool right = *configuration != '\0';
    for (const char* place = configuration; right && *place != '\0';) {
      size_t values[2] = {};
      for (size_t& value : values) {
        char* end = nullptr;
        value = *place == ':' ? strtoull(place + 1, &end, 10) : 0;
        right = right && *place == ':' && end != place + 1 && value <= (1u << 30);
        place = right ? end : place;
      }
      total += values[0] * 1024 * values[1];
    }
    if (right) {
      return total;
    }
  }
  constexpr size_t kMebibyte = 1 << 20;
  if (compute_capability >= 120) {
    return 12 * kMebibyte;
  }
  if (compute_capability >= 90) {
    return (kCublasVersion.major >= 13 ? 64 : 32) * kMebibyte;
  }
  return 4 * kMebibyte;
}

namespace {

// Frees all memory of the handle. A failure does not stop it; the first error is returned at the
// end.
CUresult FreeMemory(const cublasContext& context) {
  CUresult result = CUDA_SUCCESS;
  for (const CUdeviceptr address :
       {context.default_workspace, context.state[0], context.state[1]}) {
    if (address == 0) continue;
    const CUresult freed = FreeDeviceMemory(address);
    if (result == CUDA_SUCCESS) result = freed;
  }
  return result;
}

}  // namespace
}  // namespace vramstow::simulator

using vramstow::simulator::CheckedHandle;
using vramstow::simulator::FreeMemory;
using vramstow::simulator::StatusOf;

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  if (handle == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  int capability = 0;
  CUresult result = vramstow::simulator::ComputeCapability(&capability);
  if (result != CUDA_SUCCESS) {
    return StatusOf(result);
  }
  auto* created = new (std::nothrow) cublasContext;
  if (created == nullptr) {
    return CUBLAS_STATUS_ALLOC_FAILED;
  }
  created->default_workspace_bytes =
      vramstow::simulator::DefaultWorkspaceBytes(capability, getenv("CUBLAS_WORKSPACE_CONFIG"));
  if (created->default_workspace_bytes > 0) {
    result = vramstow::simulator::AllocateDeviceMemory(&created->default_workspace,
                                                       created->default_workspace_bytes);
  }
  for (size_t i = 0; i < std::size(created->state) && result == CUDA_SUCCESS; ++i) {
    result = vramstow::simulator::AllocateDeviceMemory(&created->state[i],
                                                       vramstow::simulator::kBlasStateBytes[i]);
  }
  if (result != CUDA_SUCCESS) {
    FreeMemory(*created);
    delete created;
    return StatusOf(result);
  }
  created->magic = vramstow::simulator::kBlasMagic;
  *handle = created;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  cublasContext* context = CheckedHandle(handle);
  if (context == nullptr) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  context->magic = 0;
  const CUresult result = FreeMemory(*context);
  delete context;
  // When a process ends, the driver may shut down before the last handle is destroyed, which is not
  // a failure.
  return result == CUDA_ERROR_DEINITIALIZED ? CUBLAS_STATUS_SUCCESS : StatusOf(result);
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace,
                                     size_t workspaceSizeInBytes) {
  cublasContext* context = CheckedHandle(handle);
  if (context == nullptr) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  const auto address = reinterpret_cast<CUdeviceptr>(workspace);
  // The documentation requires an alignment of 256 bytes.
  if (address % 256 != 0) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  context->user_workspace = workspaceSizeInBytes > 0 ? address : 0;
  context->user_workspace_bytes = context->user_workspace != 0 ? workspaceSizeInBytes : 0;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t streamId) {
  cublasContext* context = CheckedHandle(handle);
  if (context == nullptr) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  // As documented, setting a stream always restores the default workspace.
  context->stream = streamId;
  context->user_workspace = 0;
  context->user_workspace_bytes = 0;
  return CUBLAS_STATUS_SUCCESS;
}

// Settings that are only stored: one getter and one setter for each, with the values that cuBLAS
// accepts.
#define VRAMSTOW_SETTING(get, set, Type, field, accepted)  \
  cublasStatus_t get(cublasHandle_t handle, Type* value) { \
    const cublasContext* context = CheckedHandle(handle);  \
    if (context == nullptr) {                              \
      return CUBLAS_STATUS_NOT_INITIALIZED;                \
    }                                                      \
    if (value == nullptr) {                                \
      return CUBLAS_STATUS_INVALID_VALUE;                  \
    }                                                      \
    *value = context->field;                               \
    return CUBLAS_STATUS_SUCCESS;                          \
  }                                                        \
  cublasStatus_t set(cublasHandle_t handle, Type value) {  \
    cublasContext* context = CheckedHandle(handle);        \
    if (context == nullptr) {                              \
      return CUBLAS_STATUS_NOT_INITIALIZED;                \
    }                                                      \
    if (!(accepted)) {                                     \
      return CUBLAS_STATUS_INVALID_VALUE;                  \
    }                                                      \
    context->field = value;                                \
    return CUBLAS_STATUS_SUCCESS;                          \
  }

namespace {

// A mode is one of the enum's values, optionally with the flag that forbids reductions in reduced
// precision.
bool IsMathMode(cublasMath_t mode) {
  switch (mode & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) {
    case CUBLAS_DEFAULT_MATH:
    case CUBLAS_TENSOR_OP_MATH:
    case CUBLAS_PEDANTIC_MATH:
    case CUBLAS_TF32_TENSOR_OP_MATH:
    case CUBLAS_FP32_EMULATED_BF16X9_MATH:
    case CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH:
    case CUBLAS_FP32_EMULATED_BF16X9_MATH | CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH:
      return true;
    default:
      return false;
  }
}

}  // namespace

VRAMSTOW_SETTING(cublasGetPointerMode_v2, cublasSetPointerMode_v2, cublasPointerMode_t,
                 pointer_mode,
                 value == CUBLAS_POINTER_MODE_HOST || value == CUBLAS_POINTER_MODE_DEVICE)
VRAMSTOW_SETTING(cublasGetAtomicsMode, cublasSetAtomicsMode, cublasAtomicsMode_t, atomics_mode,
                 value == CUBLAS_ATOMICS_NOT_ALLOWED || value == CUBLAS_ATOMICS_ALLOWED)
VRAMSTOW_SETTING(cublasGetMathMode, cublasSetMathMode, cublasMath_t, math_mode, IsMathMode(value))
VRAMSTOW_SETTING(cublasGetSmCountTarget, cublasSetSmCountTarget, int, sm_count_target, value >= 0)
VRAMSTOW_SETTING(cublasGetEmulationStrategy, cublasSetEmulationStrategy, cublasEmulationStrategy_t,
                 emulation_strategy,
                 value >= CUBLAS_EMULATION_STRATEGY_DEFAULT &&
                     value <= CUBLAS_EMULATION_STRATEGY_EAGER)
VRAMSTOW_SETTING(cublasGetEmulationSpecialValuesSupport, cublasSetEmulationSpecialValuesSupport,
                 cudaEmulationSpecialValuesSupport, special_values, true)
VRAMSTOW_SETTING(cublasGetFixedPointEmulationMantissaControl,
                 cublasSetFixedPointEmulationMantissaControl, cudaEmulationMantissaControl,
                 mantissa_control, true)
VRAMSTOW_SETTING(cublasGetFixedPointEmulationMaxMantissaBitCount,
                 cublasSetFixedPointEmulationMaxMantissaBitCount, int, max_mantissa_bits,
                 value >= 0)
VRAMSTOW_SETTING(cublasGetFixedPointEmulationMantissaBitOffset,
                 cublasSetFixedPointEmulationMantissaBitOffset, int, mantissa_bit_offset, true)
VRAMSTOW_SETTING(cublasGetFixedPointEmulationMantissaBitCountPointer,
                 cublasSetFixedPointEmulationMantissaBitCountPointer, int*, mantissa_bit_count,
                 true)

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* streamId) {
  const cublasContext* context = CheckedHandle(handle);
  if (context == nullptr) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  if (streamId == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *streamId = context->stream;
  return CUBLAS_STATUS_SUCCESS;
}

// NOLINTEND(bugprone-macro-parentheses)
