#include "tools/analysis/advice/other_allocator.h"

#include <algorithm>

namespace vramstow {

std::string OtherAllocator(const Evidence& evidence) {
  if (evidence.IsOurPool()) {
    return "The pool already serves the job, and combines whole free pages: free the blocks "
           "between the largest free ranges (see the free ranges), or allocate long-lived blocks "
           "first.";
  }
  return evidence.HasExpandableSegments()
             ? "The allocator already uses expandable segments: let vramstow's pool serve the job, "
               "or free the blocks between the largest free ranges (see the free ranges)."
             : "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or let vramstow's pool "
               "serve the job.";
}

std::string CostOfOtherAllocator(const Evidence& evidence) {
  if (evidence.IsOurPool()) return "None, except that the code changes.";
  return evidence.HasExpandableSegments() ? "No cost is known."
                                          : "None at run time; in some versions blocks of "
                                            "expandable segments cannot be shared by CUDA IPC.";
}

void RecommendThePoolAlone(AdviceFacts* advice) {
  advice->action =
      "Let vramstow's pool serve the job. Expandable segments would not serve the request.";
  advice->cost = "No cost is known.";
}

Change UseOtherAllocator(const Evidence& evidence, const AdviceFacts& /*advice*/) {
  Change change;
  if (!evidence.IsOurPool()) {
    change.allocator = evidence.HasExpandableSegments() ? "vramstow" : "expandable";
  }
  return change;
}

Change GiveBackCache(const Evidence& evidence, const AdviceFacts& /*advice*/) {
  Change change;
  const bool has_tensors = std::ranges::any_of(evidence.live(), &Life::tensor);
  if (evidence.IsOurPool()) {
    change.allocator = "vramstow";
  } else if (has_tensors) {
    change.allocator = evidence.HasExpandableSegments() ? "expandable" : "native";
  }
  return change;
}

}  // namespace vramstow
