// A cause of an out-of-memory: copies of all weights in another type on the GPU, made to be saved
// or compared.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/parameter_sites.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

constexpr size_t kLeastCopies = 3;
constexpr uint64_t kLeastShare = 4;  // 1/4 of the weights; fewer equal shapes may be chance

// The parameters of the model, counted by shape.
struct Shapes {
  std::map<std::vector<uint64_t>, size_t> counts;
  std::string type;  // the type of the largest copy
  uint64_t largest = 0;
  uint64_t bytes = 0;
};

Shapes ShapesOfParameters(const FailureMoment& moment) {
  Shapes shapes;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr || block->role != "parameter") continue;
    const std::optional<TensorWords> words = ParseTensor(block->about);
    if (!words.has_value()) continue;
    ++shapes.counts[words->shape];
    shapes.bytes += words->bytes;
    if (words->bytes < shapes.largest) continue;
    shapes.largest = words->bytes;
    shapes.type = words->type;
  }
  return shapes;
}

// Copies made by one line, with the shape of a parameter and another type.
struct Copies {
  std::vector<const Life*> lives;
  std::map<std::vector<uint64_t>, size_t> counts;
  std::string type;
};

bool MayBeCopy(const FailureMoment& moment, const Life& life, const HeldBlock* block) {
  const SiteDetail& site = moment.site_of(life);
  if (!life.tensor || OperatorName(site) != "_to_copy" || !MayBeParameter(site)) return false;
  // A copy that an optimizer trains beside the model is needed.
  return block != nullptr && block->role == "other" &&
         block->about.find("requires grad") == std::string::npos;
}

Copies LargestCopies(const FailureMoment& moment, const Shapes& shapes) {
  std::map<uint32_t, Copies> by_site;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (!MayBeCopy(moment, *life, block)) continue;
    const std::optional<TensorWords> words = ParseTensor(block->about);
    if (!words.has_value() || words->type == shapes.type) continue;
    const auto known = shapes.counts.find(words->shape);
    if (known == shapes.counts.end()) continue;
    Copies& copies = by_site[life->site];
    if (++copies.counts[words->shape] > known->second) continue;
    copies.lives.push_back(life);
    copies.type = words->type;
  }
  Copies largest;
  for (const auto& [site, copies] : by_site) {
    if (BytesOf(copies.lives) > BytesOf(largest.lives)) largest = copies;
  }
  return largest;
}

uint64_t WidthOf(const HeldBlock& block) {
  const std::optional<TensorWords> words = ParseTensor(block.about);
  uint64_t numbers = 1;
  for (const uint64_t extent : words->shape) numbers *= extent;
  return numbers == 0 ? 0 : words->bytes / numbers;
}

// Returns the bytes that all weights would take in the type of the copies.
uint64_t WholeCopy(const FailureMoment& moment, const Copies& copies) {
  const uint64_t width = WidthOf(*moment.holders().Of(*copies.lives.front()));
  uint64_t bytes = 0;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr || block->role != "parameter") continue;
    const std::optional<TensorWords> words = ParseTensor(block->about);
    const uint64_t own = words.has_value() ? WidthOf(*block) : 0;
    if (own > 0) bytes += words->bytes / own * width;
  }
  return bytes;
}

Found FindConvertedCopies(const FailureMoment& moment) {
  const Shapes shapes = ShapesOfParameters(moment);
  if (shapes.counts.empty()) return std::nullopt;
  Copies copies = LargestCopies(moment, shapes);
  const uint64_t made = BytesOf(copies.lives);
  if (copies.lives.size() < kLeastCopies || made * kLeastShare < shapes.bytes) return std::nullopt;
  const bool goes_on = SameWork(moment.request_site(), moment.site_of(*copies.lives.front()));
  const uint64_t whole = WholeCopy(moment, copies);
  Cause cause;
  cause.held = copies.lives;
  cause.bytes = goes_on ? std::max(whole, made) : made;
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.change = Without(moment.detail(), copies.lives);
  if (goes_on) {
    cause.change.requested = 0;
    cause.change.spared_later = cause.bytes - std::min(cause.bytes, made + moment.requested());
  }
  cause.title = "A copy of all weights in " + copies.type + " is made on the GPU";
  cause.place = PlaceInProgram(moment, copies.lives);
  cause.evidence = AdviceText(made) + " are copies in " + copies.type +
                   " of weights that the model has in " + shapes.type + ": " +
                   LargestPlaces(moment.detail(), copies.lives) + ".";
  if (goes_on) {
    cause.evidence += " The program was making the next one; copies of all weights would take " +
                      AdviceText(whole) + ".";
  }
  cause.cost = "A transfer of the weights.";
  cause.action =
      "Move each weight to the host before it is converted (value.cpu().float()), or convert and "
      "write one at a time.";
  return cause;
}

}  // namespace

constinit const Rule kConvertedCopies = {
    .rank = Rank::kMistake,
    .meaning = "a copy of all weights in another type, made to be saved",
    .help =
        "One line of the program converted the weights of the model to another type and keeps the "
        "copies on the GPU, often to save them. Move each weight to the host before it is "
        "converted.",
    .needs = {kNeedsParameters},
    .cause = FindConvertedCopies,
};

}  // namespace vramstow
