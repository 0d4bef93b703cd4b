// Implements recurrent networks: RNN, LSTM, GRU. Any out-pointer may be null, as in cuDNN.
#include <algorithm>

#include "simulator/runtime/libraries/cudnn/cudnn_handle.h"
#include "simulator/runtime/libraries/cudnn/rnn_layout.h"

namespace vramstow::simulator {
namespace {

bool IsSet(const cudnnRNNStruct* rnn) { return rnn != nullptr && rnn->layers > 0; }

// Describes a parameter as cuDNN does: its shape 1 × rows × columns and its address, which is null
// if the network does not have the parameter.
cudnnStatus_t Answer(const cudnnRNNStruct& rnn, const RnnParameter& parameter, const void* weights,
                     cudnnTensorDescriptor_t descriptor, void** address) {
  if (address != nullptr) {
    const uint64_t place = Word(weights) + parameter.offset * BytesOf(rnn.type);
    *address = parameter.rows > 0 && weights != nullptr ? reinterpret_cast<void*>(place) : nullptr;
  }
  if (descriptor == nullptr || parameter.rows == 0) {
    return CUDNN_STATUS_SUCCESS;
  }
  const int dimensions[] = {1, static_cast<int>(parameter.rows),
                            static_cast<int>(parameter.columns)};
  return cudnnSetTensorNdDescriptorEx(descriptor, CUDNN_TENSOR_NCHW, rnn.type, 3, dimensions);
}

// Does the checks that the forward pass and both backward passes share.
cudnnStatus_t CheckPass(cudnnHandle_t handle, const cudnnRNNStruct* rnn,
                        const cudnnRNNDataStruct* data, bool training, size_t weight_bytes,
                        size_t workspace_bytes, size_t reserve_bytes) {
  if (!IsHandle(handle) || !IsSet(rnn) || data == nullptr) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "an RNN pass lacks its handle or a descriptor");
  }
  const RnnLayout layout(*rnn);
  if (weight_bytes < layout.WeightBytes() ||
      workspace_bytes < layout.WorkspaceBytes(data->longest, data->batch) ||
      (training && reserve_bytes < layout.ReserveBytes(data->longest, data->batch))) {
    return Fail(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT,
                "the weight, work or reserve space of an RNN is too small");
  }
  return CUDNN_STATUS_SUCCESS;
}

WorkSize Spread(const cudnnRNNStruct& rnn, const cudnnRNNDataStruct& data) {
  return {rnn.hidden_size, data.batch, data.longest};
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t rnnDesc, cudnnRNNAlgo_t algo,
                                       cudnnRNNMode_t cellMode, cudnnRNNBiasMode_t biasMode,
                                       cudnnDirectionMode_t dirMode, cudnnRNNInputMode_t inputMode,
                                       cudnnDataType_t dataType, cudnnDataType_t mathPrec,
                                       cudnnMathType_t mathType, int32_t inputSize,
                                       int32_t hiddenSize, int32_t projSize, int32_t numLayers,
                                       cudnnDropoutDescriptor_t dropoutDesc, uint32_t auxFlags) {
  if (rnnDesc == nullptr || inputSize <= 0 || hiddenSize <= 0 || numLayers <= 0 || projSize < 0 ||
      projSize > hiddenSize || cellMode < CUDNN_RNN_RELU || cellMode > CUDNN_GRU) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "an RNN needs positive sizes and a known kind of cell");
  }
  *rnnDesc = {algo,     cellMode,  biasMode,   dirMode,  inputMode, dataType,    mathPrec,
              mathType, inputSize, hiddenSize, projSize, numLayers, dropoutDesc, auxFlags};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t rnnDataDesc,
                                        cudnnDataType_t dataType, cudnnRNNDataLayout_t layout,
                                        int maxSeqLength, int batchSize, int vectorSize,
                                        const int seqLengthArray[], void* /*paddingFill*/) {
  if (rnnDataDesc == nullptr || maxSeqLength <= 0 || batchSize <= 0 || vectorSize <= 0 ||
      seqLengthArray == nullptr) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "RNN data needs positive sizes and the sequences' lengths");
  }
  for (int i = 0; i < batchSize; ++i) {
    if (seqLengthArray[i] < 0 || seqLengthArray[i] > maxSeqLength) {
      return Fail(CUDNN_STATUS_BAD_PARAM, "a sequence is longer than the longest");
    }
  }
  try {
    rnnDataDesc->lengths.assign(seqLengthArray, seqLengthArray + batchSize);
  } catch (...) {
    return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
  }
  rnnDataDesc->type = dataType;
  rnnDataDesc->layout = layout;
  rnnDataDesc->longest = maxSeqLength;
  rnnDataDesc->batch = batchSize;
  rnnDataDesc->vector_size = vectorSize;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
                                         size_t* weightSpaceSize) {
  if (!IsHandle(handle) || !IsSet(rnnDesc) || weightSpaceSize == nullptr) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  *weightSpaceSize = RnnLayout(*rnnDesc).WeightBytes();
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
                                        cudnnForwardMode_t fwdMode, cudnnRNNDataDescriptor_t xDesc,
                                        size_t* workSpaceSize, size_t* reserveSpaceSize) {
  if (!IsHandle(handle) || !IsSet(rnnDesc) || xDesc == nullptr) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  const RnnLayout layout(*rnnDesc);
  if (workSpaceSize != nullptr) {
    *workSpaceSize = layout.WorkspaceBytes(xDesc->longest, xDesc->batch);
  }
  if (reserveSpaceSize != nullptr) {
    *reserveSpaceSize =
        fwdMode == CUDNN_FWD_MODE_TRAINING ? layout.ReserveBytes(xDesc->longest, xDesc->batch) : 0;
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
                                      int32_t pseudoLayer, size_t weightSpaceSize,
                                      const void* weightSpace, int32_t linLayerID,
                                      cudnnTensorDescriptor_t mDesc, void** mAddr,
                                      cudnnTensorDescriptor_t bDesc, void** bAddr) {
  if (!IsHandle(handle) || !IsSet(rnnDesc)) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  const RnnLayout layout(*rnnDesc);
  const int ids = 2 * layout.gates() + (rnnDesc->cell == CUDNN_LSTM ? 1 : 0);
  if (pseudoLayer < 0 || pseudoLayer >= layout.pseudo_layers() || linLayerID < 0 ||
      linLayerID >= ids || weightSpaceSize < layout.WeightBytes()) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "there is no such layer or matrix in the RNN");
  }
  const bool absent = linLayerID == 2 * layout.gates() && !layout.has_projection();
  cudnnStatus_t status =
      Answer(*rnnDesc, absent ? RnnParameter{} : layout.Matrix(pseudoLayer, linLayerID),
             weightSpace, mDesc, mAddr);
  if (status == CUDNN_STATUS_SUCCESS) {
    status = Answer(*rnnDesc, absent ? RnnParameter{} : layout.Bias(pseudoLayer, linLayerID),
                    weightSpace, bDesc, bAddr);
  }
  return status;
}

