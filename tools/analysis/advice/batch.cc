#include "tools/analysis/advice/batch.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

using Shape = std::vector<uint64_t>;

// Returns the shape of a tensor; empty if it is unknown.
Shape ShapeOf(const FailureMoment& moment, const Life& life) {
  const HeldBlock* block = moment.holders().Of(life);
  if (block == nullptr) return {};
  const std::optional<TensorWords> words = ParseTensor(block->about);
  return words.has_value() ? words->shape : Shape();
}

// Returns the shape of the tensor that was copied to the GPU last, outside of any module.
Shape InputOf(const FailureMoment& moment) {
  Shape input;
  for (const Life* life : moment.live()) {
    const SiteDetail& site = moment.site_of(*life);
    const std::string_view name = OperatorName(site);
    if (!life->tensor || !site.module.empty() || site.in_backward || site.in_optimizer) continue;
    if (name != "_to_copy" && name != "to") continue;
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr || block->role == "parameter" || block->role == "buffer") continue;
    const Shape shape = ShapeOf(moment, *life);
    if (shape.size() > 1) input = shape;
  }
  return input;
}

// Returns extents in the shapes of tensors that have another meaning than the batch size.
std::set<uint64_t> OthersOf(const FailureMoment& moment, const Shape& input) {
  std::set<uint64_t> others(input.begin() + 1, input.end());
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr || block->role != "parameter") continue;
    for (const uint64_t extent : ShapeOf(moment, *life)) others.insert(extent);
  }
  return others;
}

// True if the first extent may be a product with another extent of the input: a language model
// turns a text of [all, batch] into [length × batch, vocabulary].
bool HoldsSeveralExtents(const Shape& shape, const Shape& input) {
  return !shape.empty() && std::any_of(input.begin() + 1, input.end(), [&](uint64_t extent) {
    return extent > 1 && shape.front() > extent && shape.front() % extent == 0;
  });
}

}  // namespace

std::vector<const Life*> WithoutBatch(const FailureMoment& moment,
                                      const std::vector<const Life*>& lives) {
  const Shape input = InputOf(moment);
  if (input.empty() || input.front() < 2) return {};
  const uint64_t batch = input.front();
  const std::set<uint64_t> others = OthersOf(moment, input);
  if (others.contains(batch)) return {};
  std::vector<const Life*> without;
  for (const Life* life : lives) {
    const Shape shape = ShapeOf(moment, *life);
    const bool has_batch = std::ranges::any_of(
        shape, [&](uint64_t extent) { return extent % batch == 0 && !others.contains(extent); });
    if (HoldsSeveralExtents(shape, input)) continue;
    if (!shape.empty() && !has_batch) without.push_back(life);
  }
  return without;
}

std::string IfPadded(const FailureMoment& moment, uint32_t site, uint64_t bytes) {
  constexpr size_t kLeastPasses = 2;
  constexpr uint64_t kFarLarger = 4;
  const SiteDetail& here = moment.detail().sites[site];
  if (here.own.empty()) return "";
  std::map<int64_t, uint64_t> by_pass;  // the largest block of each iteration
  for (const Life& life : moment.detail().lives) {
    if (life.birth >= moment.pass_begin()) break;
    if (!life.tensor || life.pending || moment.PassOf(life) < 0) continue;
    // One line of a loop in a library may be reached by several call paths, so lines are compared
    // and not call sites.
    const SiteDetail& made = moment.site_of(life);
    if (made.site != here.site || OperatorName(made) != OperatorName(here)) continue;
    uint64_t& largest = by_pass[moment.PassOf(life)];
    largest = std::max(largest, life.size);
  }
  const auto most =
      std::ranges::max_element(by_pass, {}, [](const auto& one) { return one.second; });
  if (by_pass.size() < kLeastPasses || most->second * kFarLarger > bytes) return "";
  return " No batch before made more than " + AdviceText(most->second) +
         " here: shorten or shrink the largest input. If samples are padded to it, group them by "
         "length, or process it in a batch of its own.";
}

}  // namespace vramstow
