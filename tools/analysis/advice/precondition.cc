#include "tools/analysis/advice/precondition.h"

#include <algorithm>

#include "tools/analysis/advice/no_backward.h"
#include "tools/analysis/explain/census_summary.h"
#include "tools/analysis/facts/library_failure.h"

namespace vramstow {
namespace {

// True if the tensor belongs to an autograd graph. A census (a reference scan) shows this for each
// tensor that it has found.
bool RecordsGraph(const HeldBlock& block) {
  return IsInGraph(block) || block.role == "gradient" ||
         block.about.find(", requires grad") != std::string::npos ||
         block.about.find("made by ") != std::string::npos;
}

}  // namespace

bool HasCensus(const FailureMoment& moment) { return moment.holders().any(); }

bool HasTensors(const FailureMoment& moment) {
  return std::ranges::any_of(moment.live(), &Life::tensor);
}

bool HasCallStacks(const FailureMoment& moment) {
  return moment.request_site().by_stack || std::ranges::any_of(moment.live(), [&](auto* life) {
           return moment.site_of(*life).by_stack;
         });
}

bool HasParameters(const FailureMoment& moment) {
  return std::ranges::any_of(moment.live(), [&](const Life* life) {
    const HeldBlock* block = moment.holders().Of(*life);
    return block != nullptr && IsParameter(*block);
  });
}

bool MayRecordGraphs(const FailureMoment& moment) {
  if (HasBackwardPass(moment)) return true;
  if (moment.holders().any()) {
    return std::ranges::any_of(moment.live(), [&](const Life* life) {
      const HeldBlock* block = moment.holders().Of(*life);
      return block != nullptr && RecordsGraph(*block);
    });
  }
  // The censuses (reference scans) of other failures may not have the blocks that are live now, but
  // they show whether the program records graphs.
  bool has_looked = false;
  for (const CensusDetail& census : moment.detail().censuses) {
    if (std::ranges::any_of(census.blocks, RecordsGraph)) return true;
    has_looked = has_looked || !census.is_left_out();
  }
  if (has_looked) return false;
  return !moment.passes().IsInference(moment.event());
}

bool HasBackwardPass(const FailureMoment& moment) {
  return moment.request_site().in_backward || TrainsAnywhere(moment);
}

bool HasEarlierIteration(const FailureMoment& moment) { return moment.pass() > 0; }

bool HasOptimizerWork(const FailureMoment& moment) {
  return moment.request_site().in_optimizer ||
         std::ranges::any_of(moment.live(), [&](const Life* life) {
           const HeldBlock* block = moment.holders().Of(*life);
           return moment.site_of(*life).in_optimizer ||
                  (block != nullptr && block->role == "optimizer_state");
         });
}

bool IsAskedByOptimizer(const FailureMoment& moment) { return moment.request_site().in_optimizer; }

bool IsAskedByProgram(const FailureMoment& moment) { return !IsAskedByOptimizer(moment); }

bool IsAskedOfPyTorch(const FailureMoment& moment) { return !IsLibraryFailure(moment.failure()); }

bool HasFailed(const Evidence& evidence) { return !evidence.facts().out_of_memory.empty(); }

bool HasKnownCache(const Evidence& evidence) { return evidence.facts().cache.known; }

bool HasIterations(const Evidence& evidence) { return evidence.facts().iterations.count > 0; }

bool HasTrained(const Evidence& evidence) {
  return std::ranges::any_of(evidence.detail().sites, [](const SiteDetail& site) {
    return (site.in_backward || site.in_optimizer) && site.allocations > 0;
  });
}

}  // namespace vramstow
