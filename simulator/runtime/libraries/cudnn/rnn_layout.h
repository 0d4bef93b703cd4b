// Where an RNN's parameters lie in cuDNN's one weight buffer, and how much space its passes need.
//
// Source of the layout: the documentation of cudnnGetRNNWeightParams (names and shapes of the
// matrices and biases of each pseudo-layer). Their order in the buffer is cuDNN's own business;
// here all matrices come first, pseudo-layer by pseudo-layer, the gates of one kind next to each
// other, then all biases in the same order. Frameworks ask for every address and rely only on the
// gates of one kind being neighbours.
//
// Modelled, since cuDNN does not document them: workspace and reserve space, which fit an LSTM of
// two layers on an H100 (docs/card.md); see the functions.
//
// Ownership: values. Threads: pure functions. Errors: none; the caller has checked the descriptor.
// Units: elements for offsets, bytes for sizes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_RNN_LAYOUT_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_RNN_LAYOUT_H_

#include <cstddef>
#include <cstdint>

#include "simulator/runtime/libraries/cudnn/descriptors.h"

namespace vramstow::simulator {

// One matrix or bias: rows × columns elements at `offset`. No rows: there is none.
struct RnnParameter {
  int64_t offset = 0;
  int64_t rows = 0;
  int64_t columns = 0;
};

class RnnLayout {
 public:
  explicit RnnLayout(const cudnnRNNStruct& rnn) : rnn_(rnn) {}

  // Matrices of one kind per cell: 4 for LSTM, 3 for GRU, 1 otherwise.
  int gates() const;
  int directions() const { return rnn_.direction == CUDNN_BIDIRECTIONAL ? 2 : 1; }
  int pseudo_layers() const { return rnn_.layers * directions(); }
  // The size of what a layer hands on: the hidden size, or the projection's where there is one.
  int64_t output_size() const;
  bool has_projection() const;

  // Parameter `id` of `pseudo_layer`: 0 … gates-1 for the input, gates … 2·gates-1 for the
  // recurrence, 2·gates for the projection of an LSTM.
  RnnParameter Matrix(int pseudo_layer, int id) const;
  RnnParameter Bias(int pseudo_layer, int id) const;

  int64_t parameters() const;
  size_t WeightBytes() const;

  // One pass over `steps` × `batch` inputs: for each layer what is kept of a step, and twice more.
  size_t WorkspaceBytes(int64_t steps, int64_t batch) const;
  // For training: gates and cell state of every step and layer, and what layers hand on.
  size_t ReserveBytes(int64_t steps, int64_t batch) const;

 private:
  // Values for each hidden one: the gates, and the cell state of an LSTM.
  int kept() const { return gates() + (rnn_.cell == CUDNN_LSTM ? 1 : 0); }
  bool HasBias(int id) const;
  int64_t MatrixElements(int pseudo_layer, int id) const;
  int64_t InputSize(int pseudo_layer) const;
  int ids() const { return 2 * gates() + (has_projection() ? 1 : 0); }

  const cudnnRNNStruct& rnn_;
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_RNN_LAYOUT_H_
