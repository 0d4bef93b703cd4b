// A cause: the model's parameters alone.
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/advice/table.h"

namespace vramstow {
namespace {

// Parameters that a census has found.
std::vector<const Life*> Parameters(const Scene& scene) {
  std::vector<const Life*> parameters;
  for (const Life* life : scene.live()) {
    const HeldBlock* block = scene.holders().Of(*life);
    if (block != nullptr && block->role == "parameter") parameters.push_back(life);
  }
  return parameters;
}

// The card is full before the model is whole: nothing has been computed yet.
Found FindModelTooLarge(const Scene& scene) {
  const SiteDetail& site = scene.request_site();
  if (!site.module.empty() || site.phase == Phase::kForward || site.in_backward ||
      site.in_optimizer) {
    return std::nullopt;
  }
  // Those of several models say nothing of one.
  if (IsFound(scene, {AdviceId::kEarlierModels, AdviceId::kKeptError, AdviceId::kDeadCycles})) {
    return std::nullopt;
  }
  const std::vector<const Life*> parameters = Parameters(scene);
  const uint64_t bytes = BytesOf(parameters);
  if (parameters.empty() || bytes * 4 < scene.live_bytes() * 3) return std::nullopt;
  // The parameter that was asked for is made as the last one was.
  if (!SameWork(scene.site_of(*parameters.back()), site)) return std::nullopt;
  Cause cause;
  cause.bytes = (bytes + scene.requested()) / 2;
  if (!scene.IsLarge(cause.bytes)) return std::nullopt;
  cause.change = InParts(scene.detail(), parameters, 2);
  cause.change.requested = scene.requested() / 2;
  cause.is_estimate = true;
  cause.held = parameters;
  cause.title = "The model's parameters alone do not fit";
  cause.place = PlaceOfRequest(scene);
  cause.evidence = AdviceText(bytes) + " of " + AdviceText(scene.room()) +
                   " that the job can have are parameters, and the model is not yet whole.";
  cause.cost = "Precision, or time for transfers.";
  cause.action =
      "Load it in bfloat16 (half of float32) or quantised, or keep a part of its layers on the "
      "host.";
  return cause;
}

}  // namespace

constinit const Rule kModelTooLarge = {
    .rank = Rank::kTrade,
    .meaning = "the model's parameters alone",
    .help =
        "Memory ran out while the model was made or moved, and three quarters of what was live "
        "are parameters. Load it in bfloat16 or quantised, or keep a part of its layers on the "
        "host.",
    .cause = FindModelTooLarge,
};

}  // namespace vramstow
