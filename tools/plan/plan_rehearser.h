// PlanRehearser: rehearses the choices of a plan, and remembers what is to be said of them.
//
// Idea: search.h decides what is rehearsed; here a choice becomes a command and flags, and the work
// that its rehearsal told becomes the time of a step on the card.
//
// Ownership: copies; traces, work logs and output lie in the folder. Threads: one at a time.
// Errors: one sentence; a command that fails for another reason than memory is a problem of its
// trial. Units: bytes, seconds.
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

// The one placeholder of a command that has none: what can be changed from outside of it (PyTorch's
// expandable segments, the pool, offloading).
Placeholder RunVariants();

// What to type for a choice.
std::string TypedCommand(const std::vector<std::string>& command, const Choice& choice);

class PlanRehearser {
 public:
  // `margin`: the part of a card that has to stay free.
  PlanRehearser(std::string folder, std::vector<std::string> command, std::vector<PlanCard> cards,
                double margin, PlanNote note)
      : folder_(std::move(folder)),
        command_(std::move(command)),
        cards_(std::move(cards)),
        margin_(margin),
        note_(std::move(note)) {}

  absl::StatusOr<PlanTrial> Attempt(const std::string& card_text, const Choice& choice);

  // What would let the next larger value fit onto the card of the best row, one sentence each; the
  // first row itself, which is tight or the smallest, where nothing fits.
  std::vector<std::string> Hints(const PlanSpace& space, PlanResult* result);

  // What is to be known of the times, one sentence each.
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
  uint64_t timed_ = 0;   // rehearsals whose step has a time
  uint64_t untold_ = 0;  // kernels that nobody told of, in the step that has most; 0: they are few
  uint64_t launched_ = 0;  // all operators and kernels of that step
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_PLAN_PLAN_REHEARSER_H_
