#include "simulator/runtime/libraries/cudnn/workspace.h"

#include <cstdlib>

#include "base/rounding.h"
#include "base/units.h"
#include "simulator/runtime/libraries/cudnn/descriptors.h"

namespace vramstow::simulator {
namespace {

// Each buffer begins at a multiple of 256 bytes.
size_t Aligned(size_t bytes) { return RoundUp(bytes, 256); }

}  // namespace

size_t ConvolutionWorkspace(ConvolutionPass pass, const ConvolutionShape& shape) {
  uint64_t fixed = 0;
  const char* setting = getenv("VRAMSTOW_CUDNN_WORKSPACE");
  if (setting != nullptr && ParseBytes(setting, &fixed)) {
    return fixed;
  }
  const size_t element = BytesOf(shape.type);
  size_t bytes = 0;
  if (element <= 2 && !shape.channels_last) {
    bytes += Aligned(shape.x_elements * element) + Aligned(shape.w_elements * element) +
             Aligned(shape.y_elements * element);
  }
  if (pass == ConvolutionPass::kBackwardFilter) {
    bytes += Aligned(shape.w_elements * sizeof(float));
  }
  return bytes;
}

}  // namespace vramstow::simulator
