#include "tools/analysis/advice/one_weight.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

constexpr uint64_t kFarLonger = 8;  // one side is 8 times longer than the other

std::string NameOf(const HeldBlock& block) {
  constexpr std::string_view kGlobal = "global ";
  return block.holder.starts_with(kGlobal) ? block.holder.substr(kGlobal.size()) : block.holder;
}

}  // namespace

std::string AboutOneWeight(const FailureMoment& moment) {
  uint64_t all = 0;
  const Life* largest = nullptr;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr || block->role != "parameter") continue;
    all += life->size;
    if (largest == nullptr || life->size > largest->size) largest = life;
  }
  if (largest == nullptr || largest->size * 2 < all || largest->size == all) return "";
  const HeldBlock& block = *moment.holders().Of(*largest);
  const std::optional<TensorWords> words = ParseTensor(block.about);
  if (!words.has_value() || words->shape.size() != 2) return "";
  const uint64_t rows = words->shape[0];
  const uint64_t columns = words->shape[1];
  const std::string begin = "Most of it is one weight, " + NameOf(block) + " [" +
                            std::to_string(rows) + ", " + std::to_string(columns) + "]: ";
  if (columns > rows * kFarLonger) {
    return begin +
           "reduce the inputs of that layer (pool, or use a larger stride, before flatten()). "
           "Otherwise: ";
  }
  if (rows > columns * kFarLonger) {
    return begin + "use fewer rows or columns in that table, or keep it on the host. Otherwise: ";
  }
  return "";
}

}  // namespace vramstow
