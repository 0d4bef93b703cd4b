// SearchPlan: finds with few simulated runs which settings of a command fit onto which cards, and
// which setting is best.
//
// Idea: along one placeholder with numeric values (the axis, mostly {batch}), peaks grow along a
// line. The two smallest values give the line. The line predicts the largest value that fits, and
// that value is simulated, and then the next larger one, which must not fit. The values in between
// are interpolated. If the smallest value does not fit, the peaks may fall along the axis; then the
// largest value is simulated and, if it fits, the search goes down from there. The peak of {batch}
// never falls. The best choice of all is always simulated before it is reported as the best.
//
// Ownership: the results are copies. Threads: none of its own. Errors: those of an attempt; a
// cancelled attempt ends the search, and its results so far are retained. Units: bytes, seconds.
#ifndef VRAMSTOW_TOOLS_PLAN_SEARCH_H_
#define VRAMSTOW_TOOLS_PLAN_SEARCH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/plan/choices.h"

namespace vramstow {

// The time and the work of one iteration of the program's main loop, as estimated for the card.
struct PlanStep {
  double seconds = 0;
  uint64_t tokens = 0;  // tokens of all processes; 0 if unknown
  // The seconds of each part of the time. It is empty if the row was interpolated.
  std::vector<std::pair<std::string, double>> parts;
  uint64_t launched = 0;         // operators and kernels; 0 if the row was interpolated
  uint64_t unknown_kernels = 0;  // of these, kernels whose operations and bytes are unknown
};

// The result of one simulated run.
struct PlanTrial {
  bool fits = false;
  std::optional<uint64_t> peak_bytes;  // of the fullest card, context and all
  uint64_t total_bytes = 0;            // of that card
  std::optional<PlanStep> step;
  // How often a run that ended well was refused memory. Such a run does not fit, and its peak does
  // not show what it needs.
  uint64_t went_on = 0;
  // True if the run needed more than the GPU has, and moved the rest to the host. Such a run keeps
  // the GPU full, so that no margin can stay free.
  bool moves = false;
  std::string problem;  // not empty if it failed for another reason than memory
  bool ran = true;      // false if the problem was found before a run
};
using PlanAttempt =
    std::function<absl::StatusOr<PlanTrial>(const std::string& card, const Choice& choice)>;

struct PlanSpace {
  std::vector<std::string> cards;
  std::vector<Placeholder> placeholders;
  double margin = 0;  // the part of a card that has to stay free
};

// One choice on one card.
struct PlanRow {
  enum class Source : uint8_t {
    kRehearsed,
    kFitted,   // interpolated or extrapolated from simulated runs
    kUnknown,  // neither; why_not says why
  };

  std::string card;
  Choice choice;
  Source source = Source::kUnknown;
  bool fits = false;         // with the margin, or moves memory
  bool moves = false;        // memory was moved to the host, because the GPU was full
  bool tight = false;        // fits onto the card, but without the margin; then fits is false
  bool failed = false;       // for another reason than memory
  bool not_reached = false;  // the search was interrupted before anything was known
  std::optional<uint64_t> peak_bytes;
  uint64_t total_bytes = 0;
  std::optional<PlanStep> step;
  std::string why_not;  // one sentence if it does not fit, or is tight

  // Returns tokens per second, or samples per second (batch times accumulation) if the number of
  // tokens is unknown. Returns 0 if no time is known.
  double Rate() const;
  // Returns the samples of one iteration: {batch} times {accumulate}. A placeholder that the
  // command does not have counts as 1.
  double Samples() const;
};

struct PlanResult {
  std::vector<PlanRow> rows;  // those that fit first, the best of them first
  uint64_t rehearsals = 0;
  bool interrupted = false;
};

// Returns the largest peak that leaves the margin free.
uint64_t UsableBytes(uint64_t total_bytes, double margin);

// Returns the row with the next larger value along the axis that does not fit, and otherwise the
// same choice; null if there is none.
const PlanRow* NextThatDoesNotFit(const PlanResult& result, const PlanRow& row, size_t axis);

absl::StatusOr<PlanResult> SearchPlan(const PlanSpace& space, const PlanAttempt& attempt);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_PLAN_SEARCH_H_
