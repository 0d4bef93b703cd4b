// Gives access to the profiler slot of the simulated driver. The CUPTI stand-in stores its profiler
// in the slot, and the runtime reports its calls to that profiler, as the driver does.
//
// Idea: the structures are those of simulator/simulator_api.h, which documents them; the libraries
// must agree on them (tests/libraries compares them). Any other driver has no such slot.
//
// Ownership: the driver owns the slot, which lives as long as the process. Threads: any. Errors:
// returns null. Units: bytes, virtual nanoseconds.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_PROFILER_PLACE_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_PROFILER_PLACE_H_

#include <cuda.h>

#include <atomic>
#include <cstdint>

namespace vramstow::simulator {

struct ProfiledCall {
  const char* name;
  int runtime;
  int per_thread;
  int result;
  int device;
  CUcontext context;
  CUcontext made_context;
  CUstream made_stream;
  uint32_t context_id;
  uint32_t stream;
  uint32_t event;
  uint64_t event_record;
  uint64_t time_ns;
  const char* symbol;
  uint64_t pool;
  uint64_t pool_threshold_bytes;
  uint64_t pool_reserved_bytes;
  uint64_t pool_used_bytes;
  uint32_t correlation;
  uint32_t outermost;
  uint64_t begin;
  uint64_t data;
};

enum class WorkKind : int { kKernel = 1, kCopy = 2, kFill = 3 };

// The kinds of memory; CUPTI uses the same numbers.
enum class WorkPlace : int { kPageable = 1, kPinned = 2, kDevice = 3, kManaged = 5 };

struct ProfiledWork {
  WorkKind kind;
  int device;
  uint32_t context_id;
  uint32_t stream;
  int priority;
  uint32_t graph;
  uint64_t graph_node;
  uint64_t queued_ns;
  uint64_t start_ns;
  uint64_t end_ns;
  const char* kernel;
  unsigned grid[3];
  unsigned block[3];
  unsigned static_shared_bytes;
  unsigned dynamic_shared_bytes;
  unsigned registers;
  unsigned local_bytes;
  WorkPlace from;
  WorkPlace to;
  int from_device;
  int to_device;
  int asynchronous;
  unsigned value;
  uint64_t bytes;
  uint32_t correlation;
  int64_t host_offset_ns;
};

struct Profiler {
  void (*enter)(ProfiledCall* call);
  void (*leave)(ProfiledCall* call);
  void (*queue)(ProfiledWork* work);
  void (*work)(const ProfiledWork* work);
  void (*memory)(const ProfiledCall* call, uint64_t address, uint64_t bytes);
};

using ProfilerPlace = std::atomic<const Profiler*>;

// Looks the slot up in libcuda.so.1. Returns null if the driver is not the simulated one.
ProfilerPlace* FindProfilerPlace();

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_PROFILER_PLACE_H_
