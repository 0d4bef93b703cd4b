#include "simulator/runtime/libraries/cudnn/workspace.h"

#include <cstdlib>

#include "base/units.h"
#include "simulator/runtime/libraries/cudnn/descriptors.h"

namespace vramstow::simulator {
namespace {

size_t RoundUp(size_t bytes) { return (bytes + 255) / 256 * 256; }

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
    bytes += RoundUp(shape.x_elements * element) + RoundUp(shape.w_elements * element) +
             RoundUp(shape.y_elements * element);
  }
  if (pass == ConvolutionPass::kBackwardFilter) {
    bytes += RoundUp(shape.w_elements * sizeof(float));
  }
  return bytes;
}

}  // namespace vramstow::simulator
