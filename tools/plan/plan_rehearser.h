// PlanRehearser: runs the choices of a plan on simulated GPUs, and collects hints and notes about
// them.
//
// Idea: search.h decides which choices are run. This class makes the command and the flags for a
// choice, and computes the time of a step from the work log of its run.
//
// Ownership: results are copies; traces, work logs and output lie in the folder. Threads: the main
// thread. Errors: one sentence; a command that fails for another reason than memory is no error,
// but a problem of its trial. Units: bytes, seconds.
#ifndef VRAMSTOW_TOOLS_PLAN_PLAN_REHEARSER_H_
#define VRAMSTOW_TOOLS_PLAN_PLAN_REHEARSER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/card_rates.h"
#include "tools/analysis/facts/facts.h"
#include "tools/plan/cards.h"
#include "tools/plan/choices.h"
#include "tools/plan/estimate.h"
#include "tools/plan/largest.h"
#include "tools/plan/search.h"

namespace vramstow {

// Returns the placeholder that is used for a command without placeholders. Its values are settings
// that need no change of the program: PyTorch's expandable segments, vramstow's pool, and
// offloading.
Placeholder RunVariants();

// Returns the command that a user has to type for a choice.
std::string TypedCommand(const std::vector<std::string>& command, const Choice& choice);

// Returns a margin as a percentage, such as "2.5%".
std::string MarginText(double margin);

class PlanRehearser {
 public:
  // `margin` is the part of a GPU's memory that has to stay free.
  PlanRehearser(std::string folder, std::vector<std::string> command, std::vector<PlanCard> cards,
                double margin, PlanNote note)
      : folder_(std::move(folder)),
        command_(std::move(command)),
        cards_(std::move(cards)),
        margin_(margin),
        note_(std::move(note)) {}

  absl::StatusOr<PlanTrial> Attempt(const std::string& card_text, const Choice& choice);

  // Returns changes, one sentence each, with which the next larger value would fit onto the GPU of
  // the best row. If no row fits, the changes are for the first row itself.
  std::vector<std::string> Hints(const PlanSpace& space, const PlanResult& result) const;

  // Returns remarks on the times, one sentence each.
  std::vector<std::string> Notes() const;

 private:
  std::optional<PlanStep> StepOf(const CardEstimate& estimate, const std::string& run,
                                 uint64_t processes, const CardRates& rates);

  const std::string folder_;
  const std::vector<std::string> command_;
  const std::vector<PlanCard> cards_;
  const double margin_;
  const PlanNote note_;
  uint64_t runs_ = 0;
  std::map<std::string, std::vector<AdviceFacts>> changes_;  // proved, by choice
  std::map<std::string, uint64_t> used_cards_;
  bool any_shared_ = false;  // several processes used one GPU
  uint64_t timed_ = 0;       // rehearsals whose step has a time
  // Kernels of unknown cost in the step that has most of them; 0 if they are few.
  uint64_t unknown_kernels_ = 0;
  uint64_t launched_ = 0;  // all operators and kernels of that step
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_PLAN_PLAN_REHEARSER_H_
