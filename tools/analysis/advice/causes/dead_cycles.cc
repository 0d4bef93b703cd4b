// A cause of an out-of-memory: objects that are referenced only by each other, until Python's
// collector frees them.
#include <algorithm>
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

// Returns "Swish" for "a dead cycle: SwishBackward.out → itself". This cycle is the context that
// was passed to Swish.forward(), with an attribute that refers back to it. Returns an empty text
// for any other cycle.
std::string FunctionOfContext(const FailureMoment& moment, const std::vector<const Life*>& held) {
  constexpr std::string_view kBackward = "Backward";
  const std::vector<HolderFacts> holders = moment.holders().OfAll(held);
  if (holders.empty()) return "";
  std::string_view chain = holders.front().holder;
  chain.remove_prefix(std::min(chain.find(": ") + 2, chain.size()));
  std::string_view name = chain.substr(0, chain.find('.'));
  if (name.size() == chain.size() || !name.ends_with(kBackward)) return "";
  name.remove_suffix(kBackward.size());
  return std::string(name);
}

// Describes a context whose attribute leads back to the context. Only a full collection finds such
// a cycle.
void SayThatContextKeeps(const FailureMoment& moment, const std::string& function, Cause* cause) {
  cause->title =
      "An autograd function stores tensors as attributes of ctx, and the tensors reference ctx";
  cause->action =
      "In forward() store tensors with ctx.save_for_backward(), not as attributes of ctx: an "
      "output that is an attribute references ctx in turn, so that neither backward() nor the end "
      "of the step frees it. Attributes of ctx are for numbers and shapes.";
  const std::string place = PlaceOfHolder(moment.detail(), cause->held, function + ".forward");
  if (!place.empty()) cause->place = place;
}

Found FindDeadCycles(const FailureMoment& moment) {
  Cause cause;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block != nullptr && IsGarbage(*block)) cause.held.push_back(life);
  }
  cause.bytes = BytesOf(cause.held);
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.proof.grows = true;
  cause.change = FreedWithPass(moment, cause.held);
  if (!cause.change.known()) cause.change = Without(moment.detail(), cause.held);
  cause.title =
      "These tensors are not needed any more, but objects that reference each other keep them";
  cause.place = PlaceInProgram(moment, cause.held);
  cause.evidence =
      AdviceText(cause.bytes) +
      " wait for Python's garbage collector, which does not know that the GPU is full: " +
      LargestPlaces(moment.detail(), cause.held) + ".";
  cause.cost = "None, but the code changes.";
  cause.action =
      "Break the cycle: set one of its references to None when the object is not needed any more, "
      "or make it weak (weakref.ref). Until then call gc.collect() every few steps, or run with "
      "--pool=on, which collects garbage before memory runs out.";
  const std::string function = FunctionOfContext(moment, cause.held);
  if (!function.empty()) SayThatContextKeeps(moment, function, &cause);
  return cause;
}

}  // namespace

constinit const Rule kDeadCycles = {
    .rank = Rank::kMistake,
    .meaning =
        "objects that only reference each other, until Python's garbage collector frees them",
    .help =
        "The census found tensors that the program cannot reach: their owners only reference each "
        "other. Python's garbage collector will free them at some time, but it does not know that "
        "the GPU is full. Break the cycle with a weak reference, or call gc.collect() every few "
        "steps. With --pool=on vramstow collects garbage before a request fails.",
    .needs = {kNeedsCensus},
    .cause = FindDeadCycles,
};

}  // namespace vramstow
