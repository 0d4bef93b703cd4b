// Implements work on every element of a tensor, or on small windows: activation, softmax, pooling,
// sums, copies, and the spatial transformer.
#include "simulator/runtime/libraries/cudnn/cudnn_descriptors.h"
#include "simulator/runtime/libraries/cudnn/cudnn_handle.h"

namespace vramstow::simulator {
namespace {

// Queues `kernel` over the elements of `shape` if no operand is null.
cudnnStatus_t OverElements(cudnnHandle_t handle, const char* kernel, const cudnnTensorStruct* shape,
                           std::initializer_list<uint64_t> operands) {
  if (shape == nullptr) {
    return Fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "a tensor descriptor is missing");
  }
  for (uint64_t operand : operands) {
    if (operand == 0) {
      return Fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "an operand has no address");
    }
  }
  return Launch(handle, kernel, {ElementsOf(*shape), 1, 1}, operands);
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

cudnnStatus_t cudnnActivationForward(cudnnHandle_t handle, cudnnActivationDescriptor_t, const void*,
                                     const cudnnTensorDescriptor_t xDesc, const void* x,
                                     const void*, const cudnnTensorDescriptor_t, void* y) {
  return OverElements(handle, "cudnn_activation_forward", xDesc, {Word(x), Word(y)});
}

cudnnStatus_t cudnnActivationBackward(cudnnHandle_t handle, cudnnActivationDescriptor_t,
                                      const void*, const cudnnTensorDescriptor_t yDesc,
                                      const void* y, const cudnnTensorDescriptor_t, const void* dy,
                                      const cudnnTensorDescriptor_t, const void* x, const void*,
                                      const cudnnTensorDescriptor_t, void* dx) {
  return OverElements(handle, "cudnn_activation_backward", yDesc,
                      {Word(y), Word(dy), Word(x), Word(dx)});
}

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t, cudnnSoftmaxMode_t,
                                  const void*, const cudnnTensorDescriptor_t xDesc, const void* x,
                                  const void*, const cudnnTensorDescriptor_t, void* y) {
  return OverElements(handle, "cudnn_softmax_forward", xDesc, {Word(x), Word(y)});
}

cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t,
                                   cudnnSoftmaxMode_t, const void*,
                                   const cudnnTensorDescriptor_t yDesc, const void* y,
                                   const cudnnTensorDescriptor_t, const void* dy, const void*,
                                   const cudnnTensorDescriptor_t, void* dx) {
  return OverElements(handle, "cudnn_softmax_backward", yDesc, {Word(y), Word(dy), Word(dx)});
}

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t poolingDesc,
                                  const void*, const cudnnTensorDescriptor_t xDesc, const void* x,
                                  const void*, const cudnnTensorDescriptor_t yDesc, void* y) {
  if (poolingDesc == nullptr || xDesc == nullptr || poolingDesc->count + 2 != xDesc->count) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "the pooling window and the tensor differ in dimensions");
  }
  return OverElements(handle, "cudnn_pooling_forward", yDesc, {Word(x), Word(y)});
}

cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t,
                                   const void*, const cudnnTensorDescriptor_t, const void* y,
                                   const cudnnTensorDescriptor_t, const void* dy,
                                   const cudnnTensorDescriptor_t xDesc, const void* x, const void*,
                                   const cudnnTensorDescriptor_t, void* dx) {
  return OverElements(handle, "cudnn_pooling_backward", xDesc,
                      {Word(y), Word(dy), Word(x), Word(dx)});
}

cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void*, const cudnnTensorDescriptor_t,
                             const void* A, const void*, const cudnnTensorDescriptor_t cDesc,
                             void* C) {
  return OverElements(handle, "cudnn_add_tensor", cDesc, {Word(A), Word(C)});
}

cudnnStatus_t cudnnSetTensor(cudnnHandle_t handle, const cudnnTensorDescriptor_t yDesc, void* y,
                             const void* valuePtr) {
  return OverElements(handle, "cudnn_set_tensor", yDesc, {Word(y), Word(valuePtr)});
}

cudnnStatus_t cudnnScaleTensor(cudnnHandle_t handle, const cudnnTensorDescriptor_t yDesc, void* y,
                               const void* alpha) {
  return OverElements(handle, "cudnn_scale_tensor", yDesc, {Word(y), Word(alpha)});
}

cudnnStatus_t cudnnTransformTensor(cudnnHandle_t handle, const void*,
                                   const cudnnTensorDescriptor_t xDesc, const void* x, const void*,
                                   const cudnnTensorDescriptor_t, void* y) {
  return OverElements(handle, "cudnn_transform_tensor", xDesc, {Word(x), Word(y)});
}

cudnnStatus_t cudnnSpatialTfGridGeneratorForward(cudnnHandle_t handle,
                                                 const cudnnSpatialTransformerDescriptor_t stDesc,
                                                 const void* theta, void* grid) {
  if (stDesc == nullptr || theta == nullptr || grid == nullptr) {
    return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  }
  return Launch(handle, "cudnn_spatial_transformer", {}, {Word(theta), Word(grid)});
}

cudnnStatus_t cudnnSpatialTfGridGeneratorBackward(cudnnHandle_t handle,
                                                  const cudnnSpatialTransformerDescriptor_t stDesc,
                                                  const void* dgrid, void* dtheta) {
  if (stDesc == nullptr || dgrid == nullptr || dtheta == nullptr) {
    return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  }
  return Launch(handle, "cudnn_spatial_transformer", {}, {Word(dgrid), Word(dtheta)});
}

cudnnStatus_t cudnnSpatialTfSamplerForward(cudnnHandle_t handle,
                                           cudnnSpatialTransformerDescriptor_t stDesc, const void*,
                                           const cudnnTensorDescriptor_t xDesc, const void* x,
                                           const void* grid, const void*, cudnnTensorDescriptor_t,
                                           void* y) {
  if (stDesc == nullptr) {
    return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  }
  return OverElements(handle, "cudnn_spatial_transformer", xDesc, {Word(x), Word(grid), Word(y)});
}

cudnnStatus_t cudnnSpatialTfSamplerBackward(cudnnHandle_t handle,
                                            cudnnSpatialTransformerDescriptor_t stDesc, const void*,
                                            const cudnnTensorDescriptor_t xDesc, const void* x,
                                            const void*, const cudnnTensorDescriptor_t, void* dx,
                                            const void*, const cudnnTensorDescriptor_t,
                                            const void* dy, const void* grid, const void*,
                                            void* dgrid) {
  if (stDesc == nullptr) {
    return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  }
  return OverElements(handle, "cudnn_spatial_transformer", xDesc,
                      {Word(x), Word(dx), Word(dy), Word(grid), Word(dgrid)});
}
