// Trace writes the trace of this process. It owns the recorder and the numbers of functions and
// libraries in events.
//
// Idea: the file is made when CUDA has been initialised, or with the first allocation. A process
// that never gets that far leaves no file.
//
// Ownership: static storage, never destroyed. Threads: any. While one thread makes the file, other
// threads that have an event wait for it, for a bounded time. Errors: if the file cannot be made,
// one line on stderr reports it, and the process goes on without a trace. Units: as base/event.h.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_TRACE_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_TRACE_H_

#include <atomic>
#include <cstdint>

#include "base/event.h"
#include "interpose/core/record/early_marks.h"
#include "interpose/core/record/model_clock.h"
#include "interpose/core/runtime/call_site.h"
#include "interpose/core/runtime/core.h"
#include "interpose/core/runtime/hook_table.h"
#include "tracer/capture/caller.h"
#include "tracer/recorder.h"

namespace vramstow {

class Trace {
 public:
  // Functions of other parts of the core. These parts use the trace, so the trace calls them
  // through pointers.
  struct Callbacks {
    void (*before_mark)();  // records the counts so far
    void (*ring_opened)();  // the newest events can be copied on request from now on
    // Called when a library has requested memory of `device` from the driver and the driver had too
    // little, before the driver's error is returned to the library. It is called only while a
    // framework's allocator is observed. `is_framework` is true if that allocator made the request.
    void (*no_memory)(int device, bool is_framework);
    // Called when the driver had no memory for the framework that FollowFramework named.
    void (*framework_refused)(int device);
  };

  constexpr Trace(const Process& process, const Driver& driver, CallerTable& callers,
                  const Callbacks& callbacks)
      : process_(process), driver_(driver), callers_(callers), callbacks_(callbacks) {}
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // Makes the file, if the settings ask for a trace and there is none yet.
  void Open();
  // Makes the file in this folder, in a process that already runs. May also be called after an
  // earlier trace was closed. Returns 0, EBUSY if there is a trace, or another errno. Prints
  // nothing on stderr.
  int OpenIn(const char* folder);
  // Returns the file's path, or "" while there is none.
  const char* path() const { return recorder_.path(); }

  // Stores an event under the function's name and the library that called it. Returns its sequence
  // number, or 0 if nothing was stored.
  uint64_t Record(const CallSite& site, Event event);
  // Records the effect of a call of the program. If CUPTI's number of the call is known when the
  // call ends, that number is recorded with the event.
  uint64_t RecordCall(const CallSite& site, const Event& event) {
    return site.thread->recorded = Record(site, event);
  }

  // Records an event that a pool makes under its locks. `hook` is kNoHook if no function of the
  // driver was called. The caller has found the library's number and captured the stack
  // (CaptureStack) before it took these locks.
  uint64_t RecordWithStack(Hook hook, uint16_t library, Event* event);
  // Records a segment of a framework's allocator in a process in which the driver is not hooked.
  uint64_t RecordFrameworkSegment(uint16_t library, Event* event);
  // Records a block of a framework's allocator that existed before the trace began.
  uint64_t RecordAdoptedBlock(uint16_t library, Event* event);
  uint32_t CaptureStack(EventKind kind);
  // Records an event of a framework's block with its stack, for callers that hold locks of the
  // framework. Sets the block's call and library. Preserves errno.
  uint64_t RecordFrameworkBlock(BlockEvent* block);
  // Records a failed request for such a block in the same way.
  uint64_t RecordFrameworkRefusal(uint16_t library, Event* event);
  // Records that the memory of this free, which had the number `sequence`, may be allocated again.
  // Returns false if the caller has to record a separate event.
  bool CompleteFree(uint64_t sequence) { return recorder_.CompleteFree(sequence); }
  // Returns the number of a stack that consists of `stack` and, as its innermost frames, the
  // framework's names for the running operations.
  uint32_t NameStack(uint32_t stack, const StackName* names, size_t count);
  // Returns the number of the library that contains a return address; kUnknownName while there is
  // no trace.
  uint16_t Library(const void* return_address);

  // Called when an observer records the blocks of a framework's own allocator. From now on memory
  // that the framework's library gets from the driver is recorded as a pool's memory, of layer
  // kPool. In a forked child nothing is observed.
  void FollowFramework(uint16_t framework, uint16_t observer);
  // Returns the observer's number, or kUnknownName if there is none.
  uint16_t observer() const { return observer_.load(std::memory_order_acquire); }

  // Records a mark of the application, if there is a trace. Returns the number of the mark's text,
  // or any other number except 0 if the text has no number. `number` identifies an iteration or a
  // process-wide range. If a trace may still begin, the mark of a moment or of a thread's range is
  // kept until then (EarlyMarks), and the result is 1.
  uint64_t Mark(MarkKind kind, const char* text, uint64_t number);
  // Records the end of a process-wide range, by the number that Mark returned.
  void EndRange(uint64_t annotation, uint64_t number);

