// LastBackward: the backward pass that ran last before a request failed.
//
// Ownership: plain values. Threads: pure functions, callable from any thread. Errors: none. Units:
// events, counted from 1.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_LAST_BACKWARD_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_LAST_BACKWARD_H_

#include <cstdint>

#include "tools/analysis/explain/failure_moment.h"

namespace vramstow {

// The births of the first and the last block that the backward pass made.
struct LastBackward {
  uint64_t begin = 0;  // 0 if none has run
  uint64_t end = 0;
};

LastBackward LastBackwardOf(const FailureMoment& moment);
// Returns the backward pass that ran last before the event `end`.
LastBackward LastBackwardBefore(const FailureMoment& moment, uint64_t end);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_LAST_BACKWARD_H_
