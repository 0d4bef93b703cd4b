// A cause: the activations of one batch.
#include <algorithm>
#include <string>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/batch.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/no_backward.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/advice/table.h"
#include "tools/analysis/explain/testimony.h"

namespace vramstow {
namespace {

constexpr uint64_t kMostMicroBatches = 16;
constexpr size_t kLeastActivations = 3;

// Whether a backward pass may come that needs them: a graph has them, or where nobody knows what
// has them, the program has run a backward pass before.
bool MayBeNeeded(const Scene& scene, const std::vector<const Life*>& lives) {
  const Testimony told = TestimonyOf(scene.holders(), lives);
  const uint64_t recorded = RecordedBytes(scene.holders(), lives);
  if (told.decides()) return recorded * 4 >= told.known;
  if (recorded > 0) return true;
  if (TrainsAnywhere(scene)) return true;
  return !scene.holders().any() && !std::ranges::all_of(lives, [&](const Life* life) {
    return scene.passes().IsInference(life->birth);
  });
}

bool IsOfModule(const Scene& scene, const Life& life) {
  const HeldBlock* block = scene.holders().Of(life);
  return block != nullptr && (block->role == "buffer" || block->role == "parameter");
}

// A smaller batch would not help.
void TellOfNoBatch(const Scene& scene, const std::vector<const Life*>& without, Cause* cause) {
  const auto largest = std::ranges::max_element(without, {}, &Life::size);
  const std::string about = scene.holders().Of(**largest)->about;
  cause->title = "Intermediate results are too large, whatever the batch";
  cause->place = PlaceOf(scene.detail(), (*largest)->site);
  cause->evidence += " " + AdviceText(BytesOf(without)) + " of it do not grow with the batch, as " +
                     about.substr(0, about.find(']')) + "].";
  cause->cost = "Recomputation makes a pass about a third longer.";
  cause->action =
      "Let this line work on a part at a time, each part under torch.utils.checkpoint; a smaller "
      "batch does not help.";
}

// Blocks that one pass has made and needs again in its backward pass.
Found FindActivations(const Scene& scene) {
  // Both passes are over where a graph of gradients stays; and where graphs of earlier passes are
  // kept though nothing trains, no backward pass comes.
  if (IsFound(scene, {AdviceId::kGraphOfGradients})) return std::nullopt;
  if (!TrainsAnywhere(scene) && IsFound(scene, {AdviceId::kHeldGraphs})) return std::nullopt;
  // Layers of the first pass may look like passes.
  const bool knows_pass = scene.pass() >= 0 && (scene.passes().is_sure() || TrainsAnywhere(scene));
  std::vector<const Life*> activations;
  for (const Life* life : scene.live()) {
    const SiteDetail& site = scene.site_of(*life);
    if (!life->tensor || site.in_backward || site.in_optimizer) continue;
    if (knows_pass ? scene.PassOf(*life) < scene.pass() : site.phase != Phase::kForward) continue;
    if (IsOfModule(scene, *life)) continue;
    if (site.phase == Phase::kInit || site.phase == Phase::kWorkspace) continue;
    activations.push_back(life);
  }
  uint64_t bytes = BytesOf(activations);
  if (activations.size() < kLeastActivations || !MayBeNeeded(scene, activations)) {
    return std::nullopt;
  }
  // So does the request, unless a backward pass or an optimizer makes it, or it is the copy of what
  // grows.
  const SiteDetail& request = scene.request_site();
  const bool grows = !request.in_backward && !request.in_optimizer &&
                     !RuleOf(AdviceId::kConcatenation).cause(scene).has_value();
  if (grows) bytes += scene.requested();
  uint64_t parts = 2;
  while (parts < kMostMicroBatches && bytes - bytes / parts < scene.lacking()) parts *= 2;
  Cause cause;
  cause.bytes = bytes - bytes / parts;
  cause.held = activations;
  cause.is_estimate = true;
  if (!scene.IsLarge(cause.bytes)) return std::nullopt;
  cause.change = InParts(scene.detail(), activations, parts);
  if (grows) cause.change.requested = (scene.requested() + parts - 1) / parts;
  cause.title = "The activations of one batch are too many";
  cause.place = PlaceInProgram(scene, activations);
  cause.evidence = AdviceText(BytesOf(activations)) +
                   " were made in this pass and wait for its backward pass: " +
                   LargestPlaces(scene.detail(), activations) + ".";
  cause.cost = "Micro-batches cost a little time; recomputation makes a pass about a third longer.";
  cause.action = "Divide the batch by " + std::to_string(parts) + " and step after every " +
                 std::to_string(parts) +
                 ", or put torch.utils.checkpoint around the repeated layer.";
  const std::vector<const Life*> without = WithoutBatch(scene, activations);
  if (BytesOf(without) * 2 > BytesOf(activations)) TellOfNoBatch(scene, without, &cause);
  return cause;
}

}  // namespace

constinit const Rule kActivations = {
    .rank = Rank::kTrade,
    .meaning = "the activations of one batch",
    .help =
        "This pass keeps too much for its backward pass. Divide the batch and step after several "
        "parts, or recompute with torch.utils.checkpoint. Where a census knows the shapes and most "
        "of it does not grow with the batch, the advice says so.",
    .cause = FindActivations,
};

}  // namespace vramstow