cudnnStatus_t cudnnBuildRNNDynamic(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
                                   int miniBatch) {
  return IsHandle(handle) && IsSet(rnnDesc) && miniBatch > 0 ? CUDNN_STATUS_SUCCESS
                                                             : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
                              cudnnForwardMode_t fwdMode, const int32_t devSeqLengths[],
                              cudnnRNNDataDescriptor_t xDesc, const void* x,
                              cudnnRNNDataDescriptor_t yDesc, void* y, cudnnTensorDescriptor_t,
                              const void* hx, void* hy, cudnnTensorDescriptor_t, const void* cx,
                              void* cy, size_t weightSpaceSize, const void* weightSpace,
                              size_t workSpaceSize, void* workSpace, size_t reserveSpaceSize,
                              void* reserveSpace) {
  const cudnnStatus_t status = CheckPass(handle, rnnDesc, xDesc, fwdMode == CUDNN_FWD_MODE_TRAINING,
                                         weightSpaceSize, workSpaceSize, reserveSpaceSize);
  if (status != CUDNN_STATUS_SUCCESS) {
    return status;
  }
  if (yDesc == nullptr || x == nullptr || y == nullptr || weightSpace == nullptr) {
    return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  }
  return Launch(handle, "cudnn_rnn_forward", Spread(*rnnDesc, *xDesc),
                {Word(devSeqLengths), Word(x), Word(y), Word(hx), Word(hy), Word(cx), Word(cy),
                 Word(weightSpace), Word(workSpace), Word(reserveSpace)});
}

cudnnStatus_t cudnnRNNBackwardData_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
                                      const int32_t devSeqLengths[], cudnnRNNDataDescriptor_t yDesc,
                                      const void* y, const void* dy, cudnnRNNDataDescriptor_t xDesc,
                                      void* dx, cudnnTensorDescriptor_t, const void* hx,
                                      const void* dhy, void* dhx, cudnnTensorDescriptor_t,
                                      const void* cx, const void* dcy, void* dcx,
                                      size_t weightSpaceSize, const void* weightSpace,
                                      size_t workSpaceSize, void* workSpace,
                                      size_t reserveSpaceSize, void* reserveSpace) {
  const cudnnStatus_t status =
      CheckPass(handle, rnnDesc, xDesc, true, weightSpaceSize, workSpaceSize, reserveSpaceSize);
  if (status != CUDNN_STATUS_SUCCESS) {
    return status;
  }
  if (yDesc == nullptr || y == nullptr || dy == nullptr || weightSpace == nullptr) {
    return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  }
  return Launch(
      handle, "cudnn_rnn_backward_data", Spread(*rnnDesc, *xDesc),
      {Word(devSeqLengths), Word(y), Word(dy), Word(dx), Word(hx), Word(dhy), Word(dhx), Word(cx),
       Word(dcy), Word(dcx), Word(weightSpace), Word(workSpace), Word(reserveSpace)});
}

cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
                                         cudnnWgradMode_t addGrad, const int32_t devSeqLengths[],
                                         cudnnRNNDataDescriptor_t xDesc, const void* x,
                                         cudnnTensorDescriptor_t, const void* hx,
                                         cudnnRNNDataDescriptor_t yDesc, const void* y,
                                         size_t weightSpaceSize, void* dweightSpace,
                                         size_t workSpaceSize, void* workSpace,
                                         size_t reserveSpaceSize, void* reserveSpace) {
  const cudnnStatus_t status =
      CheckPass(handle, rnnDesc, xDesc, true, weightSpaceSize, workSpaceSize, reserveSpaceSize);
  if (status != CUDNN_STATUS_SUCCESS) {
    return status;
  }
  if (addGrad != CUDNN_WGRAD_MODE_ADD) {
    return Fail(CUDNN_STATUS_NOT_SUPPORTED, "gradients of RNN weights are added, never set");
  }
  if (yDesc == nullptr || x == nullptr || y == nullptr || dweightSpace == nullptr) {
    return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  }
  return Launch(handle, "cudnn_rnn_backward_weights", Spread(*rnnDesc, *xDesc),
                {Word(devSeqLengths), Word(x), Word(hx), Word(y), Word(dweightSpace),
                 Word(workSpace), Word(reserveSpace)});
}
