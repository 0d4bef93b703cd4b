// How much workspace the stand-in for cuDNN asks for.
//
// Modelled, since cuDNN does not document it: NVIDIA's fast engines for 16-bit types work on
// channels- last tensors; given another layout they first copy the tensors, into the workspace. The
// gradient of a filter is summed in 32-bit floats. So a convolution asks for
//
//   the bytes of x, w and y, each rounded up to 256, if its type has 16 bits or fewer and a layout
//   that is not channels-last, and, for the gradient of the filter, 4 bytes for each of its
//   elements.
//
// Adjustable: VRAMSTOW_CUDNN_WORKSPACE in the environment (such as 0 or 64MiB) replaces the model
// for convolutions by one size.
//
// Ownership: none. Threads: any. Errors: a setting that is no size is as if it were not there.
// Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_WORKSPACE_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_WORKSPACE_H_

#include <cstddef>
#include <cstdint>

#include "simulator/runtime/libraries/cudnn/cudnn.h"

namespace vramstow::simulator {

enum class ConvolutionPass { kForward, kBackwardData, kBackwardFilter };

struct ConvolutionShape {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  bool channels_last = false;
  int64_t x_elements = 0;
  int64_t w_elements = 0;
  int64_t y_elements = 0;
};

size_t ConvolutionWorkspace(ConvolutionPass pass, const ConvolutionShape& shape);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_WORKSPACE_H_
