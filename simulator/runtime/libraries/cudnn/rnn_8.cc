// Implements the functions for recurrent networks that only cuDNN 8 has; those that both releases
// have are in rnn.cc. They take a tensor descriptor for each step, and get the size of the input
// from the call instead of the RNN descriptor. PyTorch up to 2.3 calls these functions.
#include "simulator/runtime/libraries/cudnn/handle.h"
#include "simulator/runtime/libraries/cudnn/rnn_layout.h"

namespace vramstow::simulator {
namespace {

using Steps = const cudnnTensorDescriptor_t*;

// Returns the network with the input size of this call. The result has no layers if the network and
// the input do not fit together.
cudnnRNNStruct WithInput(const cudnnRNNStruct* rnn, const cudnnTensorStruct* input) {
  if (rnn == nullptr || rnn->layers <= 0 || input == nullptr || input->count < 2) return {};
  cudnnRNNStruct complete = *rnn;
  complete.type = input->type;
  complete.input_size = input->dimensions[1];
  return complete;
}

const cudnnTensorStruct* FirstOf(Steps steps) { return steps == nullptr ? nullptr : steps[0]; }

// The bytes of work space and reserve space that a forward or backward pass needs; 0 if there are
// no steps.
struct Spaces {
  size_t work = 0;
  size_t reserve = 0;
};
Spaces SpacesOf(const cudnnRNNStruct& rnn, int steps, const cudnnTensorStruct& input) {
  const RnnLayout layout(rnn);
  const int batch = input.dimensions[0];
  return {layout.WorkspaceBytes(steps, batch), layout.ReserveBytes(steps, batch)};
}

// Sets `filter` to the shape of a parameter, 1 × rows × columns, and *address to its address. The
// address is null if the network does not have the parameter.
cudnnStatus_t AnswerAddress(const cudnnRNNStruct& rnn, const RnnParameter& parameter,
                            const void* weights, cudnnFilterDescriptor_t filter, void** address) {
  if (filter == nullptr || address == nullptr) return CUDNN_STATUS_BAD_PARAM;
  *address = nullptr;
  if (parameter.rows == 0) return CUDNN_STATUS_SUCCESS;
  *address = reinterpret_cast<void*>(Word(weights) + parameter.offset * BytesOf(rnn.type));
  const int dimensions[] = {1, static_cast<int>(parameter.rows),
                            static_cast<int>(parameter.columns)};
  return cudnnSetFilterNdDescriptor(filter, rnn.type, CUDNN_TENSOR_NCHW, 3, dimensions);
}

bool HasParameter(const cudnnRNNStruct& rnn, int pseudo_layer, int id) {
  if (rnn.layers == 0) return false;
  const RnnLayout layout(rnn);
  const int ids = 2 * layout.gates() + (layout.has_projection() ? 1 : 0);
  return pseudo_layer >= 0 && pseudo_layer < layout.pseudo_layers() && id >= 0 && id < ids;
}

// The arguments of a forward or backward pass. Run does the checks that the four functions share
// and launches the kernel.
struct Pass {
  const char* kernel;
  cudnnHandle_t handle;
  const cudnnRNNStruct* rnn;
  int steps;
  const cudnnTensorStruct* input;
  size_t work_bytes;
  size_t reserve_bytes;
  bool reserves;
};
cudnnStatus_t Run(const Pass& pass, std::initializer_list<uint64_t> words) {
  const cudnnRNNStruct rnn = WithInput(pass.rnn, pass.input);
  if (!IsHandle(pass.handle) || rnn.layers == 0 || pass.steps <= 0) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "an RNN pass lacks its handle or a descriptor");
  }
  const Spaces needed = SpacesOf(rnn, pass.steps, *pass.input);
  if (pass.work_bytes < needed.work || (pass.reserves && pass.reserve_bytes < needed.reserve)) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "the work or reserve space of an RNN is too small");
  }
  return Launch(pass.handle, pass.kernel, {rnn.hidden_size, pass.input->dimensions[0], pass.steps},
                words);
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

