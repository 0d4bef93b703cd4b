// Reads a PyTorch profiler trace (Chrome's JSON, also gzip) for its memory events.
//
// Idea: profile_memory=True writes an instant event "[memory]" for each allocation and free, with
// address, bytes (negative for a free) and the allocator's totals after it, and "[OutOfMemory]"
// where one failed. They are written in no strict order and are sorted by time here. Releases of
// 2021 wrote no addresses: of those only the curve is known. "ProfilerStep#N" are iterations.
//
// Ownership: values. Threads: no shared state. Errors: kInvalidArgument for JSON without memory
// events (it says how to record them); a damaged or cut trace gives what was readable. Units:
// bytes; nanoseconds as the trace has them. Source of the format: PyTorch's profiler documentation
// and traces in the wild.
#ifndef VRAMSTOW_TOOLS_FORMATS_PROFILER_TRACE_H_
#define VRAMSTOW_TOOLS_FORMATS_PROFILER_TRACE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/formats/event_list.h"
#include "tools/formats/input.h"
#include "tools/formats/memory_timeline.h"

namespace vramstow {

inline constexpr int kCpuDeviceType = 0;  // c10::DeviceType

struct ProfilerSample {
  int64_t time_ns = 0;
  uint64_t address = 0;
  int64_t bytes = 0;             // negative: freed
  uint64_t total_allocated = 0;  // after it
  uint64_t total_reserved = 0;
  uint32_t thread = 0;
  int16_t device_type = kCpuDeviceType;
  int16_t device = 0;
  bool has_allocated = false;
  bool has_reserved = false;
  bool out_of_memory = false;
};

struct ProfilerTrace {
  std::vector<ProfilerSample> samples;  // by time
  std::vector<TimelineStep> steps;      // by time, each name once
  std::map<std::string, std::string> facts;
  std::vector<std::string> missing;
  bool complete = true;
  uint64_t all_events = 0;  // of any kind
  // Device memory came or went without an address, so that blocks are not known.
  bool lacks_addresses = false;
};

absl::StatusOr<ProfilerTrace> ReadProfilerTrace(const Input& input);

// The samples of devices (not of the CPU) as events at the framework layer. Blocks that are freed
// without having been allocated in the trace are allocated at time 0 under the call "window_start".
// The allocator's own totals are believed before the sum of the events: what is allocated beyond it
// is one block at an address of no card, from the start ("window_start") or from where the totals
// rise over the sum ("not_recorded").
EventList ProfilerEvents(const ProfilerTrace& trace);

// The samples of devices as a curve. A block that is freed without having
// been allocated was there before.
MemoryTimeline ProfilerCurve(const ProfilerTrace& trace);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_PROFILER_TRACE_H_
