// StackInterner numbers the calling thread's stacks, and writes each stack into the trace once.
//
// Idea: each thread captures its own stack (capture/stack_capture.h). A stack that was seen before
// costs one look-up of its hash. A new stack is written frame by frame, under the lock of the
// trace's tables.
//
// Ownership: the tables, in memory that is never released. Threads: Start before other threads know
// the object, all other functions by any thread; a thread's own buffer is busy while it captures a
// stack. Locks: the TableWriter's. Unless the mode is quiet, the dynamic linker may be called. This
// happens before that lock is taken, because a thread inside the linker may wait for the lock.
// Errors: 0 if a stack cannot be captured or has no room. No heap. Units: none.
#ifndef VRAMSTOW_TRACER_STACK_INTERNER_H_
#define VRAMSTOW_TRACER_STACK_INTERNER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/event.h"
#include "base/thread_annotations.h"
#include "tracer/format/layout.h"
#include "tracer/open_trace.h"
#include "tracer/recorder.h"
#include "tracer/stack_tables.h"
#include "tracer/table_writer.h"
#include "tracer/thread_buffer.h"

namespace vramstow {

class ThreadRegistry;

class StackInterner {
 public:
  // Allocates the tables. If there is no memory for them, no stacks are captured.
  void Start(StackMode mode, OpenTrace* trace, TableWriter* writer);

  StackMode mode() const { return mode_; }
  // True if events of this kind get a stack.
  bool Wants(EventKind kind) const { return (wanted_ >> static_cast<unsigned>(kind) & 1) != 0; }

  // True if events of this kind get a stack that is captured quietly.
  bool WantsQuietly(EventKind kind) const {
    return (wanted_quietly_ >> static_cast<unsigned>(kind) & 1) != 0;
  }

  // Returns the number of the calling thread's stack from this function on, or 0 if there is none.
  // `buffer` belongs to the thread, and is busy.
  uint32_t Take(ThreadBuffer* buffer, CaptureMode mode);
  // Returns the number of the calling thread's stack from `here` on, if the thread has captured it
  // before, else 0; then TakeUnknown must follow. `here` is a place in the calling function. Both
  // are for a function that captures quietly.
  uint32_t FindKnown(ThreadBuffer* buffer, const FramePlace& here) const;
  uint32_t TakeUnknown(ThreadBuffer* buffer, const FramePlace& here, CaptureMode mode,
                       bool must_look = false);
  // Zeroes the large tables and the threads' memory for captures, so that they use no memory.
  // Called when the trace is closed. A thread that still captures a stack after that finds the
  // tables empty.
  void GiveBack(const ThreadRegistry& threads);
  // Finds the current libraries and interpreter, which quiet captures use.
  void LookAtLibraries() {
    if (tables_ != nullptr) tables_->capture.Refresh();
  }
  // Returns the number of a stack with names as additional innermost frames (Recorder::NameStack).
  uint32_t Name(uint32_t stack, const StackName* names, size_t count);

 private:
  struct Node {
    uint32_t parent;
    FrameKind kind;
    uint32_t source;  // library or code object
    uint64_t place;   // offset in the library, or the line
  };

  uint32_t InternNew(StackScratch* scratch, uint64_t hash, const FramePlace& here,
                     CaptureMode mode);
  bool MergeAndAddLibraries(StackScratch* scratch);
  uint32_t EmitStack(const StackScratch& scratch, uint64_t hash)
      VRAMSTOW_REQUIRES(writer_->mutex());
  void Keep(uint64_t hash, uint32_t stack) VRAMSTOW_REQUIRES(writer_->mutex());
  void EmitThatTablesAreFull() VRAMSTOW_REQUIRES(writer_->mutex());
  Node NodeOf(const StackFrame& frame, const CallerObject* library, uint32_t parent)
      VRAMSTOW_REQUIRES(writer_->mutex());
  uint32_t InternCode(const StackFrame& frame) VRAMSTOW_REQUIRES(writer_->mutex());
  uint32_t InternName(const StackName& name) VRAMSTOW_REQUIRES(writer_->mutex());
  uint32_t AddCode(uint64_t key, std::string_view name, std::string_view file, uint32_t first_line)
      VRAMSTOW_REQUIRES(writer_->mutex());
  uint32_t WriteCode(std::string_view name, std::string_view file, uint32_t first_line)
      VRAMSTOW_REQUIRES(writer_->mutex());
  uint32_t FurtherFunctions() VRAMSTOW_REQUIRES(writer_->mutex());
  uint32_t InternNode(const Node& node) VRAMSTOW_REQUIRES(writer_->mutex());

  StackMode mode_ = StackMode::kOff;
  uint64_t wanted_ = 0;          // the kinds of events that get a stack, one bit each
  uint64_t wanted_quietly_ = 0;  // the same; none if the dynamic linker would have to be called
  StackTables* tables_ = nullptr;
  OpenTrace* trace_ = nullptr;
  TableWriter* writer_ = nullptr;
};

// This function runs for each event that has a stack.
inline uint32_t StackInterner::FindKnown(ThreadBuffer* buffer, const FramePlace& here) const {
  StackScratch* const scratch = buffer->stack;
  StackMemo::Key key;
  if (scratch == nullptr || !tables_->capture.KeyOf(here, scratch, &key)) [[unlikely]]
    return 0;
  return scratch->memo.Find(key);
}

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_STACK_INTERNER_H_
