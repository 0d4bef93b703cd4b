// Recorder: writes the events of this process into one .stow file.
//
// Idea: each thread appends to a chunk of its own in a shared mapping of the file, which was
// allocated on disk before it was mapped, so that what is committed survives SIGKILL and a full
// disk cannot raise SIGBUS. No lock, no system call and no heap on the path of an event, except
// when a chunk is full: then one write appends it to the file. The format is docs/trace-format.md.
//
// Ownership: the recorder copies all it is given. It is made to live in static storage for the
// whole life of the process: it has a constexpr constructor and no destructor work. Threads: every
// method may be called from any thread; Open and Close once each. Errors: Open returns a
// RecorderError; recording never fails: events that cannot be stored are dropped and counted, a
// kGap event says how many, and after a write error the recorder latches off. Units: bytes,
// nanoseconds.
#ifndef VRAMSTOW_TRACER_RECORDER_H_
#define VRAMSTOW_TRACER_RECORDER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/typed_event.h"

namespace vramstow {

enum class RecorderError {
  kOk,
  kCannotCreate,  // the file cannot be created; errno says why
  kNoSpace,       // no room for the first chunk
  kCannotMap,
  kAlreadyOpen,
};

// Where a thread keeps its place in the recorder: one pointer of thread-local storage, zero at
// first. The preloaded shim owns the storage, because a library that comes by dlopen should not
// bring thread-local storage of its own; a test passes a function over a thread_local.
using ThreadSlot = void** (*)();
// Has `ended` called with the value when the calling thread ends. 0: it cannot be done.
using ThreadWatch = int (*)(void (*ended)(void* value), void* value);

// What puts the events of different threads in order.
enum class OrderSource : uint8_t {
  kBest,     // the processor's counter where the kernel trusts it
  kNumbers,  // an atomic counter, which costs the more the more threads there are
};

// Which events get the stack of the thread that records them.
enum class StackMode : uint8_t {
  kOff,
  kSites,  // those that bring memory into being
  kAll,
};

struct RecorderConfig {
  const char* directory;  // must exist
  const char* stem;       // file name without ".stow"; if it exists, "-2", "-3", … is appended
  ThreadSlot thread_slot;
  OrderSource order = OrderSource::kBest;
  StackMode stacks = StackMode::kOff;
  // A thread of the recorder's own, with all signals masked: it writes full chunks, compressed if
  // `compress`, and records the host's memory every `sample_ms` (0: never).
  bool background = false;
  bool compress = false;
  uint32_t sample_ms = 0;
  // What that thread does besides when it records the host's memory.
  void (*on_sample)() = nullptr;
  // The newest chunks of events take the place of the oldest when they fill so many bytes; at least
  // kLeastRingBytes. 0: all are kept.
  uint64_t ring_bytes = 0;
  // Where the older events cannot become sums (too many live blocks, a file that cannot be mapped,
  // more events than can be added up in time), the file grows rather than lose them.
  bool ring_may_grow = false;
  // The slot is a thread_local of the initial-exec model, as those of a program are: it lies as far
  // from each thread's pointer, and an event finds it without a call.
  bool slot_is_static = false;
  // Null, or where it cannot be done: by a thread-specific key of the recorder's own, for which
  // glibc may use the heap once for each thread.
  ThreadWatch thread_watch = nullptr;
  bool for_group = false;  // the file's group may read it; otherwise its owner alone
};

// A frame of a stack that is no code. In a trace it is one of Python's: `kind`, in angle brackets,
// stands for the file, and the line is 0.
struct StackName {
  std::string_view text;  // "aten::mm"
  std::string_view kind;  // "<operator>"
};

inline constexpr uint64_t kLeastRingBytes = 1024 * 1024;

class RecorderState;  // tracer/recorder_state.h

class Recorder {
 public:
  constexpr Recorder() = default;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Creates the file. On an error nothing is left behind and the recorder stays closed.
  RecorderError Open(const RecorderConfig& config);

  // Stores the event after setting its sequence, time and thread; returns the sequence, by which a
  // reader will know it, or 0 if it was not stored. Sequences rise from one event to another that
  // begins later, on whatever thread, but not by one. When it returns, the event is committed: a
  // reader will see it, whatever happens to this process.
  uint64_t Record(const Event& event);

  // The same without a look at the stack: the event's is what it says. For callers that hold locks
  // of their own, because the look may wait for the dynamic linker's, which a thread may hold that
  // waits for theirs.
  uint64_t RecordWithStack(const Event& event);
  // The memory of a kFree, to which RecordWithStack gave this sequence, may be handed out again.
  // This takes the place of a kFreeCompleted with the same fields, and costs much less: the free
  // that is in the trace becomes one that completes. False, and nothing is recorded: the free was
  // not the last event of the calling thread, or a trace of this kind cannot say it so.
  bool CompleteFree(uint64_t sequence);
  // The stack that Record would give an event of this kind here and now; 0: none.
  uint32_t CaptureStack(EventKind kind);
  // The same for callers that hold locks of a framework: the dynamic linker is not asked. Where
  // that cannot be done (glibc before 2.35): 0. Libraries and Python are known as they were when
  // LookAtLibraries was called, or the other way of capturing was used.
  uint32_t CaptureStackQuietly(EventKind kind);
  void LookAtLibraries();
  // Record for these callers. Sets the event's stack.
  uint64_t RecordQuietly(Event* event);
  // That stack with something inside of it that no code says: what a framework calls the work that
  // goes on. The first is the innermost. Texts that are too long are cut; a stack that the trace
  // has no room for stays as it is.
  uint32_t NameStack(uint32_t stack, const StackName* names, size_t count);

  // Facts about process, device and settings: kept in the trace as a list of pairs, later values of
  // the same key win. Keys are lower case with dots: "process.command", "device.0.name". Of a key
  // 255 bytes are kept, of a value 48 KiB.
  void Describe(std::string_view key, std::string_view value);

  // The number by which events name an entry point, a library or an annotation. The same text gives
  // the same number; kUnknownName when the table is full or the recorder is closed. Takes a lock:
  // callers keep the number.
  uint16_t InternCall(std::string_view name);
  // `base` is the address where the library is mapped, `build_id` lower-case hex or empty.
  uint16_t InternLibrary(std::string_view path, uint64_t base, std::string_view build_id);
  // The number by which marks name a text, of which 1,024 bytes are kept; 0 when closed. A text
  // that is known takes no lock.
  uint64_t InternAnnotation(std::string_view text);
  // Stores a mark of the application. `number` is that of an iteration or of a range of the
  // process.
  uint64_t RecordMark(MarkKind kind, uint64_t annotation, uint64_t number);

  // Writes what the trace holds now into a file of its own beside it; see TraceFile::WriteCopy. 0
  // or an errno; EBADF while closed.
  int WriteCopy(const char* tag, bool replaces, char* name, size_t size);
  // The same as WriteCopy("oom", true, …), but only once older events are about to become sums: if
  // the trace stays short, it has them itself.
  void CopyBeforeSums();

  // Seals all chunks and cuts the file to its length. Other threads may still be recording; what
  // they record afterwards is dropped. Safe to call at exit; a trace that was never closed is
  // complete, too.
  void Close();

  // In a forked child: forgets the parent's file without touching it. Async-signal-safe. Open may
  // be called again afterwards.
  void AbandonAfterFork();

  bool is_open() const;
  // The file's path, "" while closed. Lives as long as the process.
  const char* path() const;

 private:
  std::atomic<RecorderState*> state_{nullptr};
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_RECORDER_H_
