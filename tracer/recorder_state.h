// RecorderState: all that belongs to one open trace.
//
// Idea: Record must not race with Close, with a fork and with a full disk, and must not pay for
// that either. All of these change one word, the condition, that Record reads after it has marked
// its buffer busy. Close changes the condition and then has the kernel send a memory barrier to all
// threads of the process (membarrier): so each Record either comes before it, and Close sees that
// the buffer is busy, or after it and sees the condition changed. Where the kernel cannot do that,
// each Record has a barrier of its own. The condition lies in a page that a forked child finds
// zeroed, so that even a child of which nobody told us records nothing.
//
// Threads share nothing that any of them writes to for an event: an event's place in the order is
// the processor's counter (clock.h; and recorder_sole.cc, for a thread that records alone), and
// what is lost is counted in the thread's own chunk.
//
// Ownership: made by Create in memory of its own that is never given back: a late thread may still
// look at it. Threads: as Recorder. Errors: as Recorder. Locks: lock_ guards the tables, the list
// of buffers and the free list; nothing else is taken while it is held, but the file is written.
// No heap. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_TRACER_RECORDER_STATE_H_
#define VRAMSTOW_TRACER_RECORDER_STATE_H_

#include <errno.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/event.h"
#include "tracer/clock.h"
#include "tracer/name_table.h"
#include "tracer/number_table.h"
#include "tracer/owner_mutex.h"
#include "tracer/recorder.h"
#include "tracer/thread_buffer.h"
#include "tracer/trace_file.h"

namespace vramstow {

class Compressor;
struct CallerObject;
struct FramePlace;
struct StackFrame;
struct StackTables;

class RecorderState {
 public:
  // Null on an error, with the reason in *error, and nothing is left behind.
  static RecorderState* Create(const RecorderConfig& config, RecorderError* error);

  uint64_t Record(const Event& event);
  uint64_t RecordWithStack(const Event& event);
  uint32_t CaptureStack(EventKind kind);
  uint32_t NameStack(uint32_t stack, const StackName* names, size_t count);
  void Describe(std::string_view key, std::string_view value);
  uint16_t InternCall(std::string_view name);
  uint16_t InternLibrary(std::string_view path, uint64_t base, std::string_view build_id);
  uint64_t InternAnnotation(std::string_view text);
  int WriteCopy(const char* tag, bool replaces, char* name, size_t size) {
    return IsRecording() ? file_.WriteCopy(tag, replaces, name, size) : EBADF;
  }
  bool has_ring() const { return file_.has_ring(); }
  void Close();
  void AbandonAfterFork();
  const char* path() const { return file_.path(); }

 private:
  // Zero is what a forked child finds.
  enum Condition : uint32_t { kForked = 0, kRecording, kGapPending, kLatched, kClosed };

  static constexpr size_t kMaxBuffers = 16384;  // threads that record at the same time
  static constexpr size_t kMaxLibraryText = 8192;

  RecorderState() = default;
  // Nobody else knows the object yet.
  RecorderError OpenFile(const RecorderConfig& config);
  int MakeFile(const RecorderConfig& config, bool has_name) VRAMSTOW_NO_LOCK_ANALYSIS;
  void WriteFileHeader();

  // recorder_events.cc: the way of an event.
  ThreadBuffer* StaticBuffer() const;
  ThreadBuffer* OwnBuffer();
  uint64_t RecordAnyhow(const Event& event);
  uint64_t RecordNothing();
  uint64_t RecordUnusual(ThreadBuffer* buffer, const Event& event, uint64_t now);
  uint64_t RecordInBuffer(ThreadBuffer* buffer, const Event& event);
  uint64_t RecordSlowly(ThreadBuffer* buffer, const Event& event);
  uint64_t Append(ThreadBuffer* buffer, const Event& event);
  bool PrepareChunk(ThreadBuffer* buffer, bool is_late);
  bool NextChunk(ThreadBuffer* buffer);
  void TellClock(ThreadBuffer* buffer);
  void TellGap(ThreadBuffer* buffer);
  void Drop();
  void CountLost(ThreadBuffer* buffer);
  void Latch(int error);

  // recorder_sole.cc
  uint64_t OrderedTicks(const ThreadBuffer* buffer);
  void EndSole(const ThreadBuffer* except);
  void ConsiderSole(ThreadBuffer* buffer, const TraceClock::Reading& now);
  static bool BarrierOnAllThreads();

  // recorder_stacks.cc
  struct StackNode {
    uint32_t parent;
    FrameKind kind;
    uint32_t source;  // library or code object
    uint64_t place;   // from the library's beginning, or the line
  };
  void PrepareStacks(StackMode mode);
  bool WantsStack(EventKind kind) const;
  uint32_t TakeStack(ThreadBuffer* buffer);
  uint32_t TellStack(StackScratch* scratch, uint64_t hash, const FramePlace& here);
  static bool IsOurs(const CallerObject* library);
  StackNode NodeOf(const StackFrame& frame, const CallerObject* library, uint32_t parent)
      VRAMSTOW_REQUIRES(lock_);
  uint32_t InternCode(const StackFrame& frame) VRAMSTOW_REQUIRES(lock_);
  uint32_t InternName(const StackName& name) VRAMSTOW_REQUIRES(lock_);
  uint32_t AddCode(uint64_t key, std::string_view name, std::string_view file, uint32_t first_line)
      VRAMSTOW_REQUIRES(lock_);
  uint32_t InternNode(const StackNode& node) VRAMSTOW_REQUIRES(lock_);

