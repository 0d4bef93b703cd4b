// A cause of an out-of-memory: gradients of an earlier iteration are live beside new ones.
#include <set>
#include <string>
#include <vector>

#include "tools/analysis/advice/accumulation.h"
#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/advice/rule_table.h"
#include "tools/analysis/advice/training_state.h"

namespace vramstow {
namespace {

// True if a census (a reference scan) says that the block is not the gradient of a parameter, but a
// result of jacrev() or autograd.grad().
bool IsNoGradient(const FailureMoment& moment, const Life& life) {
  const HeldBlock* block = moment.holders().Of(life);
  if (block == nullptr || block->role == "gradient") return false;
  if (block->holder.find(".grad_fn") != std::string::npos) return true;
  return block->role == "other" && block->holder.find(".grad") == std::string::npos;
}

// Finds gradients of an earlier iteration that are live while this one makes new gradients.
Found FindGradientsKept(const FailureMoment& moment) {
  // The program has no reference by which it could release these gradients.
  if (IsFound(moment, {AdviceId::kKeptError, AdviceId::kDeadCycles})) return std::nullopt;
  const Accumulation accumulation(moment.detail(), moment.facts());
  if (accumulation.AddsUp(moment.event())) return std::nullopt;
  std::vector<const Life*> old;
  std::multiset<uint64_t> fresh;
  for (const Life* life : Gradients(moment)) {
    const int64_t pass = moment.PassOf(*life);
    if (pass < 0 || IsNoGradient(moment, *life)) continue;
    if (pass < moment.pass()) {
      if (accumulation.IsUsed(*life, moment.event())) old.push_back(life);
    } else {
      fresh.insert(life->size);
    }
  }
  if (fresh.empty()) return std::nullopt;
  Cause cause;
  cause.bytes = BytesOf(old);
  cause.held = old;
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.change = FreedBefore(moment.detail(), old, moment.pass_begin());
  cause.title = "Gradients of an earlier iteration are live while new ones are computed";
  cause.place = moment.passes().BackwardCall(moment.detail(), old.front()->birth);
  if (cause.place.empty()) cause.place = PlaceOf(moment.detail(), old.front()->site);
  cause.evidence =
      AdviceText(cause.bytes) +
      " of gradients were already live before this iteration, which allocates its own: " +
      LargestPlaces(moment.detail(), old) + ".";
  cause.cost = "None.";
  cause.action =
      "Call optimizer.zero_grad() right after optimizer.step(), for each model before the next one "
      "is trained.";
  return cause;
}

}  // namespace

constinit const Rule kGradientsKept = {
    .rank = Rank::kMistake,
    .meaning = "gradients of an earlier iteration in addition to new ones",
    .help =
        "A backward pass allocates gradients while those of an earlier iteration are still live, "
        "although an optimizer has used them. Gradients that are accumulated for a later step do "
        "not count. Call optimizer.zero_grad() right after optimizer.step(), for each model before "
        "the next "
        "one is trained.",
    .needs = {kNeedsBackwardPass, kNeedsEarlierIteration},
    .cause = FindGradientsKept,
};

}  // namespace vramstow
