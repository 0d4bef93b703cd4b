// RecorderState is one open trace. It connects the recorder's parts and implements the fast path of
// an event.
//
// Idea: each part is a separate class. RecordingStatus decides whether events are recorded.
// EventOrder and SingleWriter order the events. ThreadRegistry assigns buffers to threads,
// EventWriter stores an event in a buffer, and BackgroundWriter writes full chunks. TableWriter
// writes names and facts, and StackInterner numbers stacks. While threads record events, they share
// no memory that any of them writes to.
//
// Ownership: Create maps its memory, which is never released because a slow thread may still read
// it. Threads: as Recorder. Errors: as Recorder. Locks: those of ThreadRegistry and TableWriter, in
// this order; only Close takes both. No heap. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_TRACER_RECORDER_STATE_H_
#define VRAMSTOW_TRACER_RECORDER_STATE_H_

#include <errno.h>

#include <algorithm>
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
  // Returns null after an error, with the reason in *error; then no file is left behind.
  static RecorderState* Create(const RecorderConfig& config, RecorderError* error);

  uint64_t Record(const Event& event);
  uint64_t RecordWithStack(const Event& event);
  uint64_t RecordQuietly(Event* event);
  uint64_t RecordBlock(const BlockEvent& block);
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
  void NoteExit(int status) {
    TraceFile& file = trace_.file;
    if (file.is_shared()) trace_.status.NoteExit(status, std::min(file.end(), file.LengthOnDisk()));
  }
  void AbandonAfterFork();
  const char* path() const { return trace_.file.path(); }

  // Called when the thread that owns this buffer ends.
  void OnThreadExit(ThreadBuffer* buffer);

 private:
  RecorderState() = default;
  // Opens the trace. Called before other threads know the object.
  RecorderError Open(const RecorderConfig& config);
  void ChooseMode(const RecorderConfig& config);
  int MakeFile(const RecorderConfig& config, bool has_name);
  void WriteFileHeader();
  void StartBackground(const RecorderConfig& config);
  static void OnSample(void* self);
  void Seal(bool all_quiet) VRAMSTOW_REQUIRES(threads_.mutex(), tables_.mutex());

  // Functions that record an event; they are implemented in recorder_events.cc.
  ThreadBuffer* StaticBuffer() const;
  template <uint64_t (RecorderState::*kOther)(const Event&)>
  uint64_t RecordFast(const Event& event);
  ThreadBuffer* OwnBuffer();
  uint32_t TakeUnknownStack(ThreadBuffer* buffer, const FramePlace& here);
  uint64_t RecordBlockGenerally(const BlockEvent& block);
  uint64_t RecordBlockUnshaped(ThreadBuffer* buffer, const BlockEvent& block, uint32_t stack,
                               uint64_t now);
  uint64_t RecordBlockInOrder(ThreadBuffer* buffer, const BlockEvent& block, uint32_t stack);
  uint64_t RecordGeneral(const Event& event);
  uint64_t RecordWithItsStack(const Event& event);
  uint64_t RecordWithoutCapture(const Event& event);
  uint64_t CountOnly();

  // The number of the last event. Each event changes it if no processor counter is trusted. It lies
  // on a separate cache line, and not in a pair of lines that the processor fetches together.
  alignas(128) std::atomic<uint64_t> last_number_{0};
  // Each event reads the following members.
  alignas(128) OpenTrace trace_;
  uintptr_t slot_distance_ = 0;  // the slot's distance from the thread pointer, in fast mode
  SingleWriter single_;
  EventWriter events_;
  BackgroundWriter background_;
  StackInterner stacks_;
  void (*on_sample_)() = nullptr;

  // These members are large, and are not initialised on purpose: this object lies in memory that is
  // zero, and pages that are never touched use no memory.
  ThreadRegistry threads_;
  TableWriter tables_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_RECORDER_STATE_H_
