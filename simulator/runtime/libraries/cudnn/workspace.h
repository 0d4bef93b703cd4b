// Models how much workspace the stand-in for cuDNN requests.
//
// Modelled, since cuDNN does not document it: NVIDIA's fast engines work on channels-last tensors;
// tensors of another layout are first copied into the workspace. The gradient of a filter is summed
// in 32-bit floats. So a convolution requests
//
//   the bytes of x, w and y, each rounded up to 256, if its type has 16 bits or fewer and a layout
//   that is not channels-last, and, for the gradient of the filter, 4 bytes for each element of the
//   filter.
//
// From compute capability 9.0 on, 32-bit floats that are not channels-last follow what cuDNN 9.19
// used on an H100 for the layers of a ResNet-50 (docs/card.md): x and y are copied, and w if the
// filter has more than one pixel. A pointwise convolution on images of a multiple of four pixels
// needs no copy. Then the gradient of its filter has one partial sum for each image, if this needs
// less workspace. The remaining multiprocessors share the sum of one tile of 128 × 128 results,
// each with its own partial sums.
//
// Adjustable: VRAMSTOW_CUDNN_WORKSPACE in the environment (such as 0 or 64MiB) replaces the model
// for convolutions by one size.
//
// Ownership: none. Threads: any. Errors: a setting that is not a size is ignored. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_WORKSPACE_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_WORKSPACE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulator/runtime/libraries/cudnn/cudnn.h"

namespace vramstow::simulator {

enum class ConvolutionPass { kForward, kBackwardData, kBackwardFilter };

struct ConvolutionShape {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  bool channels_last = false;
  int64_t x_elements = 0;
  int64_t w_elements = 0;
  int64_t y_elements = 0;
  int64_t batch = 1;
  int64_t channels_in = 1;   // of x
  int64_t channels_out = 1;  // of y
  int64_t groups = 1;

  int64_t x_pixels() const { return x_elements / (batch * channels_in); }
  int64_t y_pixels() const { return y_elements / (batch * channels_out); }
  int64_t w_pixels() const { return w_elements * groups / (channels_in * channels_out); }
};

// The properties of the GPU that the engines are chosen for.
struct ConvolutionCard {
  int compute_capability = 0;  // 10 × major + minor
  int multiprocessors = 1;
};

size_t ConvolutionWorkspace(ConvolutionPass pass, const ConvolutionShape& shape,
                            const ConvolutionCard& card);

// Returns the GPU of the current context. Without a context it returns a default ConvolutionCard,
// whose compute capability is 0.
ConvolutionCard CurrentCard();

// Computes the shape of a convolution from the extents of its tensors, with batch and channels
// first. Extents of zero, or too few of them, give a shape without elements.
ConvolutionShape ShapeOf(cudnnDataType_t type, bool channels_last, const std::vector<int64_t>& x,
                         const std::vector<int64_t>& w, const std::vector<int64_t>& y);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_WORKSPACE_H_
