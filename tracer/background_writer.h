// BackgroundWriter: the recorder's own thread. It writes the chunks that other threads have filled,
// and looks at the host now and then.
//
// Idea: a full slot is handed over as it is. It stays in the file, open, until its chunk has been
// appended: a kill in between loses nothing, and a reader takes one of the two. A buffer whose
// other slot is not free yet writes its chunk by itself: no thread of the program waits for this
// one.
//
// Ownership: the thread, until Stop, and the compressor. Threads: Start and Stop once;
// TakeOtherSlot and HandOver by the thread that has the buffer. Errors: without a thread others
// write for themselves. No heap, no locks; all signals are masked in the thread. Units:
// milliseconds.
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
    uint32_t sample_ms = 0;  // how often to call on_sample; 0: never
    void (*on_sample)(void* context) = nullptr;
    void* context = nullptr;
  };
  void Start(const Config& config, OpenTrace* trace, const ThreadRegistry* threads);
  // Waits a moment for the thread to be out of what it does. False: it is not.
  bool Stop();

  // Gives the buffer its other slot, so that the full one can be handed over. False: this thread
  // still has the other one, or does not run.
  bool TakeOtherSlot(ThreadBuffer* buffer);
  // Gives the buffer's other slot, which is full, to this thread. A chunk has begun in the current
  // one: so the file has a chunk of each buffer that says how many events the buffer had, even if
  // this thread stands still until a ring has gone round.
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
  std::atomic<uint32_t> handed_over_{0};  // slots, ever: what the thread waits for
  Compressor* compressor_ = nullptr;      // null: chunks are written as they are
  TraceFolder* folder_ = nullptr;         // null: what a ring overwrites is gone
  uint64_t sample_at_ms_ = 0;
  Config config_;
  OpenTrace* trace_ = nullptr;
  const ThreadRegistry* threads_ = nullptr;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_BACKGROUND_WRITER_H_
