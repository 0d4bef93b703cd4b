// The place for a profiler in the simulated driver: the CUPTI stand-in takes it, the runtime tells
// of its calls there as the driver does of its own.
//
// Idea: the structures are those of simulator/simulator_api.h, where they are explained: an
// agreement across libraries (tests/libraries compares them). On any other driver there is no
// place.
//
// Ownership: the driver's, for as long as the process lives. Threads: any. Errors: null. Units:
// bytes, virtual nanoseconds.
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

// The numbers are CUPTI's for kinds of memory, too.
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

// Looks the place up in libcuda.so.1. Null: the driver is not the simulated one.
ProfilerPlace* FindProfilerPlace();

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_PROFILER_PLACE_H_
