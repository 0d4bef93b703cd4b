// MakePlan: finds which settings of a command fit onto which GPUs, and which of them are fastest,
// by running it on simulated GPUs.
//
// Idea: a request has the GPUs and the values as a user typed them; a report has everything that is
// printed.
//
// Ownership: results are copies; traces and output lie in the folder. Threads: the main thread.
// Errors: one sentence if the request is wrong, or if the command always fails for another reason
// than memory; Cancelled if this process was asked to end before anything was known. Units: bytes,
// seconds.
#ifndef VRAMSTOW_TOOLS_PLAN_PLAN_H_
#define VRAMSTOW_TOOLS_PLAN_PLAN_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/plan/cards.h"
#include "tools/plan/choices.h"
#include "tools/plan/largest.h"
#include "tools/plan/plan_text.h"

namespace vramstow {

// These placeholders have a flag of their own for their values, and default values without the
// flag.
inline constexpr char kBatch[] = "batch";
inline constexpr char kAccumulate[] = "accumulate";

struct PlanRequest {
  std::string cards;
  std::map<std::string, std::string> values;  // as the user typed them, by placeholder
  std::vector<std::string> command;
  double margin = 0;             // the part of a GPU's memory that has to stay free
  std::optional<double> tokens;  // tokens of the whole job
};

// The GPUs and the values of a request, after all of it was checked.
struct PlanTask {
  std::vector<PlanCard> cards;
  std::vector<Placeholder> placeholders;
};
absl::StatusOr<PlanTask> CheckPlan(const PlanRequest& request);

absl::StatusOr<PlanReport> MakePlan(const PlanRequest& request, const PlanTask& task,
                                    const std::string& folder, const PlanNote& note);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_PLAN_PLAN_H_
