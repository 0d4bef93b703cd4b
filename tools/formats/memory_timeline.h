// Reads the PyTorch profiler's memory timeline (JSON, also gzip).
//
// Idea: export_memory_timeline writes it in two forms. The raw form (".raw.json.gz") has a row for
// each change: [time_ns, action, signed bytes, category]. A time of -1 stands for memory that
// existed before the recording. The summed form has two lists: times, and for each time the bytes
// by category. Neither form has addresses, so the result is a curve by category and not a list of
// events.
//
// Ownership: values. Threads: no shared state. Errors: kInvalidArgument for JSON of another shape;
// a truncated file gives what was readable. Units: bytes; nanoseconds since 1970 (the summed form
// has microseconds, which are converted).
// Source of the format: PyTorch's documentation of torch.profiler's export_memory_timeline.
#ifndef VRAMSTOW_TOOLS_FORMATS_MEMORY_TIMELINE_H_
#define VRAMSTOW_TOOLS_FORMATS_MEMORY_TIMELINE_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/formats/input.h"

namespace vramstow {

enum class TimelineAction : uint8_t { kPreexisting = 1, kCreate, kIncrementVersion, kDestroy };

// Categories are indexed by their number in the file.
inline constexpr size_t kTimelineCategories = 8;
const char* TimelineCategoryName(size_t category);  // "parameter", …, "unknown"; never null

struct TimelineRow {
  int64_t time_ns = 0;  // -1: before the recording
  int64_t bytes = 0;    // signed change
  TimelineAction action = TimelineAction::kCreate;
  uint8_t category = 0;
};

// Bytes at a moment, after all changes of that moment.
struct TimelineLevel {
  int64_t time_ns = 0;
  std::array<int64_t, kTimelineCategories> by_category = {};
  int64_t total = 0;
};

// The beginning of an iteration.
struct TimelineStep {
  int64_t time_ns = 0;
  std::string name;
};

struct MemoryTimeline {
  bool is_raw = true;
  std::vector<TimelineRow> rows;      // only in the raw form
  std::vector<TimelineLevel> levels;  // one for each moment, in both forms
  int64_t start_bytes = 0;            // bytes before the recording
  int64_t end_bytes = 0;
  int64_t peak_bytes = 0;  // includes peaks within a moment
  int64_t peak_time_ns = 0;
  std::vector<TimelineStep> steps;  // by time; only in the profiler's trace
  std::vector<std::string> missing;
  bool complete = true;
};

// Computes levels, start, end and peak from the rows.
void FillLevels(MemoryTimeline* timeline);

absl::StatusOr<MemoryTimeline> ReadMemoryTimeline(const Input& input);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_MEMORY_TIMELINE_H_
