// What only garbage holds: objects that hold one another, until Python's collector comes to them.
#include <string>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/cause.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/explain/testimony.h"

namespace vramstow {

Found DeadCycles(const Scene& scene) {
  Cause cause;
  for (const Life* life : scene.live()) {
    const HeldBlock* block = scene.holders().Of(*life);
    if (block != nullptr && IsGarbage(*block)) cause.held.push_back(life);
  }
  cause.bytes = BytesOf(cause.held);
  if (!scene.IsLarge(cause.bytes)) return std::nullopt;
  cause.id = "dead_cycles";
  cause.grows = true;
  cause.change = FreedWithPass(scene, cause.held);
  if (!cause.change.known()) cause.change = Without(scene.detail(), cause.held);
  cause.title = "Nobody needs these tensors, and objects that hold one another keep them";
  cause.place = PlaceInProgram(scene, cause.held);
  cause.evidence = AdviceText(cause.bytes) +
                   " wait for Python's collector of garbage, which does not know of the card: " +
                   LargestPlaces(scene.detail(), cause.held) + ".";
  cause.cost = "None, but that the code changes.";
  cause.action =
      "Break the cycle: set one of its references to None when the object is done with, or make it "
      "weak (weakref.ref). In a torch.autograd.Function keep tensors with ctx.save_for_backward(), "
      "not as attributes of ctx. Until then call gc.collect() every few steps, or run with "
      "--pool=on, which collects before it gives up.";
  return cause;
}

}  // namespace vramstow
