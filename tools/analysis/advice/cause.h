// Cause: one reason why there was too little memory.
//
// Ownership: plain values; the blocks belong to a FailureMoment. Threads: plain values without
// synchronisation. Errors: none. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_CAUSE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_CAUSE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/analysis/explain/failure_moment.h"
#include "tools/analysis/facts/advice_id.h"
#include "tools/analysis/facts/change.h"

namespace vramstow {

struct Cause {
  AdviceId id = AdviceId::kNone;  // of the rule that found it; set by FindCauses
  std::string title;
  uint64_t bytes = 0;        // the bytes that would be free without it
  bool is_estimate = false;  // false if the trace shows these bytes
  bool fits = false;         // the request would fit without it; set by FindCauses
  // False if neither a replay nor a computation shows that the advice helps.
  bool is_tried = true;
  // True if the memory of this cause grows with each iteration, so that it ends the job sooner or
  // later.
  bool grows = false;
  std::string place;  // the program's line, or another owner
  std::string evidence;
  std::string cost;
  std::string action;
  std::vector<const Life*> held;  // the blocks that it is about, if any
  std::string holder;             // the owner of most of these; set by FindCauses
  Change change;                  // the change of the requests without the cause
};

// The result of a rule, which searches for one cause; nullopt if the rule did not find its cause.
using Found = std::optional<Cause>;

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_CAUSE_H_
