// Implements batch normalisation.
//
// Modelled: the Ex functions request a workspace of two float sums per channel, rounded up to 256
// bytes, if the channels are the last dimension (other layouts needed none on an H100,
// docs/card.md). If an activation is fused, they also request a reserve space of one bit per
// element, because the backward pass of the activation needs it.
#include "base/rounding.h"
#include "simulator/runtime/libraries/cudnn/cudnn_descriptors.h"
#include "simulator/runtime/libraries/cudnn/cudnn_handle.h"

namespace vramstow::simulator {
namespace {

bool IsMode(cudnnBatchNormMode_t mode) {
  return mode >= CUDNN_BATCHNORM_PER_ACTIVATION && mode <= CUDNN_BATCHNORM_SPATIAL_PERSISTENT;
}

bool IsOps(cudnnBatchNormOps_t ops) {
  return ops >= CUDNN_BATCHNORM_OPS_BN && ops <= CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION;
}

// True if a size can be computed. This needs the handle, the shape and, if an activation is fused,
// the activation.
bool CanSize(cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
             const cudnnTensorStruct* x, const void* activation, const size_t* bytes) {
  return IsHandle(handle) && IsMode(mode) && IsOps(ops) && x != nullptr && x->count >= 4 &&
         bytes != nullptr && (ops == CUDNN_BATCHNORM_OPS_BN || activation != nullptr);
}

size_t NormWorkspace(const cudnnTensorStruct& x) {
  if (!IsChannelsLast(x)) return 0;
  const size_t sums = static_cast<size_t>(x.dimensions[1]) * 2 * sizeof(float);
  return RoundUp(sums, 256);
}

size_t Reserve(cudnnBatchNormOps_t ops, const cudnnTensorStruct& x) {
  return ops == CUDNN_BATCHNORM_OPS_BN ? 0 : static_cast<size_t>(ElementsOf(x) + 7) / 8;
}

WorkSize SpreadOfNorm(const cudnnTensorStruct& x) {
  return {x.dimensions[1], ElementsOf(x) / (x.dimensions[1] > 0 ? x.dimensions[1] : 1), 1};
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

cudnnStatus_t cudnnDeriveBNTensorDescriptor(cudnnTensorDescriptor_t derivedBnDesc,
                                            const cudnnTensorDescriptor_t xDesc,
                                            cudnnBatchNormMode_t mode) {
  if (derivedBnDesc == nullptr || xDesc == nullptr || !IsMode(mode) || xDesc->count < 4) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  int dimensions[CUDNN_DIM_MAX];
  for (int i = 0; i < xDesc->count; ++i) {
    const bool kept = i == 1 || (i > 1 && mode == CUDNN_BATCHNORM_PER_ACTIVATION);
    dimensions[i] = kept ? xDesc->dimensions[i] : 1;
  }
  // Statistics are never less than 32 bits wide.
  const cudnnDataType_t type =
      xDesc->type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  return cudnnSetTensorNdDescriptorEx(derivedBnDesc, CUDNN_TENSOR_NCHW, type, xDesc->count,
                                      dimensions);
}

cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps,
    const cudnnTensorDescriptor_t xDesc, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnActivationDescriptor_t activationDesc, size_t* sizeInBytes) {
  if (!CanSize(handle, mode, bnOps, xDesc, activationDesc, sizeInBytes)) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "the workspace of this batch norm cannot be determined");
  }
  *sizeInBytes = NormWorkspace(*xDesc);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps,
    const cudnnTensorDescriptor_t xDesc, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnActivationDescriptor_t activationDesc,
    size_t* sizeInBytes) {
  if (!CanSize(handle, mode, bnOps, xDesc, activationDesc, sizeInBytes)) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "the workspace of this batch norm cannot be determined");
  }
  *sizeInBytes = NormWorkspace(*xDesc);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps,
    const cudnnActivationDescriptor_t activationDesc, const cudnnTensorDescriptor_t xDesc,
    size_t* sizeInBytes) {
  if (!CanSize(handle, mode, bnOps, xDesc, activationDesc, sizeInBytes)) {
    return Fail(CUDNN_STATUS_BAD_PARAM,
                "the reserve space of this batch norm cannot be determined");
  }
  *sizeInBytes = Reserve(bnOps, *xDesc);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps, const void* alpha,
    const void* beta, const cudnnTensorDescriptor_t xDesc, const void* xData,
    const cudnnTensorDescriptor_t, const void* zData, const cudnnTensorDescriptor_t yDesc,
    void* yData, const cudnnTensorDescriptor_t, const void* bnScale, const void* bnBias,
    double exponentialAverageFactor, void* resultRunningMean, void* resultRunningVariance,
    double epsilon, void* resultSaveMean, void* resultSaveInvVariance, cudnnActivationDescriptor_t,
    void* workspace, size_t workSpaceSizeInBytes, void* reserveSpace,
    size_t reserveSpaceSizeInBytes) {
  if (!IsMode(mode) || !IsOps(bnOps) || xDesc == nullptr || yDesc == nullptr || xData == nullptr ||
      yData == nullptr || bnScale == nullptr || bnBias == nullptr || alpha == nullptr ||
      beta == nullptr || epsilon < 0 || exponentialAverageFactor < 0 ||
      (resultRunningMean == nullptr) != (resultRunningVariance == nullptr) ||
      (resultSaveMean == nullptr) != (resultSaveInvVariance == nullptr)) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "a batch norm lacks an operand");
  }
  if (workSpaceSizeInBytes < NormWorkspace(*xDesc) ||
      reserveSpaceSizeInBytes < Reserve(bnOps, *xDesc)) {
    return Fail(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT,
                "the workspace or the reserve space of the batch norm is too small");
  }
  return Launch(handle, "cudnn_batch_norm_forward", SpreadOfNorm(*xDesc),
                {Word(xData), Word(zData), Word(yData), Word(bnScale), Word(bnBias),
                 Word(resultRunningMean), Word(resultRunningVariance), Word(resultSaveMean),
                 Word(resultSaveInvVariance), Word(workspace), Word(reserveSpace)});
}

