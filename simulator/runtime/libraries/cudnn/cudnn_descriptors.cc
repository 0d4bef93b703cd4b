#include "simulator/runtime/libraries/cudnn/cudnn_descriptors.h"

#include <algorithm>
#include <new>

#include "simulator/runtime/libraries/cudnn/cudnn_handle.h"

namespace vramstow::simulator {

size_t BytesOf(cudnnDataType_t type) {
  switch (static_cast<int>(type)) {
    case CUDNN_DATA_DOUBLE:
    case CUDNN_DATA_INT64:
      return 8;
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_INT32:
      return 4;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
      return 2;
    case CUDNN_DATA_INT8:
    case CUDNN_DATA_UINT8:
    case CUDNN_DATA_BOOLEAN:
    case CUDNN_DATA_FP8_E4M3:
    case CUDNN_DATA_FP8_E5M2:
      return 1;
    default:
      return 0;
  }
}

int64_t ElementsOf(const cudnnTensorStruct& tensor) {
  int64_t elements = tensor.count > 0 ? 1 : 0;
  for (int i = 0; i < tensor.count; ++i) {
    elements *= tensor.dimensions[i];
  }
  return elements;
}

size_t SpanInBytes(const cudnnTensorStruct& tensor) {
  if (ElementsOf(tensor) == 0) {
    return 0;
  }
  size_t last = 0;
  for (int i = 0; i < tensor.count; ++i) {
    last += static_cast<size_t>(tensor.dimensions[i] - 1) * tensor.strides[i];
  }
  return (last + 1) * BytesOf(tensor.type);
}

int64_t ElementsOf(const cudnnFilterStruct& filter) {
  int64_t elements = filter.count > 0 ? 1 : 0;
  for (int i = 0; i < filter.count; ++i) {
    elements *= filter.dimensions[i];
  }
  return elements;
}

bool IsChannelsLast(const cudnnTensorStruct& tensor) {
  return tensor.count >= 3 && tensor.strides[1] == 1 && tensor.dimensions[1] > 1;
}

namespace {

bool AllPositive(const int* values, int count) {
  return values != nullptr && std::all_of(values, values + count, [](int v) { return v > 0; });
}

bool NoneNegative(const int* values, int count) {
  return values != nullptr && std::none_of(values, values + count, [](int v) { return v < 0; });
}

template <typename Struct>
cudnnStatus_t Create(Struct** descriptor) {
  if (descriptor == nullptr) {
    return Fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no place for the descriptor");
  }
  *descriptor = new (std::nothrow) Struct;
  return *descriptor != nullptr ? CUDNN_STATUS_SUCCESS
                                : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

cudnnStatus_t SetTensor(cudnnTensorStruct* tensor, cudnnDataType_t type, int count,
                        const int* dimensions, const int* strides) {
  if (tensor == nullptr || count < 1 || count > CUDNN_DIM_MAX || !AllPositive(dimensions, count) ||
      strides == nullptr) {
    return Fail(CUDNN_STATUS_BAD_PARAM,
                "a tensor needs 1 to 8 dimensions, all of them positive, and strides");
  }
  tensor->type = type;
  tensor->count = count;
  std::copy_n(dimensions, count, tensor->dimensions);
  std::copy_n(strides, count, tensor->strides);
  return CUDNN_STATUS_SUCCESS;
}

// Computes the strides of a tensor without gaps.
void PackedStrides(cudnnTensorFormat_t format, int count, const int* dimensions, int* strides) {
  int next = 1;
  if (format == CUDNN_TENSOR_NHWC && count > 2) {
    strides[1] = 1;
    next = dimensions[1];
    for (int i = count - 1; i >= 2; --i) {
      strides[i] = next;
      next *= dimensions[i];
    }
    strides[0] = next;
    return;
  }
  for (int i = count - 1; i >= 0; --i) {
    strides[i] = next;
    next *= dimensions[i];
  }
}

template <typename T>
void Store(T* place, const T& value) {
  if (place != nullptr) {
    *place = value;
  }
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

#define VRAMSTOW_CREATE_AND_DESTROY(Name)                                              \
  cudnnStatus_t cudnnCreate##Name##Descriptor(cudnn##Name##Descriptor_t* descriptor) { \
    return Create(descriptor);                                                         \
  }                                                                                    \
  cudnnStatus_t cudnnDestroy##Name##Descriptor(cudnn##Name##Descriptor_t descriptor) { \
    delete descriptor;                                                                 \
    return CUDNN_STATUS_SUCCESS;                                                       \
  }
VRAMSTOW_CREATE_AND_DESTROY(Tensor)
VRAMSTOW_CREATE_AND_DESTROY(Filter)
VRAMSTOW_CREATE_AND_DESTROY(Convolution)
VRAMSTOW_CREATE_AND_DESTROY(Activation)
VRAMSTOW_CREATE_AND_DESTROY(Pooling)
VRAMSTOW_CREATE_AND_DESTROY(Dropout)
VRAMSTOW_CREATE_AND_DESTROY(SpatialTransformer)
VRAMSTOW_CREATE_AND_DESTROY(RNN)
VRAMSTOW_CREATE_AND_DESTROY(RNNData)
VRAMSTOW_CREATE_AND_DESTROY(CTCLoss)

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensorDesc,
                                         cudnnDataType_t dataType, int nbDims, const int dimA[],
                                         const int strideA[]) {
  return SetTensor(tensorDesc, dataType, nbDims, dimA, strideA);
}

cudnnStatus_t cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t tensorDesc,
                                           cudnnTensorFormat_t format, cudnnDataType_t dataType,
                                           int nbDims, const int dimA[]) {
  if (nbDims < 1 || nbDims > CUDNN_DIM_MAX || dimA == nullptr) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "a tensor needs 1 to 8 dimensions");
  }
  int strides[CUDNN_DIM_MAX];
  PackedStrides(format, nbDims, dimA, strides);
  return SetTensor(tensorDesc, dataType, nbDims, dimA, strides);
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensorDesc,
                                         cudnnTensorFormat_t format, cudnnDataType_t dataType,
                                         int n, int c, int h, int w) {
  const int dimensions[] = {n, c, h, w};
  return cudnnSetTensorNdDescriptorEx(tensorDesc, format, dataType, 4, dimensions);
}

cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t tensorDesc,
                                           cudnnDataType_t dataType, int n, int c, int h, int w,
                                           int nStride, int cStride, int hStride, int wStride) {
  const int dimensions[] = {n, c, h, w};
  const int strides[] = {nStride, cStride, hStride, wStride};
  return SetTensor(tensorDesc, dataType, 4, dimensions, strides);
}

cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t tensorDesc,
                                         int nbDimsRequested, cudnnDataType_t* dataType,
                                         int* nbDims, int dimA[], int strideA[]) {
  if (tensorDesc == nullptr || nbDimsRequested < 0) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  Store(dataType, tensorDesc->type);
  Store(nbDims, tensorDesc->count);
  const int count = std::min(nbDimsRequested, tensorDesc->count);
  for (int i = 0; i < count; ++i) {
    Store(dimA ? dimA + i : nullptr, tensorDesc->dimensions[i]);
    Store(strideA ? strideA + i : nullptr, tensorDesc->strides[i]);
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetTensor4dDescriptor(const cudnnTensorDescriptor_t tensorDesc,
                                         cudnnDataType_t* dataType, int* n, int* c, int* h, int* w,
                                         int* nStride, int* cStride, int* hStride, int* wStride) {
  if (tensorDesc == nullptr || tensorDesc->count != 4) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  Store(dataType, tensorDesc->type);
  int* const dimensions[] = {n, c, h, w};
  int* const strides[] = {nStride, cStride, hStride, wStride};
  for (int i = 0; i < 4; ++i) {
    Store(dimensions[i], tensorDesc->dimensions[i]);
    Store(strides[i], tensorDesc->strides[i]);
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetTensorSizeInBytes(const cudnnTensorDescriptor_t tensorDesc, size_t* size) {
  if (tensorDesc == nullptr || size == nullptr) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  *size = SpanInBytes(*tensorDesc);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filterDesc,
                                         cudnnDataType_t dataType, cudnnTensorFormat_t format,
                                         int nbDims, const int filterDimA[]) {
  if (filterDesc == nullptr || nbDims < 3 || nbDims > CUDNN_DIM_MAX ||
      !AllPositive(filterDimA, nbDims)) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "a filter needs 3 to 8 dimensions, all of them positive");
  }
  filterDesc->type = dataType;
  filterDesc->format = format;
  filterDesc->count = nbDims;
  std::copy_n(filterDimA, nbDims, filterDesc->dimensions);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filterDesc,
                                         cudnnDataType_t dataType, cudnnTensorFormat_t format,
                                         int k, int c, int h, int w) {
  const int dimensions[] = {k, c, h, w};
  return cudnnSetFilterNdDescriptor(filterDesc, dataType, format, 4, dimensions);
}

cudnnStatus_t cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t filterDesc,
                                         int nbDimsRequested, cudnnDataType_t* dataType,
                                         cudnnTensorFormat_t* format, int* nbDims,
                                         int filterDimA[]) {
  if (filterDesc == nullptr || nbDimsRequested < 0) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  Store(dataType, filterDesc->type);
  Store(format, filterDesc->format);
  Store(nbDims, filterDesc->count);
  if (filterDimA != nullptr) {
    std::copy_n(filterDesc->dimensions, std::min(nbDimsRequested, filterDesc->count), filterDimA);
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetFilterSizeInBytes(const cudnnFilterDescriptor_t filterDesc, size_t* size) {
  if (filterDesc == nullptr || size == nullptr) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  *size = ElementsOf(*filterDesc) * BytesOf(filterDesc->type);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t activationDesc,
                                           cudnnActivationMode_t mode,
                                           cudnnNanPropagation_t reluNanOpt, double coef) {
  if (activationDesc == nullptr || mode < CUDNN_ACTIVATION_SIGMOID ||
      mode > CUDNN_ACTIVATION_SWISH) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  activationDesc->mode = mode;
  activationDesc->nan = reluNanOpt;
  activationDesc->coefficient = coef;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetActivationDescriptor(const cudnnActivationDescriptor_t activationDesc,
                                           cudnnActivationMode_t* mode,
                                           cudnnNanPropagation_t* reluNanOpt, double* coef) {
  if (activationDesc == nullptr) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  Store(mode, activationDesc->mode);
  Store(reluNanOpt, activationDesc->nan);
  Store(coef, activationDesc->coefficient);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t poolingDesc,
                                          const cudnnPoolingMode_t mode,
                                          const cudnnNanPropagation_t maxpoolingNanOpt, int nbDims,
                                          const int windowDimA[], const int paddingA[],
                                          const int strideA[]) {
  if (poolingDesc == nullptr || nbDims < 1 || nbDims > CUDNN_DIM_MAX - 2 ||
      !AllPositive(windowDimA, nbDims) || !NoneNegative(paddingA, nbDims) ||
      !AllPositive(strideA, nbDims)) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "a pooling window and its strides must be positive");
  }
  poolingDesc->mode = mode;
  poolingDesc->nan = maxpoolingNanOpt;
  poolingDesc->count = nbDims;
  std::copy_n(windowDimA, nbDims, poolingDesc->window);
  std::copy_n(paddingA, nbDims, poolingDesc->padding);
  std::copy_n(strideA, nbDims, poolingDesc->stride);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t poolingDesc,
                                          cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t maxpoolingNanOpt, int windowHeight,
                                          int windowWidth, int verticalPadding,
                                          int horizontalPadding, int verticalStride,
                                          int horizontalStride) {
  const int window[] = {windowHeight, windowWidth};
  const int padding[] = {verticalPadding, horizontalPadding};
  const int stride[] = {verticalStride, horizontalStride};
  return cudnnSetPoolingNdDescriptor(poolingDesc, mode, maxpoolingNanOpt, 2, window, padding,
                                     stride);
}

cudnnStatus_t cudnnSetSpatialTransformerNdDescriptor(cudnnSpatialTransformerDescriptor_t stDesc,
                                                     cudnnSamplerType_t samplerType,
                                                     cudnnDataType_t dataType, const int nbDims,
                                                     const int dimA[]) {
  if (stDesc == nullptr || samplerType != CUDNN_SAMPLER_BILINEAR || nbDims < 1 ||
      nbDims > CUDNN_DIM_MAX || !AllPositive(dimA, nbDims)) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  if (nbDims > 4) {
    return Fail(CUDNN_STATUS_NOT_SUPPORTED, "a spatial transformer works on 4 dimensions");
  }
  stDesc->type = dataType;
  stDesc->count = nbDims;
  std::copy_n(dimA, nbDims, stDesc->dimensions);
  return CUDNN_STATUS_SUCCESS;
}
