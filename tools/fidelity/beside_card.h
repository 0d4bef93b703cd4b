// BesideCard: compares a simulated run of a job with a memory snapshot of a real GPU, and runs it
// again with settings that would explain the differences.
//
// Idea: tools/analysis/fidelity compares two sequences of allocations and names causes of their
// differences. If a cause is a setting, the job runs with it; a setting that removes no difference
// is dropped.
//
// Ownership: results are copies; traces and output lie in the folder. Threads: the main thread.
// Errors: one sentence if the snapshot or the GPU is wrong, or if the command fails; Cancelled if
// this process was asked to end before anything was known. Units: bytes.
#ifndef VRAMSTOW_TOOLS_FIDELITY_BESIDE_CARD_H_
#define VRAMSTOW_TOOLS_FIDELITY_BESIDE_CARD_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/analysis/fidelity/fidelity.h"
#include "tools/launch/card_list.h"

namespace vramstow {

struct FidelityRequest {
  std::string snapshot;
  std::string simulate;  // empty for the GPU of the snapshot
  bool tries = true;     // run again with settings that would explain a difference
  std::vector<std::string> command;
};

// The data of a valid request: the allocations on the real GPU, and the GPU that is simulated.
struct FidelityTask {
  AllocationSequence card;  // the allocations on the real GPU
  std::string spec;         // the simulated GPU
  std::string why;          // why it is this GPU, in one sentence; empty if the request names it
  std::vector<ListedCard> cards;
};
absl::StatusOr<FidelityTask> CheckFidelity(const FidelityRequest& request);

// A simulated run, compared with the real GPU.
struct Compared {
  std::string spec;
  FidelityFacts facts;
};

struct FidelityReport {
  Compared compared;
  std::vector<Compared> tried;
};
absl::StatusOr<FidelityReport> RehearseBesideCard(const FidelityRequest& request,
                                                  const FidelityTask& task,
                                                  const std::string& folder);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FIDELITY_BESIDE_CARD_H_
