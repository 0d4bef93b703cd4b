#include "simulator/kernels/named/tensor_list.h"

#include <algorithm>

#include "base/rounding.h"

namespace vramstow::simulator {
namespace {

constexpr uint64_t kChunk = 65536;  // elements for each block
constexpr size_t kBlocks = 2240;    // blocks for each launch, at most
constexpr uint64_t kPatience = 4;

}  // namespace

TensorListLayout::TensorListLayout(size_t lists, size_t value_bytes, bool has_start)
    : depth(lists) {
  static constexpr size_t kTensors[kListDepthMax] = {770, 448, 336, 252, 210};
  static constexpr size_t kTensorsWithValues[kListDepthMax] = {672, 448, 336, 252, 210};
  tensors = (value_bytes == 0 ? kTensors : kTensorsWithValues)[depth - 1];
  counts = 8 * depth * tensors;
  values = counts + 8 * tensors;
  block_tensors = values + value_bytes * tensors;
  block_chunks = block_tensors + 2 * kBlocks;
  start = block_chunks + 4 * kBlocks;
  bytes = RoundUp(start + (has_start ? 4 : 0), 8);
}

Outcome ReadParts(const KernelLaunch& launch, const TensorListLayout& layout, size_t width,
                  std::vector<ListPart>* parts) {
  const size_t blocks = launch.grid[0];
  if (blocks == 0 || blocks > kBlocks) return Outcome::kNotUnderstood;
  uint64_t elements = 0;
  for (size_t block = 0; block < blocks; ++block) {
    const size_t tensor = launch.Get<uint16_t>(0, layout.block_tensors + 2 * block);
    const auto chunk = launch.Get<int32_t>(0, layout.block_chunks + 4 * block);
    if (tensor >= layout.tensors || chunk < 0) return Outcome::kNotUnderstood;
    const auto total = launch.Get<int64_t>(0, layout.counts + 8 * tensor);
    const uint64_t first = static_cast<uint64_t>(chunk) * kChunk;
    if (total <= 0 || first >= static_cast<uint64_t>(total)) return Outcome::kNotUnderstood;
    const uint64_t count = std::min<uint64_t>(kChunk, static_cast<uint64_t>(total) - first);
    elements += count;
    if (!parts->empty() && parts->back().tensor == tensor &&
        parts->back().first + parts->back().count == first) {
      parts->back().count += count;
    } else {
      parts->push_back({tensor, first, count});
    }
  }
  return elements > launch.limits.bytes / (width * layout.depth) * kPatience ? Outcome::kTooLarge
                                                                             : Outcome::kDone;
}

}  // namespace vramstow::simulator