cudnnStatus_t cudnnBatchNormalizationForwardTraining(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alpha, const void* beta,
    const cudnnTensorDescriptor_t xDesc, const void* x, const cudnnTensorDescriptor_t yDesc,
    void* y, const cudnnTensorDescriptor_t, const void* bnScale, const void* bnBias, double,
    void* resultRunningMean, void* resultRunningVariance, double, void* resultSaveMean,
    void* resultSaveInvVariance) {
  if (!IsMode(mode) || xDesc == nullptr || yDesc == nullptr || x == nullptr || y == nullptr ||
      bnScale == nullptr || bnBias == nullptr || alpha == nullptr || beta == nullptr) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "a batch norm lacks an operand");
  }
  return Launch(handle, "cudnn_batch_norm_forward", SpreadOfNorm(*xDesc),
                {Word(x), 0, Word(y), Word(bnScale), Word(bnBias), Word(resultRunningMean),
                 Word(resultRunningVariance), Word(resultSaveMean), Word(resultSaveInvVariance)});
}

cudnnStatus_t cudnnBatchNormalizationForwardInference(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alpha, const void* beta,
    const cudnnTensorDescriptor_t xDesc, const void* x, const cudnnTensorDescriptor_t yDesc,
    void* y, const cudnnTensorDescriptor_t, const void* bnScale, const void* bnBias,
    const void* estimatedMean, const void* estimatedVariance, double epsilon) {
  if (!IsMode(mode) || xDesc == nullptr || yDesc == nullptr || x == nullptr || y == nullptr ||
      bnScale == nullptr || bnBias == nullptr || estimatedMean == nullptr ||
      estimatedVariance == nullptr || alpha == nullptr || beta == nullptr || epsilon < 0) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "a batch norm lacks an operand");
  }
  return Launch(handle, "cudnn_batch_norm_inference", SpreadOfNorm(*xDesc),
                {Word(x), Word(y), Word(bnScale), Word(bnBias), Word(estimatedMean),
                 Word(estimatedVariance)});
}

cudnnStatus_t cudnnBatchNormalizationBackwardEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps, const void*,
    const void*, const void*, const void*, const cudnnTensorDescriptor_t xDesc, const void* xData,
    const cudnnTensorDescriptor_t, const void* yData, const cudnnTensorDescriptor_t dyDesc,
    const void* dyData, const cudnnTensorDescriptor_t, void* dzData,
    const cudnnTensorDescriptor_t dxDesc, void* dxData, const cudnnTensorDescriptor_t,
    const void* bnScaleData, const void* bnBiasData, void* dBnScaleData, void* dBnBiasData,
    double epsilon, const void* savedMean, const void* savedInvVariance,
    cudnnActivationDescriptor_t, void* workSpace, size_t workSpaceSizeInBytes, void* reserveSpace,
    size_t reserveSpaceSizeInBytes) {
  if (!IsMode(mode) || !IsOps(bnOps) || xDesc == nullptr || dyDesc == nullptr ||
      dxDesc == nullptr || xData == nullptr || dyData == nullptr || dxData == nullptr ||
      bnScaleData == nullptr || dBnScaleData == nullptr || dBnBiasData == nullptr || epsilon < 0 ||
      (savedMean == nullptr) != (savedInvVariance == nullptr)) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "the backward pass of a batch norm lacks an operand");
  }
  if (workSpaceSizeInBytes < NormWorkspace(*xDesc) ||
      reserveSpaceSizeInBytes < Reserve(bnOps, *xDesc)) {
    return Fail(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT,
                "the workspace or the reserve space of the batch norm is too small");
  }
  return Launch(handle, "cudnn_batch_norm_backward", SpreadOfNorm(*xDesc),
                {Word(xData), Word(yData), Word(dyData), Word(dzData), Word(dxData),
                 Word(bnScaleData), Word(bnBiasData), Word(dBnScaleData), Word(dBnBiasData),
                 Word(savedMean), Word(savedInvVariance), Word(workSpace), Word(reserveSpace)});
}

cudnnStatus_t cudnnBatchNormalizationBackward(cudnnHandle_t handle, cudnnBatchNormMode_t mode,
                                              const void*, const void*, const void*, const void*,
                                              const cudnnTensorDescriptor_t xDesc, const void* x,
                                              const cudnnTensorDescriptor_t dyDesc, const void* dy,
                                              const cudnnTensorDescriptor_t dxDesc, void* dx,
                                              const cudnnTensorDescriptor_t, const void* bnScale,
                                              void* dBnScaleResult, void* dBnBiasResult, double,
                                              const void* savedMean, const void* savedInvVariance) {
  if (!IsMode(mode) || xDesc == nullptr || dyDesc == nullptr || dxDesc == nullptr || x == nullptr ||
      dy == nullptr || dx == nullptr || bnScale == nullptr || dBnScaleResult == nullptr ||
      dBnBiasResult == nullptr) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "the backward pass of a batch norm lacks an operand");
  }
  return Launch(handle, "cudnn_batch_norm_backward", SpreadOfNorm(*xDesc),
                {Word(x), 0, Word(dy), 0, Word(dx), Word(bnScale), 0, Word(dBnScaleResult),
                 Word(dBnBiasResult), Word(savedMean), Word(savedInvVariance)});
}
