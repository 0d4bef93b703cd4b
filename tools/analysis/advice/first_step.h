// FirstStep: the event at which a program ends its preparations and begins to compute.
//
// Ownership: plain values. Threads: pure functions, callable from any thread. Errors: none; without
// call stacks no first step is found. Units: events, counted from 1.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_FIRST_STEP_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_FIRST_STEP_H_

#include <cstdint>

#include "tools/analysis/explain/failure_moment.h"

namespace vramstow {

// Returns the event at which the first step begins: the first iteration or, if none has ended, the
// first call of a module. If the program has only moved data to the GPU so far, it is the event of
// the failed request. Returns 0 if nothing shows a first step.
uint64_t FirstStepOf(const FailureMoment& moment);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_FIRST_STEP_H_
