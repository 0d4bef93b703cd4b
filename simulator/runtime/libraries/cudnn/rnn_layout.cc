#include "simulator/runtime/libraries/cudnn/rnn_layout.h"

namespace vramstow::simulator {
namespace {

constexpr size_t kFixedBytes = 256;

}  // namespace

int RnnLayout::gates() const {
  switch (rnn_.cell) {
    case CUDNN_LSTM:
      return 4;
    case CUDNN_GRU:
      return 3;
    default:
      return 1;
  }
}

bool RnnLayout::has_projection() const {
  return rnn_.cell == CUDNN_LSTM && rnn_.projection_size > 0 &&
         rnn_.projection_size != rnn_.hidden_size;
}

int64_t RnnLayout::output_size() const {
  return has_projection() ? rnn_.projection_size : rnn_.hidden_size;
}

int64_t RnnLayout::InputSize(int pseudo_layer) const {
  return pseudo_layer < directions() ? rnn_.input_size : output_size() * directions();
}

int64_t RnnLayout::MatrixElements(int pseudo_layer, int id) const {
  const int kind = id / gates();
  if (kind == 0) {
    // With skipped input the first layer has no input matrix.
    const bool skipped = rnn_.input == CUDNN_SKIP_INPUT && pseudo_layer < directions();
    return skipped ? 0 : rnn_.hidden_size * InputSize(pseudo_layer);
  }
  if (kind == 1) {
    return rnn_.hidden_size * output_size();
  }
  return output_size() * rnn_.hidden_size;
}

bool RnnLayout::HasBias(int id) const {
  const int kind = id / gates();
  switch (rnn_.bias) {
    case CUDNN_RNN_NO_BIAS:
      return false;
    case CUDNN_RNN_SINGLE_INP_BIAS:
      return kind == 0;
    case CUDNN_RNN_SINGLE_REC_BIAS:
      return kind == 1;
    default:
      return kind < 2;
  }
}

RnnParameter RnnLayout::Matrix(int pseudo_layer, int id) const {
  RnnParameter parameter;
  for (int layer = 0; layer <= pseudo_layer; ++layer) {
    for (int i = 0; i < (layer == pseudo_layer ? id : ids()); ++i) {
      parameter.offset += MatrixElements(layer, i);
    }
  }
  const int64_t elements = MatrixElements(pseudo_layer, id);
  if (elements > 0) {
    parameter.rows = id / gates() == 2 ? output_size() : rnn_.hidden_size;
    parameter.columns = elements / parameter.rows;
  }
  return parameter;
}

RnnParameter RnnLayout::Bias(int pseudo_layer, int id) const {
  RnnParameter parameter;
  if (!HasBias(id)) {
    return parameter;
  }
  for (int layer = 0; layer < pseudo_layers(); ++layer) {
    for (int i = 0; i < ids(); ++i) {
      parameter.offset += MatrixElements(layer, i);
    }
  }
  for (int layer = 0; layer <= pseudo_layer; ++layer) {
    for (int i = 0; i < (layer == pseudo_layer ? id : 2 * gates()); ++i) {
      parameter.offset += HasBias(i) ? rnn_.hidden_size : 0;
    }
  }
  parameter.rows = rnn_.hidden_size;
  parameter.columns = 1;
  return parameter;
}

int64_t RnnLayout::parameters() const {
  int64_t elements = 0;
  for (int layer = 0; layer < pseudo_layers(); ++layer) {
    for (int i = 0; i < ids(); ++i) {
      elements += MatrixElements(layer, i);
    }
    for (int i = 0; i < 2 * gates(); ++i) {
      elements += HasBias(i) ? rnn_.hidden_size : 0;
    }
  }
  return elements;
}

size_t RnnLayout::WeightBytes() const { return parameters() * BytesOf(rnn_.type); }

size_t RnnLayout::WorkspaceBytes(int64_t steps, int64_t batch) const {
  return static_cast<size_t>((steps + 2) * batch * rnn_.hidden_size) * kept() * pseudo_layers() *
             BytesOf(rnn_.type) +
         2 * kFixedBytes;
}

size_t RnnLayout::ReserveBytes(int64_t steps, int64_t batch) const {
  const int handed_on = pseudo_layers() - directions();
  return static_cast<size_t>(steps * batch * rnn_.hidden_size) *
             (kept() * pseudo_layers() + handed_on) * BytesOf(rnn_.type) +
         kFixedBytes;
}

}  // namespace vramstow::simulator
