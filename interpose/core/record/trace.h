// Trace: the trace of this process: the recorder, and the numbers by which events name functions
// and libraries.
//
// Idea: the file is made when CUDA has been initialised, or with the first memory that was
// allocated. A process that never gets that far leaves no file.
//
// Ownership: static storage, never destroyed. Threads: any. While one thread makes the file, other
// threads that have an event wait for it, for a bounded time. Errors: if the file cannot be made,
// one line on stderr says so, and the process goes on without a trace. Units: as base/event.h.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_TRACE_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_TRACE_H_

#include <atomic>
#include <cstdint>

#include "base/event.h"
#include "interpose/core/record/model_clock.h"
#include "interpose/core/runtime/call_site.h"
#include "interpose/core/runtime/core.h"
#include "interpose/core/runtime/hook_table.h"
#include "tracer/capture/caller.h"
#include "tracer/recorder.h"

namespace vramstow {

class Trace {
 public:
  // Other parts are called at these moments. They stand above the trace: they record into it.
  struct Callbacks {
    void (*before_mark)();  // records what was counted up to now
    void (*ring_opened)();  // the newest events are kept from now on, and can be asked for
    // The driver had no memory of a device for a library while a framework is observed; called in
    // that library's call. `is_framework`: it was the framework's own allocator.
    void (*no_memory)(int device, bool is_framework);
    // The driver had no memory for the framework that FollowFramework named.
    void (*framework_refused)(int device);
  };

  constexpr Trace(const Process& process, const Driver& driver, CallerTable& callers,
                  const Callbacks& callbacks)
      : process_(process), driver_(driver), callers_(callers), callbacks_(callbacks) {}
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // Makes the file, if it is wanted and not there yet.
  void Open();
  // The same in this folder, in a process that ran before: also after an earlier trace was closed.
  // 0; EBUSY: there is a trace; or another errno. Nothing is said on stderr.
  int OpenIn(const char* folder);
  // The file's path; "" while there is none.
  const char* path() const { return recorder_.path(); }

  // Stores an event under the function's name and the library that called it. Gives its sequence
  // number, or 0 if nothing was stored.
  uint64_t Record(const CallSite& site, Event event);
  // The same for what a call of the program did: CUPTI's number of the call is joined to it, if
  // that is known at the call's end.
  uint64_t RecordCall(const CallSite& site, const Event& event) {
    return site.thread->recorded = Record(site, event);
  }

  // The same for events that a pool makes under its locks; kNoHook: no entry point. The caller has
  // looked up the library's number and the stack (CaptureStack) before it took these locks.
  uint64_t RecordFor(Hook hook, uint16_t library, Event* event);
  // The same for a framework's segment, where the driver is not hooked.
  uint64_t RecordReserved(uint16_t library, Event* event);
  // The same for a framework's block that was there before the trace began.
  uint64_t RecordAdopted(uint16_t library, Event* event);
  uint32_t CaptureStack(EventKind kind);
  // For callers that hold locks of a framework: an event of a block of its, with the stack.
  uint64_t RecordObserved(uint16_t library, Event* event);
  // The memory of that free may be handed out again. False: record it by itself.
  bool CompleteFree(uint64_t sequence) { return recorder_.CompleteFree(sequence); }
  // That stack with the names that a framework gives to what runs inside of it.
  uint32_t NameStack(uint32_t stack, const StackName* names, size_t count);
  // The number of the library that a return address leads to; kUnknownName while there is no trace.
  uint16_t Library(const void* return_address);

  // An observer records the blocks of a framework's own allocator: what the framework's library
  // gets from the driver from now on is the memory of a pool, of layer kPool. In a forked child
  // nothing is observed.
  void FollowFramework(uint16_t framework, uint16_t observer);
  // The observer's number; kUnknownName: there is none.
  uint16_t observer() const { return observer_.load(std::memory_order_acquire); }

  // A mark of the application, if there is a trace: gives the number of its text, or another number
  // that is not 0 where it has none. `number` is that of an iteration or of a range of the process.
  uint64_t Mark(MarkKind kind, const char* text, uint64_t number);
  // The end of a range of the process, by the number that Mark gave.
  void EndRange(uint64_t annotation, uint64_t number);

  // A record of CUPTI, if there is a trace: named by `text`, or by the event as it is.
  void RecordActivity(const char* text, Event event);

  // A fact, if there is a trace.
  void Describe(const char* key, const char* value);

  // Records the free bytes of a device when it is first used. `device` is current.
  bool WantsFreeBytes(int device);
  void DescribeFreeBytes(int device, uint64_t bytes);
  // True at most once a second for each device: then the caller records the device's free bytes.
  bool WantsSample(int device);
  void RecordFreeBytes(int device, uint64_t free_bytes, uint64_t total_bytes);

  // Writes a copy of the trace beside it. 0 and its path, or an errno.
  int WriteCopy(char* path, size_t size);
  // The device is out of memory: where the trace keeps only the newest events, they are written
  // into a copy, which takes the place of an earlier one. Not under locks of the pool.
  void NoteOutOfMemory();

  // The number by which events name a text; 0 while there is no trace.
  uint64_t Annotation(const char* text);

  bool is_open() const { return state_.load(std::memory_order_acquire) == State::kOpen; }
  // Nothing will be recorded in this process any more.
  bool is_off() const { return state_.load(std::memory_order_relaxed) == State::kOff; }

  void Close();
  // In a forked child, async-signal-safe.
  void AbandonAfterFork();

 private:
  enum class State : uint8_t { kClosed, kOpening, kOpen, kOff };

  bool IsOpenFor(const Event& event);
  // Records what a simulated card's clock says where that is due, before an event.
  void LookAtClock() {
    if (model_clock_.is_there()) [[unlikely]]
      SampleClock(/*at_mark=*/false);
  }
  void SampleClock(bool at_mark);
  void OpenAs(State* state);
  // The caller has made the state kOpening.
  RecorderError MakeFile(const char* folder);
  void ForgetNumbers();
  uint16_t NumberOfCall(Hook hook);
  // The name's number, which is kept in *place.
  uint16_t NumberOfCall(std::atomic<uint32_t>* place, const char* name);
  uint16_t NumberOfLibrary(const void* return_address);
  Layer LayerOf(const Event& event) const;

  static constexpr int kMaxDevices = 64;

  const Process& process_;
  const Driver& driver_;
  CallerTable& callers_;
  ModelClock model_clock_{driver_};
  const Callbacks callbacks_;
  Recorder recorder_;
  std::atomic<State> state_{State::kClosed};
  std::atomic<uint64_t> copied_ms_{0};          // the last copy for want of memory
  std::atomic<bool> wants_copies_{false};       // somebody asked for a short trace
  std::atomic<uint64_t> described_devices_{0};  // one bit each
  std::atomic<uint64_t> sampled_ms_[kMaxDevices] = {};
  // Numbers, plus one; 0: not asked for yet.
  std::atomic<uint32_t> calls_[kHookCount] = {};
  std::atomic<uint32_t> tensor_{0};   // what a framework asks for, by no function of the driver
  std::atomic<uint32_t> adopted_{0};  // what it had before the trace began
  std::atomic<uint16_t> framework_library_{kUnknownName};
  std::atomic<uint16_t> observer_{kUnknownName};
  std::atomic<uint32_t> libraries_[kMaxCallerObjects] = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_TRACE_H_