// The headers of cuDNN 9 do not declare the functions below.
#pragma GCC visibility push(default)
extern "C" {

cudnnStatus_t cudnnSetRNNDescriptor_v6(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn,
                                       int hidden_size, int layers,
                                       cudnnDropoutDescriptor_t dropout, cudnnRNNInputMode_t input,
                                       cudnnDirectionMode_t direction, cudnnRNNMode_t cell,
                                       cudnnRNNAlgo_t algorithm, cudnnDataType_t precision) {
  if (!IsHandle(handle) || rnn == nullptr || hidden_size <= 0 || layers <= 0 ||
      cell < CUDNN_RNN_RELU || cell > CUDNN_GRU) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "an RNN needs positive sizes and a known kind of cell");
  }
  *rnn = {};
  rnn->algorithm = algorithm;
  rnn->cell = cell;
  rnn->direction = direction;
  rnn->input = input;
  rnn->math_precision = precision;
  rnn->hidden_size = hidden_size;
  rnn->projection_size = hidden_size;
  rnn->layers = layers;
  rnn->dropout = dropout;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetRNNMatrixMathType(cudnnRNNDescriptor_t rnn, cudnnMathType_t type) {
  if (rnn == nullptr) return CUDNN_STATUS_BAD_PARAM;
  rnn->math_type = type;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetRNNProjectionLayers(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn,
                                          int recurrent_size, int output_size) {
  if (!IsHandle(handle) || rnn == nullptr || rnn->layers <= 0 || recurrent_size <= 0 ||
      recurrent_size > rnn->hidden_size || output_size != 0) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "there is no such projection of an RNN");
  }
  rnn->projection_size = recurrent_size;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNParamsSize(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn,
                                    cudnnTensorDescriptor_t input, size_t* bytes,
                                    cudnnDataType_t type) {
  cudnnRNNStruct complete = WithInput(rnn, input);
  if (!IsHandle(handle) || complete.layers == 0 || bytes == nullptr) return CUDNN_STATUS_BAD_PARAM;
  complete.type = type;
  *bytes = RnnLayout(complete).WeightBytes();
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNWorkspaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, int steps,
                                       Steps inputs, size_t* bytes) {
  const cudnnRNNStruct complete = WithInput(rnn, FirstOf(inputs));
  if (!IsHandle(handle) || complete.layers == 0 || steps <= 0 || bytes == nullptr) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  *bytes = SpacesOf(complete, steps, *inputs[0]).work;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNTrainingReserveSize(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn,
                                             int steps, Steps inputs, size_t* bytes) {
  const cudnnRNNStruct complete = WithInput(rnn, FirstOf(inputs));
  if (!IsHandle(handle) || complete.layers == 0 || steps <= 0 || bytes == nullptr) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  *bytes = SpacesOf(complete, steps, *inputs[0]).reserve;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNLinLayerMatrixParams(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn,
                                              int pseudo_layer, cudnnTensorDescriptor_t input,
                                              cudnnFilterDescriptor_t /*weights*/,
                                              const void* weights, int id,
                                              cudnnFilterDescriptor_t matrix, void** address) {
  const cudnnRNNStruct complete = WithInput(rnn, input);
  if (!IsHandle(handle) || !HasParameter(complete, pseudo_layer, id)) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "there is no such layer or matrix in the RNN");
  }
  return AnswerAddress(complete, RnnLayout(complete).Matrix(pseudo_layer, id), weights, matrix,
                       address);
}

cudnnStatus_t cudnnGetRNNLinLayerBiasParams(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn,
                                            int pseudo_layer, cudnnTensorDescriptor_t input,
                                            cudnnFilterDescriptor_t /*weights*/,
                                            const void* weights, int id,
                                            cudnnFilterDescriptor_t bias, void** address) {
  const cudnnRNNStruct complete = WithInput(rnn, input);
  if (!IsHandle(handle) || !HasParameter(complete, pseudo_layer, id)) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "there is no such layer or bias in the RNN");
  }
  return AnswerAddress(complete, RnnLayout(complete).Bias(pseudo_layer, id), weights, bias,
                       address);
}

cudnnStatus_t cudnnRNNForwardTraining(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, int steps,
                                      Steps inputs, const void* x, cudnnTensorDescriptor_t,
                                      const void* hx, cudnnTensorDescriptor_t, const void* cx,
                                      cudnnFilterDescriptor_t, const void* weights, Steps, void* y,
                                      cudnnTensorDescriptor_t, void* hy, cudnnTensorDescriptor_t,
                                      void* cy, void* work, size_t work_bytes, void* reserve,
                                      size_t reserve_bytes) {
  return Run(
      {"cudnn_rnn_forward", handle, rnn, steps, FirstOf(inputs), work_bytes, reserve_bytes, true},
      {Word(x), Word(y), Word(hx), Word(hy), Word(cx), Word(cy), Word(weights), Word(work),
       Word(reserve)});
}

cudnnStatus_t cudnnRNNForwardInference(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, int steps,
                                       Steps inputs, const void* x, cudnnTensorDescriptor_t,
                                       const void* hx, cudnnTensorDescriptor_t, const void* cx,
                                       cudnnFilterDescriptor_t, const void* weights, Steps, void* y,
                                       cudnnTensorDescriptor_t, void* hy, cudnnTensorDescriptor_t,
                                       void* cy, void* work, size_t work_bytes) {
  return Run({"cudnn_rnn_forward", handle, rnn, steps, FirstOf(inputs), work_bytes, 0, false},
             {Word(x), Word(y), Word(hx), Word(hy), Word(cx), Word(cy), Word(weights), Word(work)});
}

cudnnStatus_t cudnnRNNBackwardData(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, int steps, Steps,
                                   const void* y, Steps, const void* dy, cudnnTensorDescriptor_t,
                                   const void* dhy, cudnnTensorDescriptor_t, const void* dcy,
                                   cudnnFilterDescriptor_t, const void* weights,
                                   cudnnTensorDescriptor_t, const void* hx, cudnnTensorDescriptor_t,
                                   const void* cx, Steps dx_steps, void* dx,
                                   cudnnTensorDescriptor_t, void* dhx, cudnnTensorDescriptor_t,
                                   void* dcx, void* work, size_t work_bytes, void* reserve,
                                   size_t reserve_bytes) {
  return Run({"cudnn_rnn_backward_data", handle, rnn, steps, FirstOf(dx_steps), work_bytes,
              reserve_bytes, true},
             {Word(y), Word(dy), Word(dx), Word(hx), Word(dhy), Word(dhx), Word(cx), Word(dcy),
              Word(dcx), Word(weights), Word(work), Word(reserve)});
}

cudnnStatus_t cudnnRNNBackwardWeights(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, int steps,
                                      Steps inputs, const void* x, cudnnTensorDescriptor_t,
                                      const void* hx, Steps, const void* y, const void* work,
                                      size_t work_bytes, cudnnFilterDescriptor_t,
                                      void* weight_gradients, const void* reserve,
                                      size_t reserve_bytes) {
  return Run({"cudnn_rnn_backward_weights", handle, rnn, steps, FirstOf(inputs), work_bytes,
              reserve_bytes, true},
             {Word(x), Word(hx), Word(y), Word(weight_gradients), Word(work), Word(reserve)});
}

}  // extern "C"
#pragma GCC visibility pop
