// Implements dropout, and its random states, which are in memory of the caller.
//
// Modelled: 48 bytes of state (cuRAND's default generator) for each of 2,048 threads on each of the
// device's processors. cuDNN documents that the size depends on the device, but not how.
#include "simulator/runtime/libraries/cudnn/cudnn_descriptors.h"
#include "simulator/runtime/libraries/cudnn/cudnn_handle.h"

namespace vramstow::simulator {
namespace {

constexpr size_t kStateBytesPerProcessor = size_t{48} * 2048;

cudnnStatus_t StatesSize(size_t* bytes) {
  int processors = 0;
  const CUresult result = ProcessorCount(&processors);
  if (result == CUDA_SUCCESS) {
    *bytes = processors * kStateBytesPerProcessor;
  }
  return StatusOf(result);
}

cudnnStatus_t Keep(cudnnDropoutDescriptor_t dropout, cudnnHandle_t handle, float probability,
                   void* states, size_t bytes, unsigned long long seed) {
  if (dropout == nullptr || !IsHandle(handle) || !(probability >= 0 && probability <= 1)) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "a dropout needs a handle and a probability of 0 to 1");
  }
  size_t needed = 0;
  const cudnnStatus_t status = StatesSize(&needed);
  if (status != CUDNN_STATUS_SUCCESS) {
    return status;
  }
  if (states != nullptr && bytes < needed) {
    return Fail(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, "the dropout's states are too small");
  }
  dropout->probability = probability;
  dropout->states = states;
  dropout->seed = seed;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

cudnnStatus_t cudnnDropoutGetStatesSize(cudnnHandle_t handle, size_t* sizeInBytes) {
  if (!IsHandle(handle) || sizeInBytes == nullptr) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  return StatesSize(sizeInBytes);
}

cudnnStatus_t cudnnDropoutGetReserveSpaceSize(cudnnTensorDescriptor_t xdesc, size_t* sizeInBytes) {
  if (xdesc == nullptr || sizeInBytes == nullptr) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  *sizeInBytes = static_cast<size_t>(ElementsOf(*xdesc) + 7) / 8;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc, cudnnHandle_t handle,
                                        float dropout, void* states, size_t stateSizeInBytes,
                                        unsigned long long seed) {
  const cudnnStatus_t status = Keep(dropoutDesc, handle, dropout, states, stateSizeInBytes, seed);
  if (status != CUDNN_STATUS_SUCCESS || states == nullptr) {
    return status;
  }
  return Launch(handle, "cudnn_dropout_initialize", {}, {Word(states), stateSizeInBytes, seed});
}

cudnnStatus_t cudnnRestoreDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc,
                                            cudnnHandle_t handle, float dropout, void* states,
                                            size_t stateSizeInBytes, unsigned long long seed) {
  return Keep(dropoutDesc, handle, dropout, states, stateSizeInBytes, seed);
}

cudnnStatus_t cudnnGetDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc, cudnnHandle_t handle,
                                        float* dropout, void** states, unsigned long long* seed) {
  if (dropoutDesc == nullptr || !IsHandle(handle)) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  if (dropout != nullptr) {
    *dropout = dropoutDesc->probability;
  }
  if (states != nullptr) {
    *states = dropoutDesc->states;
  }
  if (seed != nullptr) {
    *seed = dropoutDesc->seed;
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDropoutForward(cudnnHandle_t handle, const cudnnDropoutDescriptor_t dropoutDesc,
                                  const cudnnTensorDescriptor_t xdesc, const void* x,
                                  const cudnnTensorDescriptor_t, void* y, void* reserveSpace,
                                  size_t reserveSpaceSizeInBytes) {
  if (dropoutDesc == nullptr || xdesc == nullptr || x == nullptr || y == nullptr) {
    return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  }
  if (reserveSpaceSizeInBytes < static_cast<size_t>(ElementsOf(*xdesc) + 7) / 8) {
    return CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT;
  }
  return Launch(handle, "cudnn_dropout_forward", {ElementsOf(*xdesc), 1, 1},
                {Word(x), Word(y), Word(dropoutDesc->states), Word(reserveSpace)});
}

cudnnStatus_t cudnnDropoutBackward(cudnnHandle_t handle, const cudnnDropoutDescriptor_t dropoutDesc,
                                   const cudnnTensorDescriptor_t dydesc, const void* dy,
                                   const cudnnTensorDescriptor_t, void* dx, void* reserveSpace,
                                   size_t reserveSpaceSizeInBytes) {
  if (dropoutDesc == nullptr || dydesc == nullptr || dy == nullptr || dx == nullptr) {
    return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  }
  if (reserveSpaceSizeInBytes < static_cast<size_t>(ElementsOf(*dydesc) + 7) / 8) {
    return CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT;
  }
  return Launch(handle, "cudnn_dropout_backward", {ElementsOf(*dydesc), 1, 1},
                {Word(dy), Word(dx), Word(reserveSpace)});
}
