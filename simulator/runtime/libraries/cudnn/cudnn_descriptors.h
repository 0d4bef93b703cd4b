// Defines cuDNN's descriptors: plain data, each with a create and a destroy function. cuDNN's
// headers name the structs, and this header defines their members.
//
// Ownership: the cudnnCreate…Descriptor functions allocate, and the cudnnDestroy…Descriptor
// functions free. Threads: no two threads change one descriptor at a time. Errors:
// CUDNN_STATUS_BAD_PARAM for values out of range. Units: elements, bytes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_CUDNN_DESCRIPTORS_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_CUDNN_DESCRIPTORS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulator/runtime/libraries/cudnn/cudnn.h"

struct cudnnTensorStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int count = 0;  // number of dimensions; 0 until it is set
  int dimensions[CUDNN_DIM_MAX] = {};
  int strides[CUDNN_DIM_MAX] = {};
};

struct cudnnFilterStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  int count = 0;
  int dimensions[CUDNN_DIM_MAX] = {};
};

struct cudnnConvolutionStruct {
  int count = 0;  // number of spatial dimensions
  int padding[CUDNN_DIM_MAX] = {};
  int stride[CUDNN_DIM_MAX] = {};
  int dilation[CUDNN_DIM_MAX] = {};
  cudnnConvolutionMode_t mode = CUDNN_CONVOLUTION;
  cudnnDataType_t compute_type = CUDNN_DATA_FLOAT;
  cudnnMathType_t math_type = CUDNN_DEFAULT_MATH;
  cudnnReorderType_t reorder = CUDNN_DEFAULT_REORDER;
  int groups = 1;
};

struct cudnnActivationStruct {
  cudnnActivationMode_t mode = CUDNN_ACTIVATION_IDENTITY;
  cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN;
  double coefficient = 0;
  double swish_beta = 1;
};

struct cudnnPoolingStruct {
  cudnnPoolingMode_t mode = CUDNN_POOLING_MAX;
  cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN;
  int count = 0;
  int window[CUDNN_DIM_MAX] = {};
  int padding[CUDNN_DIM_MAX] = {};
  int stride[CUDNN_DIM_MAX] = {};
};

struct cudnnDropoutStruct {
  float probability = 0;
  void* states = nullptr;  // device memory of the caller
  unsigned long long seed = 0;
};

struct cudnnSpatialTransformerStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int count = 0;
  int dimensions[CUDNN_DIM_MAX] = {};
};

struct cudnnRNNStruct {
  cudnnRNNAlgo_t algorithm = CUDNN_RNN_ALGO_STANDARD;
  cudnnRNNMode_t cell = CUDNN_RNN_RELU;
  cudnnRNNBiasMode_t bias = CUDNN_RNN_DOUBLE_BIAS;
  cudnnDirectionMode_t direction = CUDNN_UNIDIRECTIONAL;
  cudnnRNNInputMode_t input = CUDNN_LINEAR_INPUT;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnDataType_t math_precision = CUDNN_DATA_FLOAT;
  cudnnMathType_t math_type = CUDNN_DEFAULT_MATH;
  int input_size = 0;
  int hidden_size = 0;
  int projection_size = 0;
  int layers = 0;  // 0 until it is set
  cudnnDropoutDescriptor_t dropout = nullptr;
  uint32_t flags = 0;
};

struct cudnnRNNDataStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnRNNDataLayout_t layout = CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED;
  int longest = 0;  // length of the longest sequence
  int batch = 0;
  int vector_size = 0;
  std::vector<int> lengths;
};

struct cudnnCTCLossStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnLossNormalizationMode_t normalization = CUDNN_LOSS_NORMALIZATION_NONE;
  int gradient_mode = 0;
  int longest_label = 0;
};

namespace vramstow::simulator {

// Returns the bytes of one element; 0 for unknown types and packed types of less than a byte.
size_t BytesOf(cudnnDataType_t type);

// Return the number of elements, and the bytes from the first to the last one (strides may leave
// gaps).
int64_t ElementsOf(const cudnnTensorStruct& tensor);
size_t SpanInBytes(const cudnnTensorStruct& tensor);
int64_t ElementsOf(const cudnnFilterStruct& filter);

// True if channels are the fastest dimension (NHWC and similar layouts).
bool IsChannelsLast(const cudnnTensorStruct& tensor);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_CUDNN_DESCRIPTORS_H_