  // recorder_background.cc: what the recorder's own thread does.
  void StartBackground(const RecorderConfig& config);
  bool StopBackground();
  static void* RunBackground(void* self);
  void BackgroundRound();
  bool TakeOtherSlot(ThreadBuffer* buffer);
  void HandOver(ThreadBuffer* buffer);
  void WriteHanded(ThreadBuffer* buffer, unsigned which);
  void TakeSample();

  // recorder_threads.cc: threads come and go.
  ThreadBuffer* Attach(void** slot);
  ThreadBuffer* NewBuffer() VRAMSTOW_REQUIRES(lock_);
  void TakeOver(ThreadBuffer* buffer) VRAMSTOW_REQUIRES(lock_);
  void Detach(ThreadBuffer* buffer);
  static void OnThreadExit(void* buffer);
  static bool WatchThreadExit(ThreadBuffer* buffer);

  // recorder_tables.cc
  uint16_t InternLibraryLocked(std::string_view path, uint64_t base, std::string_view build_id)
      VRAMSTOW_REQUIRES(lock_);
  bool AppendTableRecord(uint8_t type, const std::string_view* parts, size_t count)
      VRAMSTOW_REQUIRES(lock_);
  void BeginTables() VRAMSTOW_REQUIRES(lock_);

  bool AwaitQuietBuffers();
  uint64_t CountRecorded() const;
  void SealAll(bool all_quiet) VRAMSTOW_REQUIRES(lock_);

  // Says that the buffer is busy, before the condition is read.
  void MarkBusy(ThreadBuffer* buffer) const {
    buffer->busy.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (needs_barrier_) [[unlikely]] {
      // In the one order of all such accesses, as those of Close: one of the two sees the other.
      buffer->busy.exchange(true, std::memory_order_seq_cst);
      (void)condition_->load(std::memory_order_seq_cst);
    }
  }
  uint32_t condition() const { return condition_->load(std::memory_order_relaxed); }
  bool IsRecording() const { return condition() == kRecording || condition() == kGapPending; }
  FileHeader* header() const { return reinterpret_cast<FileHeader*>(first_slot_.bytes); }
  // What tells this thread from all others; null if the thread has no slot.
  const void* Self() const { return thread_slot_(); }

  // Without a counter to trust: written by each event, so on a cache line of its own (and not on
  // one of the pair that the processor fetches).
  alignas(128) std::atomic<uint64_t> sequence_{0};
  // Read by each event.
  alignas(128) std::atomic<uint32_t>* condition_ = nullptr;
  ThreadSlot thread_slot_ = nullptr;
  TraceClock clock_;
  bool by_ticks_ = false;
  uintptr_t slot_distance_ = 0;  // from the thread pointer, on the short way
  // The way that events take: the short one is by ticks, without stacks, where slots are static and
  // the kernel has barriers; latched off, they are only counted.
  enum class Way : uint8_t { kAny, kShort, kCounted };
  std::atomic<Way> way_{Way::kAny};
  // The buffer whose thread records alone, or null.
  std::atomic<ThreadBuffer*> sole_{nullptr};
  bool needs_barrier_ = false;
  StackMode stack_mode_ = StackMode::kOff;
  StackTables* stack_tables_ = nullptr;

  alignas(128) OwnerMutex lock_;
  std::atomic<ThreadBuffer*> last_considered_{nullptr};  // as the one that records alone
  std::atomic<uint64_t> gap_events_{0};                  // dropped and not yet told by a kGap
  std::atomic<uint32_t> chunks_{0};                      // begun so far
  std::atomic<uint32_t> buffer_count_{0};
  TraceFile file_;
  TraceFile::Slot first_slot_;
  // The recorder's own thread.
  enum class Background : uint32_t { kNone, kRuns, kIsToStop, kStopped };
  std::atomic<Background> background_{Background::kNone};
  std::atomic<uint32_t> handed_over_{0};  // slots, ever: what the thread waits for
  Compressor* compressor_ = nullptr;      // null: chunks are written as they are
  uint32_t sample_ms_ = 0;
  void (*on_sample_)() = nullptr;
  uint64_t trace_id_ = 0;
  ChunkWriter tables_ VRAMSTOW_GUARDED_BY(lock_);
  ThreadBuffer* free_ VRAMSTOW_GUARDED_BY(lock_) = nullptr;

  // Large, and not initialised on purpose: this object lies in memory that is zero, and what is not
  // touched costs nothing.
  NameTable calls_ VRAMSTOW_GUARDED_BY(lock_);
  NameTable libraries_ VRAMSTOW_GUARDED_BY(lock_);
  NumberTable<65536>* annotations_ = nullptr;  // by their texts' hashes; looked up by all
  uint64_t annotation_count_ VRAMSTOW_GUARDED_BY(lock_) = 0;
  char library_text_[kMaxLibraryText] VRAMSTOW_GUARDED_BY(lock_);
  ThreadBuffer* buffers_[kMaxBuffers];  // written under lock_, read up to buffer_count_ by all
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_RECORDER_STATE_H_
