// Recorder writes the events of this process into one .stow file.
//
// Idea: each thread appends to its own chunk in a shared mapping of the file. The chunk was
// allocated on disk before it was mapped, so committed events survive SIGKILL and a full disk
// cannot raise SIGBUS. Recording an event needs no lock, no system call and no heap, except when a
// chunk is full: then one write appends it to the file. The format is described in
// docs/trace-format.md.
//
// Ownership: the recorder copies all its input. It is made to live in static storage for the whole
// life of the process: it has a constexpr constructor and no destructor work. Threads: every method
// may be called from any thread; Open and Close once each. Errors: Open returns a RecorderError;
// recording never fails: events that cannot be stored are dropped and counted, a kGap event gives
// their number, and after a write error nothing more is recorded. Units: bytes, nanoseconds.
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
  kCannotCreate,  // the file cannot be created; errno contains the reason
  kNoSpace,       // no room for the first chunk
  kCannotMap,
  kAlreadyOpen,
};

// Returns the address where the calling thread stores its recorder state: one pointer of
// thread-local storage, zero at first. The preloaded shim owns the storage, because a library that
// is opened by dlopen should have no thread-local storage of its own; a test passes a function that
// returns a thread_local.
using ThreadSlot = void** (*)();
// Registers `ended`, which is called with the value when the calling thread ends. Returns 0 if that
// is not possible.
using ThreadWatch = int (*)(void (*ended)(void* value), void* value);

// The method by which events of different threads are ordered.
enum class OrderSource : uint8_t {
  kBest,     // the processor's counter if the kernel trusts it
  kNumbers,  // an atomic counter, whose cost grows with the number of threads
};

// The events that get the stack of the thread that records them.
enum class StackMode : uint8_t {
  kOff,
  kSites,  // those that create memory
  kAll,
};

struct RecorderConfig {
  const char* directory;  // must exist
  const char* stem;       // file name without ".stow"; if it exists, "-2", "-3", … is appended
  ThreadSlot thread_slot;
  OrderSource order = OrderSource::kBest;
  StackMode stacks = StackMode::kOff;
  // If `background` is true, a background thread with all signals masked writes full chunks, and
  // compresses them if `compress` is true. It records the host's memory every `sample_ms`
  // milliseconds, or never if that is 0.
  bool background = false;
  bool compress = false;
  uint32_t sample_ms = 0;
  // Called by the background thread each time it records the host's memory.
  void (*on_sample)() = nullptr;
  // The size of the ring, in which the newest chunks of events replace the oldest when it is full.
  // It is at least kLeastRingBytes; 0 retains all chunks.
  uint64_t ring_bytes = 0;
  // If true, the file grows instead of losing older events that cannot be replaced by sums. There
  // are three causes: too many live blocks, a file that cannot be mapped, or more events than can
  // be added up in time.
  bool ring_may_grow = false;
  // True if the slot is a thread_local of the initial-exec model, like those of a program. Its
  // distance from the thread pointer is then the same in every thread, and an event finds it
  // without a call.
  bool slot_is_static = false;
  // Reports the end of threads. If it is null or fails, the recorder uses a thread-specific key of
  // its own, for which glibc may use the heap once for each thread.
  ThreadWatch thread_watch = nullptr;
  bool for_group = false;  // the file's group may read it; otherwise its owner alone
};

// A frame of a stack that belongs to no code, but contains a name. In a trace it is stored as a
// frame of Python: `kind`, in angle brackets, is the file, and the line is 0.
struct StackName {
  std::string_view text;  // "aten::mm"
  std::string_view kind;  // "<operator>"
};

// What happened to a block of a framework's allocator: the fields of an Event that such an event
// has. Its memory is kDevice, its layer kFramework.
struct BlockEvent {
  EventKind kind = EventKind::kNone;
  int16_t device = kNoDevice;
  uint16_t call = kUnknownName;
  uint16_t library = kUnknownName;
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t requested = 0;
  uint64_t stream = kUnknownStream;

  Event ToEvent() const {
    Event event;
    event.kind = kind;
    event.memory = MemoryKind::kDevice;
    event.layer = Layer::kFramework;
    event.device = device;
    event.call = call;
    event.library = library;
    event.address = address;
    event.size = size;
    event.requested = requested;
    event.stream = stream;
    return event;
  }
};

inline constexpr uint64_t kLeastRingBytes = 1024 * 1024;

// Whose a text in a trace is. Texts of vramstow have room of their own.
enum class TextOf : uint8_t { kProgram, kVramstow };

class RecorderState;  // tracer/recorder_state.h

class Recorder {
 public:
  constexpr Recorder() = default;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Creates the file. After an error no file is left behind and the recorder is still closed.
  RecorderError Open(const RecorderConfig& config);

