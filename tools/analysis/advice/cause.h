// Cause: one reason why there was too little memory. It is a piece of advice with what the order of
// all advice depends on.
//
// Ownership: plain values; the blocks belong to a FailureMoment. Threads: plain values without
// synchronisation. Errors: none. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_CAUSE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_CAUSE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/analysis/explain/failure_moment.h"
#include "tools/analysis/facts/advice_facts.h"

namespace vramstow {

// The rank of a rule; order.h says when it decides the order.
enum class Rank : uint8_t {
  kMistake,  // a cause that costs little to remove
  kTrade,    // a cause that costs time, precision or work
  kUrgent,   // advice that explains a failure, or names a fault
  kUsual,    // advice in order of its effect
  kLast,     // a cause that is reported if no other explains the failure; advice that does not
             // lower the job's own peak
};

// A piece of advice before all advice is in order.
struct RankedAdvice : AdviceFacts {
  Rank rank = Rank::kUsual;  // of the rule that found it
};

// FindCauses (find_causes.cc) sets the id, the rank, the holder, and whether the request would fit.
// The value below is needed only until all advice is in order.
struct Cause : RankedAdvice {
  std::vector<const Life*> held;  // the blocks that it is about, if any
};

// The result of a rule, which searches for one cause; nullopt if the rule did not find its cause.
using Found = std::optional<Cause>;

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_CAUSE_H_
