// Returns when a trace was begun, by the wall clock, and by which process.
//
// Ownership: a copy. Threads: pure functions. Errors: zeros if the file is not a trace or cannot be
// read. Units: nanoseconds since 1970.
#ifndef VRAMSTOW_TOOLS_INPUTS_TRACE_START_H_
#define VRAMSTOW_TOOLS_INPUTS_TRACE_START_H_

#include <compare>
#include <cstdint>
#include <string>

namespace vramstow {

// The process that wrote a trace. A copy of the trace has the same one.
struct RecordedProcess {
  uint32_t process = 0;
  uint64_t start_unix_ns = 0;  // the wall-clock time at which the trace's own time is 0
  bool is_known() const { return start_unix_ns != 0; }
  auto operator<=>(const RecordedProcess&) const = default;
};
RecordedProcess ProcessOfTrace(const std::string& path);

// Returns the wall-clock time at which the trace's own time is 0.
uint64_t TraceStartUnixNs(const std::string& path);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_INPUTS_TRACE_START_H_
