#include "tools/formats/block_rounding.h"

#include <algorithm>
#include <bit>

#include "base/rounding.h"
#include "base/units.h"
#include "tools/formats/text_helpers.h"

namespace vramstow {
namespace {

constexpr uint64_t kSmallestTorchBlock = 512;

}  // namespace

BlockRounding::BlockRounding(const std::vector<AllocatorSetting>& settings) {
  for (int i = 0; i < kClasses; ++i) {
    const std::string name = Concat("roundup_power2_divisions.", uint64_t{1} << i);
    const auto found = std::ranges::find(settings, name, &AllocatorSetting::name);
    if (found == settings.end()) continue;
    const auto* divisions = std::get_if<int64_t>(&found->value);
    // PyTorch accepts only powers of two as the number of divisions.
    if (divisions != nullptr && *divisions > 1 && std::has_single_bit(uint64_t(*divisions))) {
      divisions_[static_cast<size_t>(i)] = static_cast<uint64_t>(*divisions);
    }
  }
}

uint64_t BlockRounding::Round(uint64_t requested) const {
  if (requested <= kSmallestTorchBlock) return kSmallestTorchBlock;
  if (requested > ~uint64_t{0} / 4) return requested;  // no block is that large
  // Size class 0 has the requests below 2 MiB, class 1 those from 2 MiB to below 4 MiB, class 2
  // those from 4 MiB to below 8 MiB, and so on.
  const int log = static_cast<int>(std::bit_width(requested / kMiB));
  const auto size_class = static_cast<size_t>(std::clamp(log - 1, 0, kClasses - 1));
  const uint64_t divisions = divisions_[size_class];
  if (divisions > 1 && requested > kSmallestTorchBlock * divisions) {
    const uint64_t step = std::bit_floor(requested) / divisions;
    return RoundUp(requested, step);
  }
  return RoundUp(requested, kSmallestTorchBlock);
}

}  // namespace vramstow
