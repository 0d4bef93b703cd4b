// Tells valgrind from where to where instructions are counted, for run_cost.py: a library that a
// Python process loads.
#include <valgrind/callgrind.h>

extern "C" void begin_counting() { CALLGRIND_START_INSTRUMENTATION; }

extern "C" void end_counting() { CALLGRIND_STOP_INSTRUMENTATION; }
