#include "interpose/core/record/activity.h"

#include <dlfcn.h>

#include "base/keep_errno.h"
#include "base/typed_event.h"
#include "interpose/core/record/trace.h"
#include "interpose/core/runtime/log.h"
#include "interpose/core/runtime/process.h"
#include "interpose/core/runtime/reentrancy_guard.h"
#include "interpose/core/runtime/this_thread.h"

namespace vramstow {
namespace {

// The only Activity in this process. CUPTI passes no argument to the callback that reports another
// client, so the callback finds the object here.
constinit Activity* the_activity = nullptr;

// Registers `listener`, which is called when another client wants to use CUPTI. Returns false if
// libvramstow-cupti.so is not loaded.
bool Watch(void (*listener)()) {
  using WatchFunction = void (*)(void (*)());
  const auto watch =
      reinterpret_cast<WatchFunction>(Shim().find_symbol(RTLD_DEFAULT, "vramstow_cupti_watch"));
  if (watch != nullptr) watch(listener);
  return watch != nullptr;
}

// Stores the correlation number (CUPTI's number) of the current call. Driver calls inside a call of
// the CUDA runtime get the number of that call.
void NoteCall(const CuptiCall& call) {
  VramstowThread* const thread = ThisThread();
  if (call.of_runtime) {
    thread->in_runtime = call.enters ? 1 : 0;
    thread->correlation = call.enters ? call.correlation : 0;
    thread->recorded = 0;
  } else if (call.enters && thread->in_runtime == 0) {
    thread->correlation = call.correlation;
  }
}

const char* NameOf(CuptiStart start) {
  switch (start) {
    case CuptiStart::kOn:
      return "on";
    case CuptiStart::kIncomplete:
      return "incomplete";
    case CuptiStart::kNoCupti:
      return "not there";
    case CuptiStart::kTaken:
      return "another client uses it";
    case CuptiStart::kFailed:
      break;
  }
  return "failed";
}

}  // namespace

void Activity::OnWork(void* self, const CuptiWork& work) {
  const DeviceWorkEvent event = {.device = static_cast<int16_t>(work.device),
                                 .stream = work.stream,
                                 .correlation = work.correlation,
                                 .bytes = work.bytes,
                                 .duration_ns = work.duration_ns,
                                 .begin_unix_ns = work.start_unix_ns};
  static_cast<Activity*>(self)->trace_.RecordActivity(work.text, event.ToEvent());
}

void Activity::OnMemory(void* self, const CuptiMemory& memory) {
  const ActivityMemoryEvent event = {.memory = memory.memory,
                                     .device = static_cast<int16_t>(memory.device),
                                     .address = memory.address,
                                     .bytes = memory.bytes,
                                     .correlation = memory.correlation,
                                     .unix_ns = memory.unix_ns};
  static_cast<Activity*>(self)->trace_.RecordActivity(memory.gives ? "allocate" : "free",
                                                      event.ToEvent());
}

bool Activity::Subscribe() {
  the_activity = this;
  if (!Watch([] { the_activity->StandBack(); })) {
    Log("vramstow does not use CUPTI, because libvramstow-cupti.so is not preloaded: use vramstow "
        "run --cupti.");
    return false;
  }
  const CuptiStart start = StartCupti(Shim(), {OnWork, OnMemory, NoteCall, this});
  trace_.Describe("cupti", NameOf(start));
  switch (start) {
    case CuptiStart::kOn:
      return true;
    case CuptiStart::kIncomplete:
      Log("CUPTI does not provide all requested records (--cupti).");
      return true;
    case CuptiStart::kNoCupti:
      Log("no kernels are recorded, because no CUPTI of CUDA 12 or newer is loaded in this "
          "process: add the folder of libcupti.so to LD_LIBRARY_PATH.");
      return false;
    case CuptiStart::kTaken:
      Log("another tool uses CUPTI: vramstow records no kernels (--cupti).");
      return false;
    case CuptiStart::kFailed:
      Log("CUPTI cannot be used: vramstow records no kernels (--cupti).");
      return false;
  }
  return false;
}

void Activity::Start() {
  State expected = State::kNone;
  if (!process_.options().cupti || !process_.options().trace ||
      !state_.compare_exchange_strong(expected, State::kStarting, std::memory_order_acq_rel)) {
    return;
  }
  KeepErrno keep_errno;
  const ReentrancyGuard guard;
  const bool on = Subscribe();
  expected = State::kStarting;
  state_.compare_exchange_strong(expected, on ? State::kOn : State::kOff,
                                 std::memory_order_acq_rel);
}

void Activity::StandBack() {
  State expected = State::kOn;
  if (!state_.compare_exchange_strong(expected, State::kLeaving, std::memory_order_acq_rel)) return;
  KeepErrno keep_errno;
  {
    // Reads the records that CUPTI still holds, then unsubscribes, so that the other client can
    // subscribe.
    const ReentrancyGuard guard;
    EndCupti();
  }
  trace_.Describe("cupti", "stopped for another client");
  Log("another tool started to use CUPTI: vramstow records no more kernels (--cupti).");
  state_.store(State::kOff, std::memory_order_release);
}

void Activity::Finish() {
  State expected = State::kOn;
  if (!state_.compare_exchange_strong(expected, State::kLeaving, std::memory_order_acq_rel)) return;
  KeepErrno keep_errno;
  const ReentrancyGuard guard;
  FlushCupti();
  state_.store(State::kOff, std::memory_order_release);
}

void Activity::AbandonAfterFork() {
  if (state_.load(std::memory_order_relaxed) != State::kNone) {
    state_.store(State::kOff, std::memory_order_relaxed);
  }
  VramstowThread* const thread = ThisThread();
  thread->correlation = thread->in_runtime = 0;
}

void Activity::Join(VramstowThread* thread) {
  if (thread->recorded != 0) {
    const CorrelationEvent event = {thread->recorded, thread->correlation};
    trace_.RecordActivity(nullptr, event.ToEvent());
  }
  thread->recorded = 0;
  if (thread->in_runtime == 0) thread->correlation = 0;
}

}  // namespace vramstow
