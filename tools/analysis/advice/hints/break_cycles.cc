// Advice about reference cycles: garbage had to be collected before requests were served.
#include <string>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

// Finds garbage that had to be collected before a request could be served.
Hint FindBreakCycles(const Evidence& evidence) {
  const GarbageFacts& garbage = evidence.facts().garbage;
  if (garbage.saved_requests == 0 || garbage.most_bytes == 0) return std::nullopt;
  const std::string cycle = garbage.cycles.empty() ? "" : garbage.cycles.front().cycle;
  return AdviceFacts{
      .title = "Tensors stay in objects that reference themselves",
      .bytes = garbage.most_bytes,
      .evidence = std::to_string(garbage.saved_requests) +
                  (garbage.saved_requests == 1 ? " request" : " requests") +
                  " would have failed if garbage had not been collected first: up to " +
                  AdviceText(garbage.most_bytes) + " at once, kept by " +
                  (cycle.empty() ? "cycles" : cycle) + ".",
      .cost = "None, but the code changes.",
      .action =
          "Break the cycle: make one of its references weak (weakref.ref, weakref.proxy), or set "
          "it to None when the object is not needed any more. Then its tensors are freed at once, "
          "without a garbage collection.",
      .holder = cycle};
}

bool HasBeenSavedByCollector(const Evidence& evidence) {
  return evidence.facts().garbage.saved_requests > 0;
}

constexpr Precondition kNeedsCollection = {
    .words = "a request was served only because vramstow had called Python's garbage collector",
    .in_job = HasBeenSavedByCollector};

}  // namespace

constinit const Rule kBreakCycles = {
    .rank = Rank::kUsual,
    .meaning = "garbage had to be collected before requests were served",
    .help =
        "With --collect, requests would have failed if Python's garbage collector had not been "
        "called first: tensors stay in objects that reference themselves. Break the cycle with a "
        "weak reference; then its tensors are freed at once.",
    .needs = {kNeedsCollection},
    .advice = FindBreakCycles,
    .saves = false,
    .is_fault = true,
};

}  // namespace vramstow
