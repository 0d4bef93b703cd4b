// A cause of an out-of-memory: the temporary memory of an optimizer's step.
#include <algorithm>
#include <string>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/advice/training_state.h"

namespace vramstow {
namespace {

Found FindOptimizerTemporaries(const FailureMoment& moment) {
  const SiteDetail& site = moment.request_site();
  if (!site.in_optimizer || !IsForeach(site)) return std::nullopt;
  const std::vector<const Life*> temporaries = OfOptimizer(moment, true);
  Cause cause;
  cause.title = "The optimizer's step allocates temporaries as large as the parameters";
  const uint64_t now = BytesOf(temporaries) + moment.requested();
  cause.bytes = std::max(now, BytesOf(Gradients(moment)));
  // With the change, only one temporary block is live at a time.
  cause.change = Without(moment.detail(), temporaries);
  cause.change.requested = moment.requested();
  cause.change.spared_later = cause.bytes - now;
  cause.is_estimate = true;
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.place = PlaceOfStep(moment, temporaries);
  cause.evidence = std::string(OperatorName(site)) + " asked for " +
                   AdviceText(moment.requested()) +
                   ": the step processes all parameters together, with " + AdviceText(cause.bytes) +
                   " of temporaries.";
  cause.cost = "A slower step.";
  cause.action = "Pass foreach=False to the optimizer, or fused=True.";
  return cause;
}

}  // namespace

constinit const Rule kOptimizerTemporaries = {
    .rank = Rank::kTrade,
    .meaning = "temporaries of an optimizer's step",
    .help =
        "The request that failed came from a step that processes all parameters together "
        "(foreach), with temporaries as large as all of them. Pass foreach=False to the optimizer, "
        "or fused=True.",
    .needs = {kNeedsRequestOfOptimizer},
    .cause = FindOptimizerTemporaries,
};

}  // namespace vramstow
