// A cause of an out-of-memory: DistributedDataParallel stores all gradients twice.
#include <cstdint>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/advice/training_state.h"
#include "tools/analysis/explain/bucket_sites.h"

namespace vramstow {
namespace {

// At least 1/4 of the gradients must be live beside the buckets.
constexpr uint64_t kLeastPart = 4;

// Returns the buckets that are not the gradients themselves.
std::vector<const Life*> Buckets(const FailureMoment& moment) {
  std::vector<const Life*> buckets;
  for (const Life* life : moment.live()) {
    if (!life->tensor || !MakesGradientBuckets(moment.detail(), moment.site_of(*life))) continue;
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr || block->role != "gradient") buckets.push_back(life);
  }
  return buckets;
}

Found FindGradientBuckets(const FailureMoment& moment) {
  const std::vector<const Life*> buckets = Buckets(moment);
  Cause cause;
  cause.bytes = BytesOf(buckets);
  if (buckets.empty() || !moment.IsLarge(cause.bytes)) return std::nullopt;
  const uint64_t gradients = BytesOf(Gradients(moment));
  if (gradients * kLeastPart < cause.bytes) return std::nullopt;
  cause.held = buckets;
  cause.change = Without(moment.detail(), buckets);
  cause.title = "DistributedDataParallel stores all gradients twice";
  cause.place = PlaceInProgram(moment, buckets);
  cause.evidence =
      AdviceText(cause.bytes) +
      " are its buckets, from which gradients are sent to the other ranks, in addition to " +
      AdviceText(gradients) + " of existing gradients.";
  cause.cost = "None; gradients cannot be detached in place (detach_()).";
  cause.action =
      "Pass gradient_as_bucket_view=True to DistributedDataParallel, so that gradients are views "
      "of its buckets.";
  return cause;
}

}  // namespace

constinit const Rule kGradientBuckets = {
    .rank = Rank::kTrade,
    .meaning = "gradients, and their copies in the buckets of DistributedDataParallel",
    .help =
        "DistributedDataParallel copies each gradient into a bucket before it is sent to the other "
        "ranks, and both stay. With gradient_as_bucket_view=True the gradients are views of the "
        "buckets.",
    .needs = {kNeedsBackwardPass},
    .cause = FindGradientBuckets,
};

}  // namespace vramstow
