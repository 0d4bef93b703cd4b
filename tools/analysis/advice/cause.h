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
  AdviceId id = AdviceId::kNone;  // of the rule that found it; FindCauses tells
  std::string title;
  uint64_t bytes = 0;        // that would be free without it
  bool is_estimate = false;  // false: the trace shows these bytes
  bool fits = false;         // the request would fit without it; FindCauses tells
  bool is_tried = true;      // false: no replay and no sum shows that what is advised helps
  bool grows = false;        // with each pass: it ends the job sooner or later
  std::string place;         // the program's line, or who else
  std::string evidence;
  std::string cost;
  std::string action;
  std::vector<const Life*> held;  // the blocks that it is about, where there are any
  std::string holder;             // of most of those; FindCauses tells
  Change change;                  // of the requests, when it is mended
};

// nullopt means that this is not the cause.
using Found = std::optional<Cause>;

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_CAUSE_H_
