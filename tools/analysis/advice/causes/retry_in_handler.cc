// A cause of an out-of-memory: the exception of a first attempt holds its tensors while the second
// attempt runs.
#include <algorithm>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

// Returns the depth at which both stacks are in the same function, but on different lines; -1 if
// there is no such depth.
int64_t DepthOfParting(const std::vector<CodeLine>& a, const std::vector<CodeLine>& b) {
  for (size_t depth = 0; depth < std::min(a.size(), b.size()); ++depth) {
    if (a[depth].function != b[depth].function) return -1;
    if (a[depth].line != b[depth].line) return static_cast<int64_t>(depth);
  }
  return -1;
}

// False if a census names another owner.
bool MayBeHeldByError(const FailureMoment& moment, const Life& life) {
  const HeldBlock* block = moment.holders().Of(life);
  // An object that holds the exception also holds its frames after the handler has ended.
  if (block == nullptr || block->holder.starts_with(kHandledNow)) return true;
  return IsHeldByError(*block) && block->holder.find(": frame ") == std::string::npos;
}

// Finds blocks of an earlier attempt: they were allocated below a line that has ended since. Only
// the exception that ended the attempt can still hold its frames.
Found FindRetryInHandler(const FailureMoment& moment) {
  for (const OutOfMemoryFacts& before : moment.facts().out_of_memory) {
    if (before.event >= moment.event()) break;
    const std::vector<CodeLine>& tried = moment.detail().sites[before.site_number].own;
    const int64_t depth = DepthOfParting(tried, moment.request_site().own);
    if (depth < 0) continue;
    const size_t levels = static_cast<size_t>(depth) + 1;
    std::vector<const Life*> held;
    for (const Life* life : moment.live()) {
      const std::vector<CodeLine>& own = moment.site_of(*life).own;
      if (life->birth > before.event || own.size() < levels) continue;
      const bool is_below =
          std::equal(own.begin(), own.begin() + static_cast<ptrdiff_t>(levels), tried.begin(),
                     [](const CodeLine& a, const CodeLine& b) { return a.text == b.text; });
      if (is_below && MayBeHeldByError(moment, *life)) held.push_back(life);
    }
    Cause cause;
    cause.bytes = BytesOf(held);
    cause.held = held;
    if (!moment.IsLarge(cause.bytes)) continue;
    // If a census (a reference scan) found that no exception holds these blocks, their owner is a
    // different one.
    if (moment.holders().any() && !SummarizeCensus(moment.holders(), held).decides()) continue;
    cause.change = FreedBefore(moment.detail(), held, before.event + 1);
    cause.title = "The first try's tensors are live while the second one runs";
    cause.place = CommonPlace(moment.detail(), held);
    cause.evidence =
        AdviceText(cause.bytes) +
        " of an attempt that had failed were still live: the exception that is being handled "
        "references the frames of that attempt, and these reference the tensors " +
        LargestPlaces(moment.detail(), held) + ".";
    cause.cost = "None.";
    cause.action =
        "Leave the except block before the second try: set a flag in it, and try again after it.";
    return cause;
  }
  return std::nullopt;
}

bool HasFailedBefore(const FailureMoment& moment) {
  return moment.facts().out_of_memory.front().event < moment.event();
}

constexpr Precondition kNeedsEarlierFailure = {.words = "another request had failed before",
                                               .in_failure = HasFailedBefore};

}  // namespace

constinit const Rule kRetryInHandler = {
    .rank = Rank::kMistake,
    .meaning =
        "the exception of a first try, which references its tensors while the second one runs",
    .help =
        "A request failed before, in a line that the program has left. Blocks of this try are "
        "still live: the exception that is being handled references its frames, and the frames "
        "reference their variables. The second try needs memory in addition. Leave the except "
        "block before the second try: set a flag in it, and try again after it.",
    .needs = {kNeedsEarlierFailure},
    .cause = FindRetryInHandler,
};

}  // namespace vramstow
