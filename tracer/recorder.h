// Recorder: writes the events of this process into one .stow file.
//
// Idea: each thread appends to a chunk of its own in a shared mapping of the file, which was
// allocated on disk before it was mapped, so that what is committed survives SIGKILL and a full
// disk cannot raise SIGBUS. No lock, no system call and no heap on the way of an event, except when
// a chunk is full: then one write appends it to the file. The format is docs/trace-format.md.
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
#include <cstdint>
#include <string_view>

#include "base/event.h"

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
};

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
