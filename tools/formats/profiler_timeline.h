// ProfilerTimeline: what a PyTorch profiler trace (Kineto's, in Chrome's JSON, also gzip) says of
// its process, its clock and its operators: what memory is laid beside.
//
// Idea: Kineto writes times in microseconds after `baseTimeNanoseconds`, by the clock on the wall;
// older releases write them since 1970. A thread's number is the operating system's, as in our
// traces. So an allocation belongs to the innermost operator of its thread that was at work.
//
// Ownership: values. Threads: no shared state. Errors: kInvalidArgument for JSON without operators
// (the sentence says how to record them) and for damage: a part of a timeline is not merged. Units:
// nanoseconds since 1970. Source of the format: Kineto's output_json.cpp and traces in the wild.
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
  uint64_t process = 0;  // whose operators they are
  int64_t base_ns = 0;   // the trace's own time 0
  int64_t first_ns = 0;  // the beginning of the first operator,
  int64_t last_ns = 0;   // and the end of the last
  std::vector<std::string> names;
  std::vector<ProfilerOperator> operators;  // by thread, then by beginning; the outer one first

  // The innermost operator of this thread at this moment; null: none was at work.
  const ProfilerOperator* At(uint32_t thread, int64_t time_ns) const;
};

absl::StatusOr<ProfilerTimeline> ReadProfilerTimeline(const Input& input);

// Hands over the text of the trace, unpacked, piece by piece, and at the beginning of its list of
// events what `events` adds to `*text`: objects, each with a comma behind it; the last comma is
// left out where the list was empty. `events` says whether more is to come, `write` whether it
// could write. kInvalidArgument where there is no list, kUnavailable where `write` could not.
absl::Status CopyWithEvents(const Input& input,
                            const std::function<bool(std::string* text)>& events,
                            const std::function<bool(std::string_view piece)>& write);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_PROFILER_TIMELINE_H_
