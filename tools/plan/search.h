// SearchPlan: which choices of a command's settings fit onto which cards, and which is best, with
// few rehearsals.
//
// Idea: along one placeholder that takes numbers (the axis, mostly {batch}), peaks grow along a
// line. The two smallest values of it give the line, the line says which is the largest that fits,
// and that one is rehearsed. What lies between is fitted. The best of all is always rehearsed
// itself, before it is called the best.
//
// Ownership: copies. Threads: none of its own. Errors: what the attempt says; an attempt that was
// cancelled ends the search, and what is known until then is kept. Units: bytes, seconds.
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

// One step of the program's main loop, as long as it would take on the card.
struct PlanStep {
  double seconds = 0;
  uint64_t tokens = 0;  // that all processes work through; 0: not known
  std::vector<std::pair<std::string, double>> parts;  // seconds; none where it was fitted
  uint64_t launched = 0;  // operators and kernels; 0 where it was fitted
  uint64_t untold = 0;    // of these, kernels of which nobody knows the operations and bytes
};

// What one rehearsal told.
struct PlanTrial {
  bool fits = false;
  std::optional<uint64_t> peak_bytes;  // of the fullest card, context and all
  uint64_t total_bytes = 0;            // of that card
  std::optional<PlanStep> step;
  std::string problem;  // not empty: it failed, and not for want of memory
  bool ran = true;      // false: the problem was plain before
};
using PlanAttempt =
    std::function<absl::StatusOr<PlanTrial>(const std::string& card, const Choice& choice)>;

struct PlanSpace {
  std::vector<std::string> cards;
  std::vector<Placeholder> placeholders;
  double margin = 0;  // the part of a card that has to stay free
};

// A choice on a card.
struct PlanRow {
  enum class Source : uint8_t {
    kRehearsed,
    kFitted,   // between rehearsals, or beyond them
    kUnknown,  // neither; why_not says why
  };

  std::string card;
  Choice choice;
  Source source = Source::kUnknown;
  bool fits = false;    // with the margin
  bool tight = false;   // onto the card, and leaves less than the margin; then fits is false
  bool failed = false;  // for another reason than memory
  std::optional<uint64_t> peak_bytes;
  uint64_t total_bytes = 0;
  std::optional<PlanStep> step;
  std::string why_not;  // one sentence, where it does not fit, or is tight

  // Tokens a second; where tokens are not known, samples: batch times accumulation. 0: no time is
  // known.
  double Rate() const;
  // Samples of one step, as far as the placeholders tell: {batch} times {accumulate}.
  double Samples() const;
};

struct PlanResult {
  std::vector<PlanRow> rows;  // those that fit first, the best of them first
  uint64_t rehearsals = 0;
  bool interrupted = false;
};

// The largest peak that keeps the margin free.
uint64_t UsableBytes(uint64_t total_bytes, double margin);

// The row that differs from this one by the next larger value along the axis. Null: there is none.
const PlanRow* NextLarger(const PlanResult& result, const PlanRow& row, size_t axis);

absl::StatusOr<PlanResult> SearchPlan(const PlanSpace& space, const PlanAttempt& attempt);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_PLAN_SEARCH_H_
