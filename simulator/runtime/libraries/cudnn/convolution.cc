// Implements convolutions through cuDNN's classic functions: descriptors, the choice of an
// algorithm, and the work. PyTorch normally uses the backend API (backend/); a setting makes it use
// these functions.
#include <algorithm>
#include <vector>

#include "simulator/runtime/libraries/cudnn/cudnn_descriptors.h"
#include "simulator/runtime/libraries/cudnn/cudnn_handle.h"
#include "simulator/runtime/libraries/cudnn/workspace.h"

// Macro arguments are types here, which cannot be put in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)

namespace vramstow::simulator {
namespace {

// Returns the extent of a convolution's result in spatial dimension `i`.
int OutputExtent(const cudnnConvolutionStruct& convolution, int i, int input, int filter) {
  const int reach = (filter - 1) * convolution.dilation[i] + 1;
  return 1 + (input + 2 * convolution.padding[i] - reach) / convolution.stride[i];
}

// Returns CUDNN_STATUS_SUCCESS if the shapes of y = convolution(x, w) fit together.
cudnnStatus_t CheckShapes(const cudnnTensorStruct* x, const cudnnFilterStruct* w,
                          const cudnnConvolutionStruct* convolution, const cudnnTensorStruct* y) {
  if (x == nullptr || w == nullptr || convolution == nullptr || y == nullptr) {
    return Fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "a convolution needs four descriptors");
  }
  if (x->count != w->count || x->count != y->count || x->count != convolution->count + 2) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "the tensors and the filter differ in dimensions");
  }
  const bool channels_fit = x->dimensions[1] == w->dimensions[1] * convolution->groups &&
                            y->dimensions[1] == w->dimensions[0] &&
                            x->dimensions[0] == y->dimensions[0];
  bool extents_fit = true;
  for (int i = 0; i < convolution->count; ++i) {
    extents_fit = extents_fit &&
                  y->dimensions[2 + i] ==
                      OutputExtent(*convolution, i, x->dimensions[2 + i], w->dimensions[2 + i]);
  }
  return channels_fit && extents_fit
             ? CUDNN_STATUS_SUCCESS
             : Fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
                    "the result of the convolution has another shape than its descriptor");
}

size_t Workspace(ConvolutionPass pass, const cudnnTensorStruct& x, const cudnnFilterStruct& w,
                 const cudnnTensorStruct& y) {
  const auto extents = [](const auto& tensor) {
    return std::vector<int64_t>(tensor.dimensions, tensor.dimensions + tensor.count);
  };
  return ConvolutionWorkspace(
      pass, ShapeOf(x.type, IsChannelsLast(x), extents(x), extents(w), extents(y)), CurrentCard());
}

// Fills the results for a forward or backward pass: the fast algorithm with the modelled workspace,
// and a lean one without a workspace.
template <typename Perf, typename Algorithm>
cudnnStatus_t Choose(cudnnHandle_t handle, ConvolutionPass pass, const cudnnTensorStruct* x,
                     const cudnnFilterStruct* w, const cudnnConvolutionStruct* convolution,
                     const cudnnTensorStruct* y, Algorithm fast, Algorithm lean, int requested,
                     int* returned, Perf* results) {
  if (!IsHandle(handle) || requested < 1 || returned == nullptr || results == nullptr) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "an algorithm was asked for without a place for it");
  }
  cudnnStatus_t status = CheckShapes(x, w, convolution, y);
  if (status != CUDNN_STATUS_SUCCESS) {
    return status;
  }
  const int count = std::min(requested, 2);
  for (int i = 0; i < count; ++i) {
    results[i] = Perf{};
    results[i].algo = i == 0 ? fast : lean;
    results[i].status = CUDNN_STATUS_SUCCESS;
    results[i].time = 0.1f * static_cast<float>(i + 1);
    results[i].memory = i == 0 ? Workspace(pass, *x, *w, *y) : 0;
    results[i].determinism = CUDNN_DETERMINISTIC;
    results[i].mathType = convolution->math_type;
  }
  *returned = count;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t RunPass(cudnnHandle_t handle, const char* kernel, ConvolutionPass pass,
                      const cudnnTensorStruct* x, const void* x_data, const cudnnFilterStruct* w,
                      const void* w_data, const cudnnConvolutionStruct* convolution,
                      const cudnnTensorStruct* y, const void* y_data, bool fast, void* workspace,
                      size_t workspace_bytes) {
  cudnnStatus_t status = CheckShapes(x, w, convolution, y);
  if (status != CUDNN_STATUS_SUCCESS) {
    return status;
  }
  if (x_data == nullptr || w_data == nullptr || y_data == nullptr) {
    return Fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "a convolution was given no data");
  }
  if (fast && workspace_bytes < Workspace(pass, *x, *w, *y)) {
    return Fail(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, "the workspace is too small");
  }
  return Launch(handle, kernel, {y->dimensions[1], ElementsOf(*y) / y->dimensions[1], 1},
                {Word(x_data), Word(w_data), Word(y_data), Word(workspace), workspace_bytes,
                 static_cast<uint64_t>(ElementsOf(*x)), static_cast<uint64_t>(ElementsOf(*w)),
                 static_cast<uint64_t>(ElementsOf(*y))});
}

