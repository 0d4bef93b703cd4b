// A cause of an out-of-memory: masks and one-hot classes that are 64-bit integers.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

constexpr uint64_t kFlagIsNarrower = 8;  // a bool is 8 times narrower
constexpr uint64_t kMaxClasses = 4096;

// Returns the number of one-hot classes: F.one_hot makes zeros whose last extent is the number of
// classes, and fills them. Returns 0 if it is something else.
uint64_t ClassesOf(const FailureMoment& moment, const std::vector<const Life*>& lives) {
  uint64_t classes = kMaxClasses;
  for (const Life* life : lives) {
    if (OperatorName(moment.site_of(*life)).find("zeros") == std::string_view::npos) return 0;
    const std::optional<TensorWords> words = ParseTensor(moment.holders().Of(*life)->about);
    classes = std::min(classes, words->shape.back());
  }
  return classes < kMaxClasses ? classes : 0;
}

// True for operations whose results are indices or counts, which need all their bits.
bool MakesPlaces(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kNames = {"sort", "topk",   "nonzero", "arange",
                                                             "rand", "argmax", "argmin",  "cumsum"};
  return std::ranges::any_of(
      kNames, [&](std::string_view one) { return name.find(one) != std::string_view::npos; });
}

Found FindWideIntegers(const FailureMoment& moment) {
  Cause cause;
  const Life* largest = nullptr;
  std::string type;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr || !life->tensor || life->size < (1 << 20)) continue;
    const std::optional<TensorWords> words = ParseTensor(block->about);
    if (!words.has_value() || words->type != "int64" || words->bytes * 2 < life->size) continue;
    // Only tensors with three extents or more count as masks or one-hot classes.
    if (words->shape.size() < 3 || MakesPlaces(OperatorName(moment.site_of(*life)))) continue;
    cause.held.push_back(life);
    if (largest != nullptr && largest->size >= life->size) continue;
    largest = life;
    type = block->about.substr(0, block->about.find(']')) + "]";
  }
  const uint64_t wide = BytesOf(cause.held);
  // With the change, only one class at a time is live.
  const uint64_t parts =
      std::max(kFlagIsNarrower, cause.held.empty() ? 0 : ClassesOf(moment, cause.held));
  cause.bytes = wide - wide / parts;
  // Pictures and texts are integers, too, but they are not most of the live memory.
  if (largest == nullptr || !moment.IsLarge(cause.bytes) || wide * 3 < moment.live_bytes()) {
    return std::nullopt;
  }
  // Results that the same line computes from these tensors have 64 bits, too.
  const bool asks_wide = moment.requested() == largest->size;
  cause.change = InParts(moment.detail(), cause.held, parts);
  if (asks_wide) {
    cause.change.requested = moment.requested() / parts;
    cause.bytes += moment.requested() - moment.requested() / parts;
  }
  cause.is_estimate = true;
  cause.title = "Masks or classes are 64-bit integers";
  cause.place = PlaceOf(moment.detail(), largest->site);
  cause.evidence = AdviceText(wide) + " are int64, as " + type + ": " +
                   LargestPlaces(moment.detail(), cause.held) + ". A bool takes an eighth of that.";
  cause.cost = "None, if they are flags.";
  cause.action =
      "If they are flags (a mask, F.one_hot), store them as bool (mask.bool(), labels == class "
      "instead of one_hot), or process one class at a time.";
  if (parts > kFlagIsNarrower) {
    cause.action =
        "Process one class at a time (mask = labels == class), so that no tensor has a dimension "
        "for the classes. Otherwise store the flags as bool.";
    cause.cost = "A loop over the classes.";
  }
  return cause;
}

}  // namespace

constinit const Rule kWideIntegers = {
    .rank = Rank::kMistake,
    .meaning = "masks and one-hot classes are 64-bit integers",
    .help =
        "Most of the live memory are tensors of 64-bit integers with three or more dimensions: "
        "masks, or results of F.one_hot. As bool they take an eighth.",
    .needs = {kNeedsCensus},
    .cause = FindWideIntegers,
};

}  // namespace vramstow
