#include "simulator/runtime/libraries/cudnn/workspace.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>

#include "base/rounding.h"
#include "base/units.h"
#include "simulator/runtime/libraries/common/device.h"
#include "simulator/runtime/libraries/cudnn/cudnn_descriptors.h"

namespace vramstow::simulator {
namespace {

// Rounds up to 256 bytes, the alignment of each buffer.
size_t Aligned(size_t bytes) { return RoundUp(bytes, 256); }

constexpr int64_t kTile = 128;
constexpr int64_t kTileBytes = kTile * kTile * int64_t{sizeof(float)};
// Bytes that engines were seen to request in addition to tensors and sums.
constexpr int64_t kDirectBytes = 400;
constexpr int64_t kCopyBytes = 147;

// Returns the bytes of the partial sums for the tiles of a last, incomplete wave, which the
// multiprocessors share equally.
int64_t LastWaveBytes(int64_t tiles, int64_t multiprocessors) {
  const int64_t left = tiles % multiprocessors;
  const int64_t sharers = left == 0 ? 1 : multiprocessors / left;
  return sharers > 1 ? left * sharers * kTileBytes : 0;
}

int64_t TilesIn(int64_t extent, int64_t tile) { return RoundUp(extent, tile) / tile; }

int64_t FilterSumBytes(const ConvolutionShape& shape, int64_t multiprocessors) {
  const int64_t tile = std::min(kTile, shape.channels_out);
  const int64_t tiles =
      TilesIn(shape.channels_out, tile) * TilesIn(shape.channels_in * shape.w_pixels(), tile);
  if (tiles > multiprocessors) return LastWaveBytes(tiles, multiprocessors);
  const int64_t sharers = multiprocessors / tiles;
  return sharers > 1 ? sharers * shape.w_elements * int64_t{sizeof(float)} : 0;
}

// Returns the workspace for 32-bit floats that are not channels-last, from compute capability 9.0
// on.
int64_t FloatWorkspace(ConvolutionPass pass, const ConvolutionShape& shape,
                       int64_t multiprocessors) {
  constexpr int64_t kElement = sizeof(float);
  const bool one_pixel = shape.w_pixels() == 1;
  const bool direct =
      one_pixel && shape.x_elements * shape.channels_out == shape.y_elements * shape.channels_in &&
      shape.x_pixels() % 4 == 0;
  const int64_t copies =
      (shape.x_elements + shape.y_elements + (one_pixel ? 0 : shape.w_elements)) * kElement +
      kCopyBytes;
  if (pass == ConvolutionPass::kBackwardFilter) {
    const int64_t copied = copies + FilterSumBytes(shape, multiprocessors);
    return direct ? std::min(copied, shape.batch * shape.w_elements * kElement) : copied;
  }
  if (direct) return kDirectBytes;
  if (pass == ConvolutionPass::kBackwardData || one_pixel) return copies;
  const int64_t tiles =
      TilesIn(shape.batch * shape.y_pixels(), kTile) * TilesIn(shape.channels_out, kTile);
  return copies + (tiles > multiprocessors ? LastWaveBytes(tiles, multiprocessors) : 0);
}

}  // namespace

ConvolutionCard CurrentCard() {
  ConvolutionCard card;
  if (ComputeCapability(&card.compute_capability) != CUDA_SUCCESS ||
      ProcessorCount(&card.multiprocessors) != CUDA_SUCCESS) {
    return {};
  }
  return card;
}

ConvolutionShape ShapeOf(cudnnDataType_t type, bool channels_last, const std::vector<int64_t>& x,
                         const std::vector<int64_t>& w, const std::vector<int64_t>& y) {
  const auto elements = [](const std::vector<int64_t>& extents) {
    return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
  };
  ConvolutionShape shape = {.type = type, .channels_last = channels_last};
  if (std::min({x.size(), w.size(), y.size()}) < 2) return shape;
  if (std::min({elements(x), elements(w), elements(y)}) <= 0) return shape;
  shape.x_elements = elements(x);
  shape.w_elements = elements(w);
  shape.y_elements = elements(y);
  shape.batch = x[0];
  shape.channels_in = x[1];
  shape.channels_out = y[1];
  shape.groups = std::max<int64_t>(x[1] / w[1], 1);
  return shape;
}

size_t ConvolutionWorkspace(ConvolutionPass pass, const ConvolutionShape& shape,
                            const ConvolutionCard& card) {
  uint64_t fixed = 0;
  const char* setting = getenv("VRAMSTOW_CUDNN_WORKSPACE");
  if (setting != nullptr && ParseBytes(setting, &fixed)) {
    return fixed;
  }
  const size_t element = BytesOf(shape.type);
  if (card.compute_capability >= 90 && shape.type == CUDNN_DATA_FLOAT && !shape.channels_last &&
      shape.groups == 1 && shape.x_elements > 0) {
    return static_cast<size_t>(FloatWorkspace(pass, shape, card.multiprocessors));
  }
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
