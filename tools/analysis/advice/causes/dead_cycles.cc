// A cause: objects that only hold one another, until Python's collector comes to them.
#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

Found FindDeadCycles(const FailureMoment& moment) {
  Cause cause;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block != nullptr && IsGarbage(*block)) cause.held.push_back(life);
  }
  cause.bytes = BytesOf(cause.held);
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.grows = true;
  cause.change = FreedWithPass(moment, cause.held);
  if (!cause.change.known()) cause.change = Without(moment.detail(), cause.held);
  cause.title = "Nobody needs these tensors, and objects that hold one another keep them";
  cause.place = PlaceInProgram(moment, cause.held);
  cause.evidence = AdviceText(cause.bytes) +
                   " wait for Python's collector of garbage, which does not know of the card: " +
                   LargestPlaces(moment.detail(), cause.held) + ".";
  cause.cost = "None, but the code changes.";
  cause.action =
      "Break the cycle: set one of its references to None when the object is done with, or make it "
      "weak (weakref.ref). In a torch.autograd.Function keep tensors with ctx.save_for_backward(), "
      "not as attributes of ctx. Until then call gc.collect() every few steps, or run with "
      "--pool=on, which collects before it gives up.";
  return cause;
}

}  // namespace

constinit const Rule kDeadCycles = {
    .rank = Rank::kMistake,
    .meaning = "objects that only hold one another, until Python's collector comes to them",
    .help =
        "The census found tensors that nothing in the program reaches: their owners hold one "
        "another. Python's collector frees them some time, but it does not know that the card is "
        "full. Break the cycle with a weak reference, or call gc.collect() every few steps. With "
        "--pool=on vramstow collects before a request fails.",
    .cause = FindDeadCycles,
};

}  // namespace vramstow
