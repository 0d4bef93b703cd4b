// What happens in the driver and the runtime, turned into records and callbacks.
//
// Idea: the observer takes the profiler's place in the simulated driver while anything is enabled.
// A call gets its correlation id at its begin; what is called within it (the driver under the
// runtime) shares it and gets no record of its own, as with CUPTI.
//
// Ownership: one observer, for as long as the process lives. Threads: any. Errors: none. Units: as
// CUPTI's records.
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
  // Callbacks are enabled, or none is any more.
  void SwitchCallbacks(bool on);
  // Whether calls of one function are recorded.
  void SwitchCall(bool runtime, uint32_t id, bool on);
  bool RecordsCall(bool runtime, uint32_t id) const;

 private:
  void TakePlace();

  std::atomic<bool> on_[kActivityKinds] = {};
  std::atomic<bool> callbacks_ = false;
  static constexpr size_t kCalls = 4096;
  std::atomic<bool> call_off_[2][kCalls] = {};
};

Observer& TheObserver();

// While the client runs (its buffers, its callbacks), its own calls are none of its business.
class InsideClient {
 public:
  InsideClient();
  ~InsideClient();
  InsideClient(const InsideClient&) = delete;
  InsideClient& operator=(const InsideClient&) = delete;

 private:
  bool before_;
};

// How records name the calling thread (cuptiSetThreadIdType).
CUptiResult SetThreadIdType(CUpti_ActivityThreadIdType type);
CUpti_ActivityThreadIdType ThreadIdType();

// External correlation ids of the calling thread.
CUptiResult PushExternal(CUpti_ExternalCorrelationKind kind, uint64_t id);
CUptiResult PopExternal(CUpti_ExternalCorrelationKind kind, uint64_t* last);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_OBSERVER_H_
