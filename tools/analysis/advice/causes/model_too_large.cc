// A cause of an out-of-memory: the model's parameters alone.
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/one_weight.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/advice/rule_table.h"

namespace vramstow {
namespace {

// Returns the parameters that a census (a reference scan) has found.
std::vector<const Life*> Parameters(const FailureMoment& moment) {
  std::vector<const Life*> parameters;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block != nullptr && block->role == "parameter") parameters.push_back(life);
  }
  return parameters;
}

// Finds a model that fills the GPU before it is complete: nothing has been computed yet.
Found FindModelTooLarge(const FailureMoment& moment) {
  const SiteDetail& site = moment.request_site();
  if (!site.module.empty() || site.phase == Phase::kForward || site.in_backward ||
      site.in_optimizer) {
    return std::nullopt;
  }
  // Parameters of several models do not show that one model is too large.
  if (IsFound(moment, {AdviceId::kEarlierModels, AdviceId::kKeptError, AdviceId::kDeadCycles})) {
    return std::nullopt;
  }
  const std::vector<const Life*> parameters = Parameters(moment);
  const uint64_t bytes = BytesOf(parameters);
  if (parameters.empty() || bytes * 4 < moment.live_bytes() * 3) return std::nullopt;
  // The request must be made by the same line as the last parameter.
  if (!SameWork(moment.site_of(*parameters.back()), site)) return std::nullopt;
  Cause cause;
  cause.bytes = (bytes + moment.requested()) / 2;
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.change = InParts(moment.detail(), parameters, 2);
  cause.change.requested = moment.requested() / 2;
  cause.is_estimate = true;
  cause.held = parameters;
  cause.title =
      "The model's parameters alone, more than " + AdviceText(bytes) + ", do not fit; half of them";
  cause.place = PlaceOfRequest(moment);
  cause.evidence = AdviceText(bytes) + " of " + AdviceText(moment.room()) +
                   " that the job can use are parameters, and the model is not yet complete.";
  cause.cost = "Precision, or time for transfers.";
  cause.action =
      AboutOneWeight(moment) +
      "Load it in bfloat16 (half of float32) or quantised, or keep some of its layers on the host.";
  return cause;
}

}  // namespace

constinit const Rule kModelTooLarge = {
    .rank = Rank::kTrade,
    .meaning = "the model's parameters alone",
    .help =
        "Memory ran out while the model was created or moved, and three quarters of the live "
        "memory are parameters. Load it in bfloat16 or quantised, or keep some of its layers on "
        "the host.",
    .needs = {kNeedsParameters, kNeedsRequestOfProgram},
    .cause = FindModelTooLarge,
};

}  // namespace vramstow
