// BackgroundWriter is the recorder's own thread. It writes the chunks that other threads have
// filled, and samples the host's memory from time to time.
//
// Idea: a thread fills a chunk in a slot (a part) of the mapped file. A full slot is handed over to
// the recorder's thread, which appends the chunk to the file. Until then the slot still contains
// the chunk, so a kill in between loses nothing; if the file contains the chunk twice, a reader
// uses one copy. Each buffer has two slots. If the other slot is not free yet when one is full, the
// buffer's own thread appends the chunk, so no thread of the program waits for the recorder's
// thread.
//
// Ownership: the thread, until Stop, and the compressor. Threads: Start and Stop once;
// ClaimOtherSlot and HandOver by the thread that owns the buffer. Errors: without this thread the
// other threads write their own chunks. No heap, no locks; all signals are masked in the thread.
// Units: milliseconds.
#ifndef VRAMSTOW_TRACER_BACKGROUND_WRITER_H_
#define VRAMSTOW_TRACER_BACKGROUND_WRITER_H_

#include <atomic>
#include <cstdint>

#include "tracer/open_trace.h"
#include "tracer/thread_registry.h"

namespace vramstow {

class Compressor;
class TraceFolder;

class BackgroundWriter {
 public:
  struct Config {
    bool compress = false;
    uint32_t sample_ms = 0;  // the period of on_sample; 0 for never
    void (*on_sample)(void* context) = nullptr;
    void* context = nullptr;
  };
  void Start(const Config& config, OpenTrace* trace, const ThreadRegistry* threads);
  // Waits briefly until the thread has stopped. Returns false if it has not.
  bool Stop();

  // Switches the buffer to its other slot, so that the full slot can be handed over. Returns false
  // if the recorder's thread has not written the other slot yet, or does not run.
  bool ClaimOtherSlot(ThreadBuffer* buffer);
  // Hands the buffer's other slot, which is full, over to the recorder's thread. The caller has
  // begun a chunk in the current slot already. The new chunk contains the buffer's number of
  // events. So the file contains this number even if the ring overwrites older chunks before the
  // recorder's thread runs.
  void HandOver(ThreadBuffer* buffer);

 private:
  enum class State : uint32_t { kNone, kRuns, kIsToStop, kStopped };

  static void* Run(void* self);
  void WriteAndSample();
  bool WriteAllHanded();
  void WriteHanded(ThreadBuffer* buffer, unsigned which);
  void Wake();
  void Sample();
  static bool Rests(void* self);

  std::atomic<State> state_{State::kNone};
  std::atomic<uint32_t> handed_over_{0};  // slots so far; the thread waits for a change
  Compressor* compressor_ = nullptr;      // null if chunks are not compressed
  TraceFolder* folder_ = nullptr;         // null if overwritten events are lost
  uint64_t sample_at_ms_ = 0;
  Config config_;
  OpenTrace* trace_ = nullptr;
  const ThreadRegistry* threads_ = nullptr;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_BACKGROUND_WRITER_H_