constexpr auto kForwardFast = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
constexpr auto kForwardLean = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM;
constexpr auto kDataFast = CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
constexpr auto kDataLean = CUDNN_CONVOLUTION_BWD_DATA_ALGO_0;
constexpr auto kFilterFast = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1;
constexpr auto kFilterLean = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0;

cudnnStatus_t WorkspaceSize(cudnnHandle_t handle, ConvolutionPass pass, const cudnnTensorStruct* x,
                            const cudnnFilterStruct* w, const cudnnConvolutionStruct* convolution,
                            const cudnnTensorStruct* y, bool fast, size_t* bytes) {
  if (!IsHandle(handle) || bytes == nullptr) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  cudnnStatus_t status = CheckShapes(x, w, convolution, y);
  if (status == CUDNN_STATUS_SUCCESS) {
    *bytes = fast ? Workspace(pass, *x, *w, *y) : 0;
  }
  return status;
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t convDesc,
                                              int arrayLength, const int padA[],
                                              const int filterStrideA[], const int dilationA[],
                                              cudnnConvolutionMode_t mode,
                                              cudnnDataType_t computeType) {
  if (convDesc == nullptr || arrayLength < 1 || arrayLength > CUDNN_DIM_MAX - 2 ||
      padA == nullptr || filterStrideA == nullptr || dilationA == nullptr) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  for (int i = 0; i < arrayLength; ++i) {
    if (padA[i] < 0 || filterStrideA[i] < 1 || dilationA[i] < 1) {
      return Fail(CUDNN_STATUS_BAD_PARAM,
                  "paddings must not be negative, strides and dilations at least 1");
    }
  }
  convDesc->count = arrayLength;
  std::copy_n(padA, arrayLength, convDesc->padding);
  std::copy_n(filterStrideA, arrayLength, convDesc->stride);
  std::copy_n(dilationA, arrayLength, convDesc->dilation);
  convDesc->mode = mode;
  convDesc->compute_type = computeType;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t convDesc, int pad_h,
                                              int pad_w, int u, int v, int dilation_h,
                                              int dilation_w, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t computeType) {
  const int padding[] = {pad_h, pad_w};
  const int stride[] = {u, v};
  const int dilation[] = {dilation_h, dilation_w};
  return cudnnSetConvolutionNdDescriptor(convDesc, 2, padding, stride, dilation, mode, computeType);
}

#define VRAMSTOW_CONVOLUTION_SETTING(Name, Type, field, accepted)                               \
  cudnnStatus_t cudnnSetConvolution##Name(cudnnConvolutionDescriptor_t convDesc, Type value) {  \
    if (convDesc == nullptr || !(accepted)) {                                                   \
      return CUDNN_STATUS_BAD_PARAM;                                                            \
    }                                                                                           \
    convDesc->field = value;                                                                    \
    return CUDNN_STATUS_SUCCESS;                                                                \
  }                                                                                             \
  cudnnStatus_t cudnnGetConvolution##Name(cudnnConvolutionDescriptor_t convDesc, Type* value) { \
    if (convDesc == nullptr || value == nullptr) {                                              \
      return CUDNN_STATUS_BAD_PARAM;                                                            \
    }                                                                                           \
    *value = convDesc->field;                                                                   \
    return CUDNN_STATUS_SUCCESS;                                                                \
  }
VRAMSTOW_CONVOLUTION_SETTING(MathType, cudnnMathType_t, math_type, true)
VRAMSTOW_CONVOLUTION_SETTING(GroupCount, int, groups, value >= 1)
VRAMSTOW_CONVOLUTION_SETTING(ReorderType, cudnnReorderType_t, reorder, true)

cudnnStatus_t cudnnGetConvolutionNdForwardOutputDim(const cudnnConvolutionDescriptor_t convDesc,
                                                    const cudnnTensorDescriptor_t inputTensorDesc,
                                                    const cudnnFilterDescriptor_t filterDesc,
                                                    int nbDims, int tensorOuputDimA[]) {
  if (convDesc == nullptr || inputTensorDesc == nullptr || filterDesc == nullptr ||
      tensorOuputDimA == nullptr || nbDims != inputTensorDesc->count ||
      nbDims != filterDesc->count || nbDims != convDesc->count + 2) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  tensorOuputDimA[0] = inputTensorDesc->dimensions[0];
  tensorOuputDimA[1] = filterDesc->dimensions[0];
  for (int i = 0; i < convDesc->count; ++i) {
    tensorOuputDimA[2 + i] = OutputExtent(*convDesc, i, inputTensorDesc->dimensions[2 + i],
                                          filterDesc->dimensions[2 + i]);
  }
  return CUDNN_STATUS_SUCCESS;
}