  // Records an event of CUPTI under the name `text`, if there is a trace; a null text leaves the
  // event's name unchanged.
  void RecordActivity(const char* text, Event event);

  // Writes a fact, if there is a trace.
  void Describe(const char* key, const char* value);

  // These functions record the free bytes of a device when it is first used. The device must be the
  // current one.
  bool WantsFreeBytes(int device);
  void DescribeFreeBytes(int device, uint64_t bytes);
  // Returns true at most once a second for each device; then the caller records the device's free
  // bytes.
  bool WantsSample(int device);
  void RecordFreeBytes(int device, uint64_t free_bytes, uint64_t total_bytes);

  // Writes a copy of the trace into the same folder. Returns 0 and the copy's path, or an errno.
  int WriteCopy(char* path, size_t size);
  // Called when the device is out of memory. If the trace retains only the newest events, they are
  // written into a copy, which replaces an earlier one. Must not be called under locks of the pool.
  void NoteOutOfMemory();

  // Returns the number of a text of vramstow's own in events, such as a kernel's name; 0 while
  // there is no trace.
  uint64_t Annotation(const char* text);

  bool is_open() const { return state_.load(std::memory_order_acquire) == State::kOpen; }
  // True if nothing will be recorded in this process any more.
  bool is_off() const { return state_.load(std::memory_order_relaxed) == State::kOff; }

  void Close();
  // Notes in the trace that the process ends with this status, without closing the trace.
  // Async-signal-safe.
  void NoteExit(int status) { recorder_.NoteExit(status); }
  // Forgets the trace, which belongs to the parent. Called in a forked child; async-signal-safe.
  void AbandonAfterFork();

 private:
  enum class State : uint8_t { kClosed, kOpening, kOpen, kOff };

  bool IsOpenFor(const Event& event);
  State AwaitOpening();
  uint64_t RecordBlockGenerally(BlockEvent* block);
  // Records a sample of a simulated GPU's clock before an event, if one is due.
  void LookAtClock() {
    if (model_clock_.is_there()) [[unlikely]]
      SampleClock(/*at_mark=*/false);
  }
  void SampleClock(bool at_mark);
  void OpenAs(State* state);
  // Makes the file; the caller has set the state kOpening.
  RecorderError MakeFile(const char* folder);
  void ForgetNumbers();
  uint16_t NumberOfCall(Hook hook);
  // Returns the name's number. It is read from *place, or stored there at the first call. A signal
  // handler that has interrupted the writing of a name may get kUnknownName; a later call then asks
  // again.
  uint16_t NumberOfCall(std::atomic<uint16_t>* place, const char* name);
  uint16_t NumberOfLibrary(const void* return_address);
  Layer LayerOf(const Event& event) const;
  uint64_t KeepMark(MarkKind kind, const char* text, uint64_t number);

  static constexpr int kMaxDevices = 64;

  const Process& process_;
  const Driver& driver_;
  CallerTable& callers_;
  ModelClock model_clock_{driver_};
  EarlyMarks early_marks_;
  const Callbacks callbacks_;
  Recorder recorder_;
  std::atomic<State> state_{State::kClosed};
  std::atomic<bool> opens_slowly_{false};       // a thread has waited in vain for the file
  std::atomic<uint64_t> copied_ms_{0};          // time of the last out-of-memory copy
  std::atomic<bool> wants_copies_{false};       // a trace size was set
  std::atomic<uint64_t> described_devices_{0};  // one bit per device
  std::atomic<uint64_t> sampled_ms_[kMaxDevices] = {};
  // The numbers of names, each kUnknownName until the number is first needed.
  static_assert(kUnknownName == 0);  // this object is initialised without a byte in the core's file
  std::atomic<uint16_t> calls_[kHookCount] = {};
  std::atomic<uint16_t> tensor_{0};  // a framework's request, which calls no driver function
  // The numbers of that request (low half) and of the observer, if events of blocks need nothing
  // else: the trace is open, and no clock is sampled. Otherwise 0.
  std::atomic<uint32_t> block_names_{0};
  std::atomic<uint16_t> adopted_{0};  // its blocks from before the trace
  std::atomic<uint16_t> framework_library_{kUnknownName};
  std::atomic<uint16_t> observer_{kUnknownName};
  std::atomic<uint16_t> libraries_[kMaxCallerObjects] = {};
};

// This function runs for each event of a framework's block.
inline uint64_t Trace::RecordFrameworkBlock(BlockEvent* block) {
  const uint32_t names = block_names_.load(std::memory_order_relaxed);
  if (names == 0) [[unlikely]]
    return RecordBlockGenerally(block);
  block->call = static_cast<uint16_t>(names);
  block->library = static_cast<uint16_t>(names >> 16);
  return recorder_.RecordBlock(*block);
}

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_TRACE_H_
