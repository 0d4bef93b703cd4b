// MakePlan: which settings of a command fit onto which cards, and which of them are fastest, by
// rehearsal.
//
// Idea: the request says cards and values as a user typed them; the report has all that is printed.
//
// Ownership: copies; traces and output lie in the folder. Threads: one at a time. Errors: one
// sentence where the request is wrong, or where the command always fails for another reason than
// memory; Cancelled where this process was asked to end before anything was known. Units: bytes,
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

// Placeholders that have a flag always, and values without one.
inline constexpr char kBatch[] = "batch";
inline constexpr char kAccumulate[] = "accumulate";

struct PlanRequest {
  std::string cards;
  std::map<std::string, std::string> values;  // by placeholder, as they were given
  std::vector<std::string> command;
  double margin = 0;             // the part of a card that has to stay free
  std::optional<double> tokens;  // of the whole job
};

// What a request means, once nothing is wrong with it.
struct PlanTask {
  std::vector<PlanCard> cards;
  std::vector<Placeholder> placeholders;
};
absl::StatusOr<PlanTask> CheckPlan(const PlanRequest& request);

absl::StatusOr<PlanReport> MakePlan(const PlanRequest& request, const PlanTask& task,
                                    const std::string& folder, const PlanNote& note);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_PLAN_PLAN_H_
