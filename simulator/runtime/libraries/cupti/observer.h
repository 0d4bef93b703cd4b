// Observer converts events of the driver and the runtime to records and callbacks.
//
// Idea: the observer is attached to the simulated driver as its profiler while any record or
// callback is enabled. A call gets its correlation id at its begin. A call that is made inside
// another call (the runtime calls the driver) shares the id of the outer call and gets no record of
// its own, as with CUPTI.
//
// Ownership: one observer, which lives as long as the process. Threads: any. Errors: none. Units:
// those of CUPTI's records.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_OBSERVER_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_OBSERVER_H_

#include <atomic>
#include <cstdint>

#include "simulator/runtime/libraries/cupti/cupti.h"
#include "simulator/runtime/profiler_place.h"

namespace vramstow::simulator {

inline constexpr size_t kActivityKinds = 256;

class Observer {
 public:
  bool IsOn(CUpti_ActivityKind kind) const {
    return on_[static_cast<size_t>(kind)].load(std::memory_order_relaxed);
  }
  void Switch(CUpti_ActivityKind kind, bool on);
  void SwitchAllOff();
  // `on` is true if any callback is enabled.
  void SwitchCallbacks(bool on);
  // Sets whether calls of one function are recorded.
  void SwitchCall(bool runtime, uint32_t id, bool on);
  bool RecordsCall(bool runtime, uint32_t id) const;

 private:
  void UpdateProfilerSlot();

  std::atomic<bool> on_[kActivityKinds] = {};
  std::atomic<bool> callbacks_ = false;
  static constexpr size_t kCalls = 4096;
  std::atomic<bool> call_off_[2][kCalls] = {};
};

Observer& TheObserver();

// While this object lives, the client's own code runs (for its buffers or callbacks), and calls
// from that code are not recorded.
class InsideClient {
 public:
  InsideClient();
  ~InsideClient();
  InsideClient(const InsideClient&) = delete;
  InsideClient& operator=(const InsideClient&) = delete;

 private:
  bool before_;
};

// Set and return how records identify the calling thread (cuptiSetThreadIdType).
CUptiResult SetThreadIdType(CUpti_ActivityThreadIdType type);
CUpti_ActivityThreadIdType ThreadIdType();

// Push and pop external correlation ids of the calling thread.
CUptiResult PushExternal(CUpti_ExternalCorrelationKind kind, uint64_t id);
CUptiResult PopExternal(CUpti_ExternalCorrelationKind kind, uint64_t* last);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_OBSERVER_H_
