// Activity: what CUPTI records of this process, on request (--cupti): kernels, copies and fills on
// the device, and the driver's own view of memory. Each record is joined to the call that caused
// it.
//
// Idea: vramstow is an ordinary client of CUPTI: its one subscriber. CUPTI calls vramstow at the
// calls that are about memory, and passes the number by which it knows the call. vramstow records
// this number as an event of its own (kCorrelation) with the events of the call; CUPTI's records
// have the same number. Every other client has precedence, whether it was there before or comes
// later (libvramstow-cupti.so reports it): then vramstow gives CUPTI back, says so once, and never
// returns to it.
//
// Ownership: static; buffers for records are mapped and reused. Threads: any; CUPTI delivers
// records on its own threads or in calls of the program. Errors: what CUPTI does not give is logged
// once. No heap.
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
  // The process ends: takes the records that CUPTI still has.
  void Finish();
  // In a forked child, async-signal-safe: CUPTI stays the parent's.
  void Abandon();

  // At the end of a recorded call whose number CUPTI has passed.
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
