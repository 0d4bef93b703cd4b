// ProfilerTimeline has the process, the clock and the operators of a PyTorch profiler trace
// (Kineto's, in Chrome's JSON, also gzip). Memory events are combined with them.
//
// Idea: Kineto writes times in microseconds after `baseTimeNanoseconds`, by the wall clock; older
// releases write them since 1970. Both Kineto's traces and ours name a thread by the operating
// system's number. So an allocation can be assigned to the innermost operator that was active in
// its thread.
//
// Ownership: values. Threads: no shared state. Errors: kInvalidArgument for JSON without operators
// (the sentence says how to record them) and for damage, because a part of a timeline is not
// merged. Units: nanoseconds since 1970. Source of the format: Kineto's output_json.cpp and
// publicly available traces.
#ifndef VRAMSTOW_TOOLS_FORMATS_PROFILER_TIMELINE_H_
#define VRAMSTOW_TOOLS_FORMATS_PROFILER_TIMELINE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/formats/input.h"

namespace vramstow {

// One call of an operator, or a range of record_function.
struct ProfilerOperator {
  uint32_t thread = 0;
  uint32_t name = 0;  // in ProfilerTimeline::names
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

struct ProfilerTimeline {
  uint64_t process = 0;  // the process of the operators
  int64_t base_ns = 0;   // the trace's own time 0
  int64_t first_ns = 0;  // beginning of the first operator
  int64_t last_ns = 0;   // end of the last operator
  std::vector<std::string> names;
  std::vector<ProfilerOperator> operators;  // by thread, then by beginning; the outer one first

  // Returns the innermost operator that was active in this thread at this time, or null.
  const ProfilerOperator* At(uint32_t thread, int64_t time_ns) const;
};

absl::StatusOr<ProfilerTimeline> ReadProfilerTimeline(const Input& input);

// Writes the text of the trace, unpacked and piece by piece. At the beginning of the trace's list
// of events it inserts the text that `events` appends to `*text`. This text consists of objects,
// each with a comma after it. The last comma is omitted if the list was empty. `events` returns
// true if more text follows, and `write` returns false if it failed. Returns kInvalidArgument if
// the trace has no list of events, and kUnavailable if `write` failed.
absl::Status CopyWithEvents(const Input& input,
                            const std::function<bool(std::string* text)>& events,
                            const std::function<bool(std::string_view piece)>& write);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_PROFILER_TIMELINE_H_
