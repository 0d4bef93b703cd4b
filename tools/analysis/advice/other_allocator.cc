#include "tools/analysis/advice/other_allocator.h"

#include <algorithm>

namespace vramstow {

std::string OtherAllocator(const Evidence& evidence) {
  if (evidence.IsOurPool()) {
    return "The pool serves the job already, and moves whole free pages: free what fences the "
           "largest holes in (see the holes), or allocate what lives long first.";
  }
  return evidence.HasExpandableSegments()
             ? "The allocator has expandable segments already: let vramstow's pool serve the job, "
               "or free what fences the largest holes in (see the holes)."
             : "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or let vramstow's pool "
               "serve the job.";
}

std::string CostOfOtherAllocator(const Evidence& evidence) {
  if (evidence.IsOurPool()) return "None, but that the code changes.";
  return evidence.HasExpandableSegments()
             ? "None that is known."
             : "None at run time; blocks of expandable segments cannot be shared by CUDA IPC in "
               "some versions.";
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