// The parameters that describe the operands of the forward pass and the backward passes, in the
// order of cuDNN's signatures.
#define VRAMSTOW_FORWARD_OPERANDS                                           \
  const cudnnTensorDescriptor_t xDesc, const cudnnFilterDescriptor_t wDesc, \
      const cudnnConvolutionDescriptor_t convDesc, const cudnnTensorDescriptor_t yDesc
#define VRAMSTOW_DATA_OPERANDS                                              \
  const cudnnFilterDescriptor_t wDesc, const cudnnTensorDescriptor_t yDesc, \
      const cudnnConvolutionDescriptor_t convDesc, const cudnnTensorDescriptor_t xDesc
#define VRAMSTOW_FILTER_OPERANDS                                            \
  const cudnnTensorDescriptor_t xDesc, const cudnnTensorDescriptor_t yDesc, \
      const cudnnConvolutionDescriptor_t convDesc, const cudnnFilterDescriptor_t wDesc

// Defines three functions for a forward or backward pass. The first returns the number of
// algorithms, the second chooses an algorithm (by heuristic or by measuring, which are the same
// here), and the third returns the workspace of an algorithm.
#define VRAMSTOW_ALGORITHMS(Name, Short, operands, pass, fast, lean, all)                          \
  cudnnStatus_t cudnnGetConvolution##Name##AlgorithmMaxCount(cudnnHandle_t handle, int* count) {   \
    if (!IsHandle(handle) || count == nullptr) {                                                   \
      return CUDNN_STATUS_BAD_PARAM;                                                               \
    }                                                                                              \
    *count = all;                                                                                  \
    return CUDNN_STATUS_SUCCESS;                                                                   \
  }                                                                                                \
  cudnnStatus_t cudnnGetConvolution##Name##Algorithm_v7(                                           \
      cudnnHandle_t handle, operands, const int requestedAlgoCount, int* returnedAlgoCount,        \
      cudnnConvolution##Short##AlgoPerf_t* perfResults) {                                          \
    return Choose(handle, pass, xDesc, wDesc, convDesc, yDesc, fast, lean, requestedAlgoCount,     \
                  returnedAlgoCount, perfResults);                                                 \
  }                                                                                                \
  cudnnStatus_t cudnnFindConvolution##Name##Algorithm(                                             \
      cudnnHandle_t handle, operands, const int requestedAlgoCount, int* returnedAlgoCount,        \
      cudnnConvolution##Short##AlgoPerf_t* perfResults) {                                          \
    return Choose(handle, pass, xDesc, wDesc, convDesc, yDesc, fast, lean, requestedAlgoCount,     \
                  returnedAlgoCount, perfResults);                                                 \
  }                                                                                                \
  cudnnStatus_t cudnnGetConvolution##Name##WorkspaceSize(                                          \
      cudnnHandle_t handle, operands, cudnnConvolution##Short##Algo_t algo, size_t* sizeInBytes) { \
    return WorkspaceSize(handle, pass, xDesc, wDesc, convDesc, yDesc, algo != lean, sizeInBytes);  \
  }
VRAMSTOW_ALGORITHMS(Forward, Fwd, VRAMSTOW_FORWARD_OPERANDS, ConvolutionPass::kForward,
                    kForwardFast, kForwardLean, CUDNN_CONVOLUTION_FWD_ALGO_COUNT)
VRAMSTOW_ALGORITHMS(BackwardData, BwdData, VRAMSTOW_DATA_OPERANDS, ConvolutionPass::kBackwardData,
                    kDataFast, kDataLean, CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT)
VRAMSTOW_ALGORITHMS(BackwardFilter, BwdFilter, VRAMSTOW_FILTER_OPERANDS,
                    ConvolutionPass::kBackwardFilter, kFilterFast, kFilterLean,
                    CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT)

cudnnStatus_t cudnnFindConvolutionForwardAlgorithmEx(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t xDesc, const void*,
    const cudnnFilterDescriptor_t wDesc, const void*, const cudnnConvolutionDescriptor_t convDesc,
    const cudnnTensorDescriptor_t yDesc, void*, const int requestedAlgoCount,
    int* returnedAlgoCount, cudnnConvolutionFwdAlgoPerf_t* perfResults, void*, size_t) {
  return cudnnFindConvolutionForwardAlgorithm(handle, xDesc, wDesc, convDesc, yDesc,
                                              requestedAlgoCount, returnedAlgoCount, perfResults);
}

cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithmEx(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t wDesc, const void*,
    const cudnnTensorDescriptor_t dyDesc, const void*, const cudnnConvolutionDescriptor_t convDesc,
    const cudnnTensorDescriptor_t dxDesc, void*, const int requestedAlgoCount,
    int* returnedAlgoCount, cudnnConvolutionBwdDataAlgoPerf_t* perfResults, void*, size_t) {
  return cudnnFindConvolutionBackwardDataAlgorithm(
      handle, wDesc, dyDesc, convDesc, dxDesc, requestedAlgoCount, returnedAlgoCount, perfResults);
}

cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithmEx(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t xDesc, const void*,
    const cudnnTensorDescriptor_t dyDesc, const void*, const cudnnConvolutionDescriptor_t convDesc,
    const cudnnFilterDescriptor_t dwDesc, void*, const int requestedAlgoCount,
    int* returnedAlgoCount, cudnnConvolutionBwdFilterAlgoPerf_t* perfResults, void*, size_t) {
  return cudnnFindConvolutionBackwardFilterAlgorithm(
      handle, xDesc, dyDesc, convDesc, dwDesc, requestedAlgoCount, returnedAlgoCount, perfResults);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void*,
                                      const cudnnTensorDescriptor_t xDesc, const void* x,
                                      const cudnnFilterDescriptor_t wDesc, const void* w,
                                      const cudnnConvolutionDescriptor_t convDesc,
                                      cudnnConvolutionFwdAlgo_t algo, void* workSpace,
                                      size_t workSpaceSizeInBytes, const void*,
                                      const cudnnTensorDescriptor_t yDesc, void* y) {
  return RunPass(handle, "cudnn_convolution_forward", ConvolutionPass::kForward, xDesc, x, wDesc, w,
                 convDesc, yDesc, y, algo != kForwardLean, workSpace, workSpaceSizeInBytes);
}

cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t handle, const void*, const cudnnTensorDescriptor_t xDesc, const void* x,
    const cudnnFilterDescriptor_t wDesc, const void* w, const cudnnConvolutionDescriptor_t convDesc,
    cudnnConvolutionFwdAlgo_t algo, void* workSpace, size_t workSpaceSizeInBytes, const void*,
    const cudnnTensorDescriptor_t, const void*, const cudnnTensorDescriptor_t biasDesc, const void*,
    const cudnnActivationDescriptor_t activationDesc, const cudnnTensorDescriptor_t yDesc,
    void* y) {
  if (biasDesc == nullptr || activationDesc == nullptr) {
    return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  }
  return RunPass(handle, "cudnn_convolution_forward", ConvolutionPass::kForward, xDesc, x, wDesc, w,
                 convDesc, yDesc, y, algo != kForwardLean, workSpace, workSpaceSizeInBytes);
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void*,
                                           const cudnnFilterDescriptor_t wDesc, const void* w,
                                           const cudnnTensorDescriptor_t dyDesc, const void* dy,
                                           const cudnnConvolutionDescriptor_t convDesc,
                                           cudnnConvolutionBwdDataAlgo_t algo, void* workSpace,
                                           size_t workSpaceSizeInBytes, const void*,
                                           const cudnnTensorDescriptor_t dxDesc, void* dx) {
  return RunPass(handle, "cudnn_convolution_backward_data", ConvolutionPass::kBackwardData, dxDesc,
                 dx, wDesc, w, convDesc, dyDesc, dy, algo != kDataLean, workSpace,
                 workSpaceSizeInBytes);
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void*,
                                             const cudnnTensorDescriptor_t xDesc, const void* x,
                                             const cudnnTensorDescriptor_t dyDesc, const void* dy,
                                             const cudnnConvolutionDescriptor_t convDesc,
                                             cudnnConvolutionBwdFilterAlgo_t algo, void* workSpace,
                                             size_t workSpaceSizeInBytes, const void*,
                                             const cudnnFilterDescriptor_t dwDesc, void* dw) {
  return RunPass(handle, "cudnn_convolution_backward_filter", ConvolutionPass::kBackwardFilter,
                 xDesc, x, dwDesc, dw, convDesc, dyDesc, dy, algo != kFilterLean, workSpace,
                 workSpaceSizeInBytes);
}

cudnnStatus_t cudnnConvolutionBackwardBias(cudnnHandle_t handle, const void*,
                                           const cudnnTensorDescriptor_t dyDesc, const void* dy,
                                           const void*, const cudnnTensorDescriptor_t dbDesc,
                                           void* db) {
  if (dyDesc == nullptr || dbDesc == nullptr || dy == nullptr || db == nullptr) {
    return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  }
  return Launch(handle, "cudnn_convolution_backward_bias", {ElementsOf(*dbDesc), 1, 1},
                {Word(dy), Word(db), static_cast<uint64_t>(ElementsOf(*dyDesc))});
}

// NOLINTEND(bugprone-macro-parentheses)
