// Returns when a trace was begun, by the wall clock.
//
// Ownership: a copy. Threads: a pure function. Errors: returns 0 if the file is not a trace or
// cannot be read. Units: nanoseconds since 1970.
#ifndef VRAMSTOW_TOOLS_INPUTS_TRACE_START_H_
#define VRAMSTOW_TOOLS_INPUTS_TRACE_START_H_

#include <cstdint>
#include <string>

namespace vramstow {

// Returns the wall-clock time at which the trace's own time is 0.
uint64_t TraceStartUnixNs(const std::string& path);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_INPUTS_TRACE_START_H_