  // Stores the event after setting its sequence, time and thread. Returns the sequence, which
  // identifies the event for a reader, or 0 if the event was not stored. An event that begins
  // later, in any thread, has a larger sequence, but the difference may exceed 1. When this
  // returns, the event is committed: a reader will see it even if the process is killed.
  uint64_t Record(const Event& event);

  // Stores the event as Record does, but captures no stack: the stack number that the event has is
  // stored. It is for callers that hold locks of their own. A capture may wait for the dynamic
  // linker's lock, and the thread that holds that lock may wait for the caller's.
  uint64_t RecordWithStack(const Event& event);
  // Records that the memory of a kFree may be allocated again; `sequence` is what RecordWithStack
  // returned for the kFree. This replaces a kFreeCompleted event with the same fields, and costs
  // much less: the stored kFree becomes one that completes at once. Returns false, and records
  // nothing, if the free was not the last event of the calling thread, or if this kind of trace
  // cannot express it.
  bool CompleteFree(uint64_t sequence);
  // Captures the calling thread's stack and returns its number, as Record would for an event of
  // this kind; 0 if there is none.
  uint32_t CaptureStack(EventKind kind);
  // Captures the stack for callers that hold locks of a framework: it never calls the dynamic
  // linker. Returns 0 if that is impossible (glibc before 2.35). It uses the libraries and the
  // Python interpreter that were found when LookAtLibraries was last called, or by the last
  // ordinary capture.
  uint32_t CaptureStackQuietly(EventKind kind);
  void LookAtLibraries();
  // Stores the event as Record does, for callers that hold locks of a framework: the stack is the
  // one of CaptureStackQuietly. Writes the number of that stack into *event.
  uint64_t RecordQuietly(Event* event);
  // Stores the event as RecordQuietly does, in fewer instructions. Preserves errno.
  uint64_t RecordBlock(const BlockEvent& block);
  // Returns a stack that has additional innermost frames: a framework's names for the running
  // operations, the innermost name first. Texts that are too long are cut. If the trace has no
  // room, the stack is returned unchanged.
  uint32_t NameStack(uint32_t stack, const StackName* names, size_t count);

  // Stores a fact about process, device or settings. A later value of the same key replaces an
  // earlier one. Keys are lower case with dots: "process.command", "device.0.name". Keys are cut at
  // 255 bytes, values at 48 KiB.
  void Describe(std::string_view key, std::string_view value);

  // Returns the number by which events name an entry point, a library or an annotation. The same
  // text gives the same number. Returns kUnknownName if the table is full or the recorder is
  // closed. It takes a lock, so callers store the number.
  uint16_t InternCall(std::string_view name);
  // Returns the number of a library. `base` is the address where the library is mapped; `build_id`
  // is lower-case hex, or empty.
  uint16_t InternLibrary(std::string_view path, uint64_t base, std::string_view build_id);
  // Returns the number by which marks name a text; 0 if the recorder is closed. The text is cut at
  // 1,024 bytes. No lock is taken if the text has a number already. If the trace has no room for
  // further texts of the program, several texts get one number (table_writer.h).
  uint64_t InternAnnotation(std::string_view text, TextOf whose = TextOf::kProgram);
  // Stores a mark of the application. `number` identifies an iteration or a process-wide range.
  uint64_t RecordMark(MarkKind kind, uint64_t annotation, uint64_t number);

  // Writes the current contents of the trace into another file in the same folder; see
  // TraceFile::WriteCopy. Returns 0 or an errno; EBADF if the recorder is closed.
  int WriteCopy(const char* tag, bool replaces, char* name, size_t size);
  // Requests a copy of the trace, WriteCopy("oom", true, …), before older events are replaced by
  // sums. A trace that stays short contains these events itself and needs no copy.
  void CopyBeforeSums();

  // Seals all chunks and cuts the file to its length. Other threads may still be recording; their
  // later events are dropped. This may be called at exit. A trace that was never closed is
  // readable, too.
  void Close();

  // Notes in the file's header that the process ends now with this status (its low 8 bits), in
  // place of Close, which must not be called in a signal handler. Does nothing if the file cannot
  // be mapped, because the last events of such a trace are lost without Close. Async-signal-safe.
  void NoteExit(int status);

  // Forgets the parent's file without touching it. Called in a forked child; async-signal-safe.
  // Open may be called again afterwards.
  void AbandonAfterFork();

  bool is_open() const;
  // Returns the file's path, or "" if the recorder is closed. The text lives as long as the
  // process.
  const char* path() const;

 private:
  std::atomic<RecorderState*> state_{nullptr};
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_RECORDER_H_
