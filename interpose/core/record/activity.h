// Activity records, on request (--cupti), what CUPTI reports about this process: kernels, copies
// and fills on the device, and the driver's own view of memory. Each of CUPTI's records can be
// matched to the call that caused it.
//
// Idea: vramstow is an ordinary client of CUPTI, which accepts only one subscriber. CUPTI calls
// vramstow when the program makes a call that concerns memory, and passes the correlation number of
// that call. vramstow records this number as a separate event (kCorrelation) with the events of the
// call; CUPTI's records have the same number. Every other client of CUPTI has precedence, whether
// it subscribed earlier or wants to subscribe later. When libvramstow-cupti.so reports another
// client, vramstow unsubscribes, logs this once, and never subscribes again.
//
// Ownership: static; buffers for records are mapped and reused. Threads: any; CUPTI delivers
// records on its own threads or in calls of the program. Errors: what CUPTI cannot provide is
// logged once. No heap. Units: nanoseconds, bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_ACTIVITY_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_ACTIVITY_H_

#include <atomic>
#include <cstdint>

#include "interpose/core/record/cupti_client.h"
#include "interpose/core/runtime/core.h"
#include "interpose/shim/seam.h"

namespace vramstow {

class Activity {
 public:
  constexpr Activity(const Process& process, Trace& trace) : process_(process), trace_(trace) {}
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  // Subscribes to CUPTI if the user asked for it. Called inside a wrapper after cuInit.
  void Start();
  // Unsubscribes, because another client wants to use CUPTI.
  void StandBack();
  // Reads the records that CUPTI still holds. Called at the end of the process.
  void Finish();
  // Forgets the subscription, which belongs to the parent. Called in a forked child;
  // async-signal-safe.
  void AbandonAfterFork();

  // Records the correlation number at the end of a recorded call, if CUPTI gave one.
  void Join(VramstowThread* thread);

 private:
  enum class State : uint8_t { kNone, kStarting, kOn, kLeaving, kOff };

  static void OnWork(void* self, const CuptiWork& work);
  static void OnMemory(void* self, const CuptiMemory& memory);
  bool Subscribe();

  const Process& process_;
  Trace& trace_;
  std::atomic<State> state_{State::kNone};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_ACTIVITY_H_
