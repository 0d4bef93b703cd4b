// A cause of an out-of-memory: numbers of 64 bits where 32 would do.
#include <algorithm>
#include <array>
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

// True for element-wise operations: the result is as large as the largest input, unless its numbers
// are wider.
bool WorksNumberByNumber(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kNames = {"add", "sub",  "mul",
                                                             "div", "rsub", "pow"};
  return std::ranges::find(kNames, name) != kNames.end();
}

// Returns the first block of this iteration that is exactly twice as large as the largest one
// before it.
const Life* FirstTwiceAsWide(const FailureMoment& moment) {
  const Life* before = nullptr;  // the largest block before it
  for (const Life& life : moment.detail().lives) {
    if (life.birth >= moment.event()) break;
    if (!life.tensor || life.pending || moment.PassOf(life) < moment.pass()) continue;
    const SiteDetail& site = moment.site_of(life);
    if (site.in_backward || site.in_optimizer) break;
    if (before != nullptr && before->size * 2 == life.size && before->LivesAt(life.birth) &&
        WorksNumberByNumber(OperatorName(site)) && life.LivesAt(moment.event()) &&
        moment.IsLarge(life.size)) {
      return &life;
    }
    if (before == nullptr || life.size > before->size) before = &life;
  }
  return nullptr;
}

Found FindFloat64(const FailureMoment& moment) {
  const bool by_kernel = std::ranges::any_of(moment.detail().sites, [](const SiteDetail& site) {
    return site.is_float64 && site.allocations > 0;
  });
  std::vector<const Life*> wide;
  const Life* first = FirstTwiceAsWide(moment);
  for (const Life* life : moment.live()) {
    if (!life->tensor || life->size < (1 << 16)) continue;
    const HeldBlock* block = moment.holders().Of(*life);
    const auto words = block == nullptr ? std::nullopt : ParseTensor(block->about);
    // For the blocks that the census (a reference scan) has seen, the type is certain. For the
    // other blocks, the kernels or the size indicate it.
    const bool is_wide = words.has_value() ? words->type == "float64" || words->type == "complex128"
                         : by_kernel       ? true
                                           : first != nullptr && life->birth >= first->birth &&
                                           life->size % first->size == 0;
    if (is_wide) wide.push_back(life);
  }
  Cause cause;
  if (wide.empty()) return std::nullopt;
  // Results that are computed from 64-bit numbers have 64 bits, too.
  const bool asks_wide = by_kernel || moment.requested() % wide.back()->size == 0;
  cause.bytes = (BytesOf(wide) + (asks_wide ? moment.requested() : 0)) / 2;
  cause.held = wide;
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.change = InParts(moment.detail(), wide, 2);
  if (asks_wide) cause.change.requested = moment.requested() / 2;
  cause.title = "Numbers have 64 bits";
  cause.is_estimate = true;
  cause.place = PlaceOf(moment.detail(), wide.front()->site);
  cause.evidence = by_kernel || first == nullptr
                       ? "These tensors (" + AdviceText(BytesOf(wide)) +
                             ") are float64: they take twice the memory of float32."
                       : std::string(OperatorName(moment.site_of(*first))) + " made " +
                             AdviceText(first->size) +
                             " from an input half as large: its numbers are twice as wide. One of "
                             "its inputs is float64, which is the default type of NumPy arrays.";
  cause.cost = "Rounding, as everywhere else in machine learning.";
  cause.action =
      "Call model.float(), and pass dtype=torch.float32 when NumPy arrays are converted to "
      "tensors.";
  return cause;
}

}  // namespace

constinit const Rule kFloat64 = {
    .rank = Rank::kMistake,
    .meaning = "numbers are twice as wide as float32",
    .help =
        "The census, the names of kernels, or a result that is exactly twice as large as its input "
        "show that numbers have 64 bits, which is the default of NumPy arrays. Call model.float(), "
        "and pass dtype=torch.float32 when arrays are converted to tensors.",
    .needs = {kNeedsTensors},
    .cause = FindFloat64,
};

}  // namespace vramstow
