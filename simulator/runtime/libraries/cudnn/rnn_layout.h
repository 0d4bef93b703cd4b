// Computes the offsets of an RNN's parameters in cuDNN's single weight buffer, and the space that
// its forward and backward passes need.
//
// Source of the layout: the documentation of cudnnGetRNNWeightParams (names and shapes of the
// matrices and biases of each pseudo-layer). The order of the parameters in the buffer is not
// documented. Here all matrices come first, pseudo-layer by pseudo-layer, with the gates of one
// kind adjacent, then all biases in the same order. Frameworks query every address and rely only on
// the gates of one kind being adjacent.
//
// Modelled, since cuDNN does not document them: the sizes of workspace and reserve space, which
// match an LSTM of two layers on an H100 (docs/card.md).
//
// Ownership: values. Threads: pure functions. Errors: none; the caller has checked the descriptor.
// Units: elements for offsets, bytes for sizes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_RNN_LAYOUT_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_RNN_LAYOUT_H_

#include <cstddef>
#include <cstdint>

#include "simulator/runtime/libraries/cudnn/cudnn_descriptors.h"

namespace vramstow::simulator {

// One matrix or bias: rows × columns elements at `offset`. `rows` is 0 if the network does not have
// this parameter.
struct RnnParameter {
  int64_t offset = 0;
  int64_t rows = 0;
  int64_t columns = 0;
};

class RnnLayout {
 public:
  explicit RnnLayout(const cudnnRNNStruct& rnn) : rnn_(rnn) {}

  // Returns the number of matrices of one kind per cell: 4 for LSTM, 3 for GRU, otherwise 1.
  int gates() const;
  int directions() const { return rnn_.direction == CUDNN_BIDIRECTIONAL ? 2 : 1; }
  int pseudo_layers() const { return rnn_.layers * directions(); }
  // Returns the size of a layer's output: the projection's size if there is a projection, else the
  // hidden size.
  int64_t output_size() const;
  bool has_projection() const;

  // Return parameter `id` of `pseudo_layer`. Ids 0 … gates-1 are for the input, gates … 2·gates-1
  // for the recurrence, and 2·gates for the projection of an LSTM.
  RnnParameter Matrix(int pseudo_layer, int id) const;
  RnnParameter Bias(int pseudo_layer, int id) const;

  int64_t parameters() const;
  size_t WeightBytes() const;

  // Returns the workspace of a forward or backward pass over `steps` × `batch` inputs: for each
  // layer the stored values of one step, and two more of them.
  size_t WorkspaceBytes(int64_t steps, int64_t batch) const;
  // Returns the reserve space for training: gates and cell state of every step and layer, and the
  // outputs of the layers.
  size_t ReserveBytes(int64_t steps, int64_t batch) const;

 private:
  // Returns the number of stored values per hidden value: the gates, and the cell state of an LSTM.
  int kept() const { return gates() + (rnn_.cell == CUDNN_LSTM ? 1 : 0); }
  bool HasBias(int id) const;
  int64_t MatrixElements(int pseudo_layer, int id) const;
  int64_t InputSize(int pseudo_layer) const;
  int ids() const { return 2 * gates() + (has_projection() ? 1 : 0); }

  const cudnnRNNStruct& rnn_;
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_RNN_LAYOUT_H_
