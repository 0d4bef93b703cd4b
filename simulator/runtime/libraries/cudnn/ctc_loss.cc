// Implements the connectionist temporal classification loss.
//
// Modelled: the workspace holds the forward and backward variables, two floats for each of T time
// steps, N sequences and 2 L + 1 label positions, as the published algorithm needs them.
#include <algorithm>

#include "simulator/runtime/libraries/cudnn/cudnn_descriptors.h"
#include "simulator/runtime/libraries/cudnn/cudnn_handle.h"

namespace vramstow::simulator {
namespace {

// Probabilities have the shape (time, sequences, labels with the blank).
bool IsProbabilities(const cudnnTensorStruct* probabilities) {
  return probabilities != nullptr && probabilities->count == 3;
}

size_t LossWorkspace(const cudnnTensorStruct& probabilities, int longest_label) {
  return size_t{2} * sizeof(float) * static_cast<size_t>(probabilities.dimensions[0]) *
         static_cast<size_t>(probabilities.dimensions[1]) *
         (2 * static_cast<size_t>(longest_label) + 1);
}

int Longest(const int* lengths, int count) {
  return lengths != nullptr && count > 0 ? *std::max_element(lengths, lengths + count) : 0;
}

cudnnStatus_t Set(cudnnCTCLossDescriptor_t loss, cudnnDataType_t type,
                  cudnnLossNormalizationMode_t normalization, int gradient_mode,
                  int longest_label) {
  if (loss == nullptr || longest_label < 0) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  loss->type = type;
  loss->normalization = normalization;
  loss->gradient_mode = gradient_mode;
  loss->longest_label = longest_label;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

cudnnStatus_t cudnnSetCTCLossDescriptor(cudnnCTCLossDescriptor_t ctcLossDesc,
                                        cudnnDataType_t compType) {
  return Set(ctcLossDesc, compType, CUDNN_LOSS_NORMALIZATION_NONE, 0, 0);
}

cudnnStatus_t cudnnSetCTCLossDescriptorEx(cudnnCTCLossDescriptor_t ctcLossDesc,
                                          cudnnDataType_t compType,
                                          cudnnLossNormalizationMode_t normMode,
                                          cudnnNanPropagation_t gradMode) {
  return Set(ctcLossDesc, compType, normMode, gradMode, 0);
}

cudnnStatus_t cudnnSetCTCLossDescriptor_v8(cudnnCTCLossDescriptor_t ctcLossDesc,
                                           cudnnDataType_t compType,
                                           cudnnLossNormalizationMode_t normMode,
                                           cudnnNanPropagation_t gradMode, int maxLabelLength) {
  return Set(ctcLossDesc, compType, normMode, gradMode, maxLabelLength);
}

cudnnStatus_t cudnnSetCTCLossDescriptor_v9(cudnnCTCLossDescriptor_t ctcLossDesc,
                                           cudnnDataType_t compType,
                                           cudnnLossNormalizationMode_t normMode,
                                           cudnnCTCGradMode_t ctcGradMode, int maxLabelLength) {
  return Set(ctcLossDesc, compType, normMode, ctcGradMode, maxLabelLength);
}

cudnnStatus_t cudnnGetCTCLossWorkspaceSize(cudnnHandle_t handle,
                                           const cudnnTensorDescriptor_t probsDesc,
                                           const cudnnTensorDescriptor_t, const int*,
                                           const int* labelLengths, const int*, cudnnCTCLossAlgo_t,
                                           cudnnCTCLossDescriptor_t ctcLossDesc,
                                           size_t* sizeInBytes) {
  if (!IsHandle(handle) || !IsProbabilities(probsDesc) || labelLengths == nullptr ||
      ctcLossDesc == nullptr || sizeInBytes == nullptr) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "the workspace of this CTC loss cannot be determined");
  }
  *sizeInBytes = LossWorkspace(*probsDesc, Longest(labelLengths, probsDesc->dimensions[1]));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetCTCLossWorkspaceSize_v8(cudnnHandle_t handle, cudnnCTCLossAlgo_t,
                                              cudnnCTCLossDescriptor_t ctcLossDesc,
                                              const cudnnTensorDescriptor_t probsDesc,
                                              const cudnnTensorDescriptor_t, size_t* sizeInBytes) {
  if (!IsHandle(handle) || !IsProbabilities(probsDesc) || ctcLossDesc == nullptr ||
      sizeInBytes == nullptr) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "the workspace of this CTC loss cannot be determined");
  }
  *sizeInBytes = LossWorkspace(*probsDesc, ctcLossDesc->longest_label);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCTCLoss(cudnnHandle_t handle, const cudnnTensorDescriptor_t probsDesc,
                           const void* probs, const int hostLabels[], const int hostLabelLengths[],
                           const int hostInputLengths[], void* costs, const cudnnTensorDescriptor_t,
                           void* gradients, cudnnCTCLossAlgo_t,
                           cudnnCTCLossDescriptor_t ctcLossDesc, void* workspace,
                           size_t workSpaceSizeInBytes) {
  if (!IsProbabilities(probsDesc) || probs == nullptr || hostLabels == nullptr ||
      hostLabelLengths == nullptr || hostInputLengths == nullptr || costs == nullptr ||
      ctcLossDesc == nullptr) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "a CTC loss lacks an operand");
  }
  if (workSpaceSizeInBytes <
      LossWorkspace(*probsDesc, Longest(hostLabelLengths, probsDesc->dimensions[1]))) {
    return CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT;
  }
  return Launch(handle, "cudnn_ctc_loss", {ElementsOf(*probsDesc), 1, 1},
                {Word(probs), Word(costs), Word(gradients), Word(workspace)});
}

cudnnStatus_t cudnnCTCLoss_v8(cudnnHandle_t handle, cudnnCTCLossAlgo_t,
                              cudnnCTCLossDescriptor_t ctcLossDesc,
                              const cudnnTensorDescriptor_t probsDesc, const void* probs,
                              const int labels[], const int labelLengths[],
                              const int inputLengths[], void* costs, const cudnnTensorDescriptor_t,
                              void* gradients, size_t workSpaceSizeInBytes, void* workspace) {
  // Labels and lengths are in device memory for this function.
  if (!IsProbabilities(probsDesc) || probs == nullptr || labels == nullptr ||
      labelLengths == nullptr || inputLengths == nullptr || costs == nullptr ||
      ctcLossDesc == nullptr) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "a CTC loss lacks an operand");
  }
  if (workSpaceSizeInBytes < LossWorkspace(*probsDesc, ctcLossDesc->longest_label)) {
    return CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT;
  }
  return Launch(handle, "cudnn_ctc_loss", {ElementsOf(*probsDesc), 1, 1},
                {Word(probs), Word(labels), Word(labelLengths), Word(inputLengths), Word(costs),
                 Word(gradients), Word(workspace)});
}
