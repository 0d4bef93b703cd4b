// BesideCard: rehearses a job beside a memory snapshot of a real card, and again with what would
// explain where the two part.
//
// Idea: tools/analysis/fidelity compares two sequences of allocations and names causes. A cause
// that is a setting is tried: what does not bring the two closer is no cause.
//
// Ownership: copies; traces and output lie in the folder. Threads: one at a time. Errors: one
// sentence where the snapshot or the card is wrong, or where the command fails; Cancelled where
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
  std::string simulate;  // empty: the card that the snapshot tells of
  bool tries = true;     // rehearse again with what would explain a difference
  std::vector<std::string> command;
};

// What a request means, once nothing is wrong with it.
struct FidelityTask {
  AllocationSequence card;  // what the card did
  std::string spec;         // on which the job is rehearsed
  std::string why;          // it is that card, in one sentence; empty: the request named it
  std::vector<ListedCard> cards;
};
absl::StatusOr<FidelityTask> CheckFidelity(const FidelityRequest& request);

// A rehearsal beside the card, on one SPEC.
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
