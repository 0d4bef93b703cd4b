// A library that a Python process loads for run_cost.py: its functions start and stop valgrind's
// counting of instructions.
#include <valgrind/callgrind.h>

extern "C" void begin_counting() { CALLGRIND_START_INSTRUMENTATION; }

extern "C" void end_counting() { CALLGRIND_STOP_INSTRUMENTATION; }
