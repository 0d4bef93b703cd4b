#include "simulator/runtime/libraries/cudnn/cudnn_handle.h"

#include <cstdio>
#include <cstring>
#include <new>

#include "simulator/runtime/libraries/common/kernels.h"
#include "simulator/runtime/libraries/common/refusal.h"
#include "simulator/runtime/libraries/common/versions.h"

namespace vramstow::simulator {

const LibraryIdentity kLibrary = {"cuDNN", CUDNN_STATUS_NOT_SUPPORTED,
                                  "CUDNN_STATUS_NOT_SUPPORTED"};

// clang-format off
const char kKernelModule[] = VRAMSTOW_KERNEL_MODULE_HEAD
    VRAMSTOW_KERNEL("cudnn_activation_backward")
    VRAMSTOW_KERNEL("cudnn_activation_forward")
    VRAMSTOW_KERNEL("cudnn_add_tensor")
    VRAMSTOW_KERNEL("cudnn_batch_norm_backward")
    VRAMSTOW_KERNEL("cudnn_batch_norm_forward")
    VRAMSTOW_KERNEL("cudnn_batch_norm_inference")
    VRAMSTOW_KERNEL("cudnn_convolution_backward_bias")
    VRAMSTOW_KERNEL("cudnn_convolution_backward_data")
    VRAMSTOW_KERNEL("cudnn_convolution_backward_filter")
    VRAMSTOW_KERNEL("cudnn_convolution_forward")
    VRAMSTOW_KERNEL("cudnn_ctc_loss")
    VRAMSTOW_KERNEL("cudnn_dropout_backward")
    VRAMSTOW_KERNEL("cudnn_dropout_forward")
    VRAMSTOW_KERNEL("cudnn_dropout_initialize")
    VRAMSTOW_KERNEL("cudnn_execution_plan")
    VRAMSTOW_KERNEL("cudnn_pooling_backward")
    VRAMSTOW_KERNEL("cudnn_pooling_forward")
    VRAMSTOW_KERNEL("cudnn_rnn_backward_data")
    VRAMSTOW_KERNEL("cudnn_rnn_backward_weights")
    VRAMSTOW_KERNEL("cudnn_rnn_forward")
    VRAMSTOW_KERNEL("cudnn_scale_tensor")
    VRAMSTOW_KERNEL("cudnn_set_tensor")
    VRAMSTOW_KERNEL("cudnn_softmax_backward")
    VRAMSTOW_KERNEL("cudnn_softmax_forward")
    VRAMSTOW_KERNEL("cudnn_spatial_transformer")
    VRAMSTOW_KERNEL("cudnn_transform_tensor");
// clang-format on

namespace {

constexpr size_t kStateBytes = 25344;

// The text that cudnnGetLastErrorString returns: one sentence per thread, empty until a call
// failed.
thread_local char last_error[256];

}  // namespace

bool IsHandle(cudnnHandle_t handle) { return handle != nullptr && handle->magic == kCudnnMagic; }

cudnnStatus_t StatusOf(CUresult result) {
  switch (result) {
    case CUDA_SUCCESS:
      return CUDNN_STATUS_SUCCESS;
    case CUDA_ERROR_OUT_OF_MEMORY:
      return CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
      return CUDNN_STATUS_NOT_INITIALIZED;
    default:
      return CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER;
  }
}

cudnnStatus_t Fail(cudnnStatus_t status, const char* sentence) {
  snprintf(last_error, sizeof(last_error), "%s", sentence);
  return status;
}

cudnnStatus_t Launch(cudnnHandle_t handle, const char* name, const WorkSize& size,
                     std::initializer_list<uint64_t> words) {
  if (!IsHandle(handle)) {
    return Fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "the cuDNN handle is null or destroyed");
  }
  return StatusOf(LaunchWork(name, handle->stream, size, words.begin(), words.size()));
}

}  // namespace vramstow::simulator

using vramstow::simulator::Fail;
using vramstow::simulator::IsHandle;
using vramstow::simulator::kCudaVersion;
using vramstow::simulator::kCudnnVersion;

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  if (handle == nullptr) {
    return Fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnCreate needs a place for the handle");
  }
  const CUresult result = vramstow::simulator::EnsureContext();
  if (result != CUDA_SUCCESS) {
    return Fail(CUDNN_STATUS_NOT_INITIALIZED, "cudnnCreate found no CUDA device to work on");
  }
  auto* created = new (std::nothrow) cudnnContext;
  if (created == nullptr) {
    return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
  }
  if (vramstow::simulator::AllocateDeviceMemory(&created->state,
                                                vramstow::simulator::kStateBytes) != CUDA_SUCCESS) {
    delete created;
    return Fail(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED,
                "no device memory for a handle of cuDNN");
  }
  created->magic = vramstow::simulator::kCudnnMagic;
  *handle = created;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  if (!IsHandle(handle)) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "cudnnDestroy was given no cuDNN handle");
  }
  handle->magic = 0;
  // When a process ends, the driver may shut down before the last handle is destroyed, which is not
  // a failure.
  vramstow::simulator::FreeDeviceMemory(handle->state);
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t streamId) {
  if (!IsHandle(handle)) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "cudnnSetStream was given no cuDNN handle");
  }
  handle->stream = streamId;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* streamId) {
  if (!IsHandle(handle) || streamId == nullptr) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetStream needs a handle and a place for the stream");
  }
  *streamId = handle->stream;
  return CUDNN_STATUS_SUCCESS;
}

// From release 9 on, the major number is multiplied by 10000; in older releases it is multiplied by
// 1000.
size_t cudnnGetVersion(void) {
  return kCudnnVersion.major * (kCudnnVersion.major < 9 ? 1000 : 10000) +
         kCudnnVersion.minor * 100 + kCudnnVersion.patch;
}

// The newest compute capability that this release supports, 12.1, as its header encodes it.
size_t cudnnGetMaxDeviceVersion(void) { return 1210; }

size_t cudnnGetCudartVersion(void) { return kCudaVersion; }

cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr) {
    return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  }
  return StoreProperty(kCudnnVersion, type, value) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t cudnnGraphVersionCheck(void) { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnOpsVersionCheck(void) { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnCnnVersionCheck(void) { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnAdvVersionCheck(void) { return CUDNN_STATUS_SUCCESS; }

void cudnnGetLastErrorString(char* message, size_t max_size) {
  if (message != nullptr && max_size > 0) {
    snprintf(message, max_size, "%s", vramstow::simulator::last_error);
    vramstow::simulator::last_error[0] = '\0';
  }
}

#define VRAMSTOW_STATUS_NAME(status) \
  case status:                       \
    return #status;

const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (static_cast<int>(status)) {
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_SUCCESS)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_NOT_INITIALIZED)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_DEPRECATED)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_LICENSE_ERROR)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_RUNTIME_IN_PROGRESS)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_RUNTIME_FP_OVERFLOW)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_BAD_PARAM)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_BAD_PARAM_NULL_POINTER)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_NOT_SUPPORTED)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_NOT_SUPPORTED_SHAPE)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_INTERNAL_ERROR)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_EXECUTION_FAILED)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER)
    VRAMSTOW_STATUS_NAME(CUDNN_STATUS_EXECUTION_FAILED_CUDART)
    default:
      return "CUDNN_UNKNOWN_STATUS";
  }
}

// cuDNN's own log does not exist here, so the callback is ignored, as if logging were switched off.
cudnnStatus_t cudnnSetCallback(unsigned /*mask*/, void* /*udata*/, cudnnCallback_t /*fptr*/) {
  return CUDNN_STATUS_SUCCESS;
}
