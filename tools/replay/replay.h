// Replay: runs requests through a model, and returns the results.
//
// Ownership: plain values. Threads: pure functions, callable from any thread; several models may
// run at once. Errors: an allocation that a model cannot serve is counted, and the replay continues
// without that block. Units: bytes; nanoseconds of assumed cost.
#ifndef VRAMSTOW_TOOLS_REPLAY_REPLAY_H_
#define VRAMSTOW_TOOLS_REPLAY_REPLAY_H_

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "tools/replay/catalog.h"
#include "tools/replay/device.h"
#include "tools/replay/packing.h"
#include "tools/replay/requests.h"

namespace vramstow {

struct ReplayOptions {
  uint64_t memory_bytes = 0;  // the limit of reserved memory; 0 if there is none
  bool keep_steps = false;
};

struct ModelOutcome {
  std::string name;
  uint64_t peak_reserved = 0;      // from Requests::judged_from on, like the next two
  uint64_t peak_allocated = 0;     // of blocks, after the model's rounding
  uint64_t allocated_at_peak = 0;  // when reserved was at its highest
  uint64_t allocated_at_end = 0;   // after the last request
  uint64_t device_calls = 0;
  std::array<uint64_t, kDeviceCalls> calls = {};  // by DeviceCall
  uint64_t stall_ns = 0;
  // Requests that were not served. Those before Requests::judged_from count only if their blocks
  // are missing later.
  uint64_t out_of_memory = 0;
  uint64_t first_out_of_memory = 0;  // the event of the first, if there is one
  std::vector<DeviceStep> steps;
  std::optional<OffloadTraffic> traffic;  // of models that move memory
};

ModelOutcome Replay(const Requests& requests, const ModelSpec& spec, const ReplayOptions& options);

struct ReplayBounds {
  uint64_t maximum_load = 0;    // no allocator needs less
  uint64_t static_packing = 0;  // the best that was found
  bool searched = false;        // false if there were too many blocks for a search
};
ReplayBounds Bounds(const Requests& requests, const PackingBudget& budget);

const char* DeviceCallName(DeviceCall call);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_REPLAY_H_
