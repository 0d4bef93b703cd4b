// Reads the memory events of a PyTorch profiler trace (Chrome's JSON, also gzip).
//
// Idea: profile_memory=True writes an instant event "[memory]" for each allocation and free, with
// address, bytes (negative for a free) and the allocator's totals after it, and "[OutOfMemory]" for
// a failed allocation. They are written in no strict order and are sorted by time here. Releases of
// 2021 wrote no addresses, so only the curve of allocated bytes is known then. "ProfilerStep#N"
// events are iterations.
//
// Ownership: values. Threads: no shared state. Errors: kInvalidArgument for JSON without memory
// events (the sentence says how to record them); a damaged or truncated trace gives what was
// readable. Units: bytes; nanoseconds as in the trace. Source of the format: PyTorch's profiler
// documentation and publicly available traces.
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
  int64_t bytes = 0;             // negative for a free
  uint64_t total_allocated = 0;  // after the event
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
  uint64_t all_events = 0;  // number of events of any kind
  // True if device memory was allocated or freed without an address, so that blocks are not known.
  bool lacks_addresses = false;
};

absl::StatusOr<ProfilerTrace> ReadProfilerTrace(const Input& input);

// Returns the samples of devices (not of the CPU) as events at the framework layer. Blocks that are
// freed without having been allocated in the trace are allocated at time 0 by the call
// "window_start". If the allocator's own totals exceed the sum of the events, the totals are
// trusted: the excess becomes one block at an address that no GPU has. It is allocated at the start
// ("window_start") or where the totals rise above the sum ("not_recorded").
EventList ProfilerEvents(const ProfilerTrace& trace);

// Returns the bytes over time according to the samples of devices. A block that is freed without
// having been allocated in the trace counts from the beginning.
MemoryTimeline ProfilerCurve(const ProfilerTrace& trace);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_PROFILER_TRACE_H_
