// RecorderState: one open trace. It puts the recorder's parts together, and has the fast path of an
// event.
//
// Idea: each part is a class of its own. RecordingStatus says whether events are recorded at all,
// EventOrder and SingleWriter what puts them in order, ThreadRegistry which buffer a thread has,
// EventWriter stores an event in it, BackgroundWriter writes full chunks, TableWriter writes names
// and facts, StackInterner gives stacks numbers. Threads share nothing that any of them writes to
// for an event.
//
// Ownership: made by Create in memory of its own that is never given back: a late thread may still
// look at it. Threads: as Recorder. Errors: as Recorder. Locks: those of ThreadRegistry and
// TableWriter, in this order; only Close takes both. No heap. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_TRACER_RECORDER_STATE_H_
#define VRAMSTOW_TRACER_RECORDER_STATE_H_

#include <errno.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/event.h"
#include "tracer/background_writer.h"
#include "tracer/event_writer.h"
#include "tracer/open_trace.h"
#include "tracer/recorder.h"
#include "tracer/single_writer.h"
#include "tracer/stack_interner.h"
#include "tracer/table_writer.h"
#include "tracer/thread_registry.h"

namespace vramstow {

class RecorderState {
 public:
  // Null on an error, with the reason in *error, and nothing is left behind.
  static RecorderState* Create(const RecorderConfig& config, RecorderError* error);

  uint64_t Record(const Event& event);
  uint64_t RecordWithStack(const Event& event);
  uint64_t RecordQuietly(Event* event);
  bool CompleteFree(uint64_t sequence);
  uint32_t CaptureStack(EventKind kind, CaptureMode mode);
  uint32_t NameStack(uint32_t stack, const StackName* names, size_t count) {
    return stacks_.Name(stack, names, count);
  }
  void LookAtLibraries() { stacks_.LookAtLibraries(); }
  TableWriter& tables() { return tables_; }
  int WriteCopy(const char* tag, bool replaces, char* name, size_t size) {
    return trace_.IsRecording() ? trace_.file.WriteCopy(tag, replaces, name, size) : EBADF;
  }
  void CopyBeforeSums() { trace_.is_copy_due.store(true, std::memory_order_relaxed); }
  void Close();
  void AbandonAfterFork();
  const char* path() const { return trace_.file.path(); }

  // A thread that has this buffer ends.
  void OnThreadExit(ThreadBuffer* buffer);

 private:
  RecorderState() = default;
  // Nobody else knows the object yet.
  RecorderError Open(const RecorderConfig& config);
  void ChooseMode(const RecorderConfig& config);
  int MakeFile(const RecorderConfig& config, bool has_name);
  void WriteFileHeader();
  void StartBackground(const RecorderConfig& config);
  static void OnSample(void* self);
  void Seal(bool all_quiet) VRAMSTOW_REQUIRES(threads_.mutex(), tables_.mutex());

  // recorder_events.cc: the path of an event.
  ThreadBuffer* StaticBuffer() const;
  template <uint64_t (RecorderState::*kOther)(const Event&)>
  uint64_t RecordFast(const Event& event);
  ThreadBuffer* OwnBuffer();
  uint64_t RecordGeneral(const Event& event);
  uint64_t RecordWithItsStack(const Event& event);
  uint64_t RecordWithoutCapture(const Event& event);
  uint64_t CountOnly();

  // Written by each event where no counter is trusted: on a cache line of its own, and not on one
  // of the pair that the processor fetches.
  alignas(128) std::atomic<uint64_t> last_number_{0};
  // Read by each event.
  alignas(128) OpenTrace trace_;
  uintptr_t slot_distance_ = 0;  // from the thread pointer, in fast mode
  SingleWriter single_;
  EventWriter events_;
  BackgroundWriter background_;
  StackInterner stacks_;
  void (*on_sample_)() = nullptr;

  // Large, and not initialised on purpose: this object lies in memory that is zero, and what is not
  // touched costs nothing.
  ThreadRegistry threads_;
  TableWriter tables_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_RECORDER_STATE_H_
