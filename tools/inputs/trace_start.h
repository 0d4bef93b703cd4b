// TraceStart: when a trace was begun, by the clock on the wall.
//
// Ownership: a copy. Threads: a pure function. Errors: 0 where the file is no trace or cannot be
// read. Units: nanoseconds since 1970.
#ifndef VRAMSTOW_TOOLS_INPUTS_TRACE_START_H_
#define VRAMSTOW_TOOLS_INPUTS_TRACE_START_H_

#include <cstdint>
#include <string>

namespace vramstow {

// The moment of time 0 of its events.
uint64_t TraceStartUnixNs(const std::string& path);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_INPUTS_TRACE_START_H_
