// What CUPTI tells of this process, on request (--cupti): kernels, copies and fills on the device,
// and the driver's own view of memory, joined to the calls that are recorded.
//
// Idea: vramstow is an ordinary client of CUPTI: its one subscriber. Callbacks at calls that are
// about memory say by which number CUPTI knows the call that this thread is in; what is recorded of
// that call gets the number as an event of its own (kCorrelation), and CUPTI's records have it,
// too. Another client that is there already, or comes (libvramstow-cupti.so hears of it), comes
// first: then vramstow gives CUPTI back, says so once, and never returns to it.
//
// Ownership: static; buffers for records are mapped, and reused. Threads: any; records come on
// threads of CUPTI's or in calls of the program. Errors: what cannot be had is said once. No heap.
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

  // Becomes CUPTI's client, if that is wanted. After cuInit, inside a wrapper.
  void Start();
  // Another client comes.
  void StandBack();
  // Takes what CUPTI has left. The process ends.
  void Finish();
  // In a forked child, async-signal-safe: CUPTI stays the parent's.
  void Abandon();

  // The end of a recorded call whose number CUPTI has told.
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
