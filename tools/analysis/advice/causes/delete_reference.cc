// A cause of an out-of-memory: the result of the last iteration is still live while the next one is
// made.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

constexpr uint64_t kRounding = 2 << 20;  // the rounding of PyTorch's requests to the driver

// True if a variable holds the block, and the function that allocated it has run later lines since
// then and now runs the same line again. It is asked only if no iterations of the program are
// known.
bool IsOfTurnBefore(const FailureMoment& moment, const Life& life) {
  const std::vector<CodeLine>& own = moment.request_site().own;
  const HeldBlock* block = moment.holders().Of(life);
  if (moment.passes().all().size() > 1 || own.empty() || block == nullptr) return false;
  if (block->holder.find('[') != std::string::npos || IsInGraph(*block)) return false;
  const CodeLine& line = own.back();
  const std::vector<Life>& lives = moment.detail().lives;
  for (auto next = std::ranges::upper_bound(lives, life.birth, {}, &Life::birth);
       next != lives.end() && next->birth < moment.event(); ++next) {
    const auto& others = moment.site_of(*next).own;
    if (std::ranges::any_of(others, [&](const CodeLine& other) {
          return other.function == line.function && other.line > line.line;
        })) {
      return true;
    }
  }
  return false;
}

// In x = f(x) the old block is freed only after the new one was allocated.
Found FindDeleteReference(const FailureMoment& moment) {
  if (moment.pass() < 1 && moment.passes().all().size() > 1) return std::nullopt;
  std::vector<const Life*> same;
  for (const Life* life : moment.live()) {
    const bool is_same = life->site == moment.failure().site_number ||
                         SameWork(moment.site_of(*life), moment.request_site());
    if (!is_same || !life->tensor) continue;
    if (life->size + kRounding < moment.requested()) continue;
    same.push_back(life);
  }
  if (same.size() != 1 || !moment.IsLarge(same.front()->size)) return std::nullopt;
  const bool is_earlier = moment.PassOf(*same.front()) < moment.pass();
  if (!is_earlier && !IsOfTurnBefore(moment, *same.front())) return std::nullopt;
  Cause cause;
  cause.change =
      FreedBefore(moment.detail(), same, is_earlier ? moment.pass_begin() : moment.event());
  cause.title = "The last iteration's result is still live while the next one is computed";
  cause.bytes = same.front()->size;
  cause.held = same;
  cause.place = PlaceOfRequest(moment);
  cause.evidence =
      "The same line had allocated " + AdviceText(cause.bytes) +
      " in the iteration before, and the variable references it until it gets the new value.";
  cause.cost = "None, if the value is not read any more.";
  cause.action = "Delete the variable (del) before " + cause.place + " runs again.";
  return cause;
}

}  // namespace

constinit const Rule kDeleteReference = {
    .rank = Rank::kMistake,
    .meaning = "the result of the last iteration is live while the next one is computed",
    .help =
        "A block that the same line allocated in the iteration before is live while this line "
        "requests the next one. A variable references the old value until it gets the new one. "
        "Delete the variable before the line runs again.",
    .needs = {kNeedsCallStacks},
    .cause = FindDeleteReference,
};

}  // namespace vramstow
