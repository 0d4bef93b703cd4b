// TraceFolder replaces the older events of a ring by sums before they are overwritten.
//
// Idea: when more than half of the ring is needed, the older half of the needed part is folded
// (EventFolder). The retained events and the sums are written into the ring as chunks of a new
// *generation*. Only when the last chunk of the generation is written may the chunks that it
// replaces be overwritten. So at each moment the file contains a complete generation, or all
// events.
//
// Ownership: Create maps its memory, which is never released; further memory for a fold exists only
// during the fold. Threads: the recorder's own. Errors: a fold is not possible if there are more
// live blocks than EventFolder has room for, or if the file cannot be read. It is then not tried
// again, unless it could not begin, for example without memory. The ring loses its oldest events
// except for their number, or the file grows (RecorderConfig::ring_may_grow). A write that fails
// ends the recording. No heap. Units: bytes.
#ifndef VRAMSTOW_TRACER_TRACE_FOLDER_H_
#define VRAMSTOW_TRACER_TRACE_FOLDER_H_

#include <cstdint>

#include "tracer/compressor.h"
#include "tracer/fold/event_folder.h"
#include "tracer/fold_input.h"
#include "tracer/format/event_encoder.h"
#include "tracer/open_trace.h"
#include "tracer/thread_registry.h"

namespace vramstow {

class TraceFolder {
 public:
  // Returns null if there is no memory. `compressor` is null if chunks are not to be compressed.
  static TraceFolder* Create(OpenTrace* trace, const ThreadRegistry* threads,
                             Compressor* compressor);

  // True if the older events should be folded now.
  bool IsNeeded() const;
  // Folds the older events. It calls rest() from time to time, which does other work of the thread
  // and may take long. If rest() returns false, the fold is stopped.
  void Fold(bool (*rest)(void* context), void* context);

 private:
  TraceFolder() = default;

  bool LookAtAll();
  bool WriteKept(size_t events);
  bool WriteSums();
  bool HasRoom() const;
  bool Rests();
  void BeginChunk(ChunkKind kind);
  bool EndChunk();
  bool Keep(const Event& event);
  bool WriteSamples();
  bool WriteCuts();
  // Returns the address of the next record, or null after an error.
  uint8_t* Record();

  OpenTrace* trace_ = nullptr;
  const ThreadRegistry* threads_ = nullptr;
  Compressor* compressor_ = nullptr;
  EventFolder* folder_ = nullptr;
  FoldInput* input_ = nullptr;
  bool (*rest_)(void* context) = nullptr;
  void* context_ = nullptr;
  bool is_given_up_ = false;
  uint64_t next_try_ = 0;    // after a fold that could not begin: the use of the ring to wait for
  uint32_t generation_ = 0;  // the last complete generation

  // The chunk that is being written.
  ChunkHeader header_ = {};
  uint32_t turn_ = 0;
  uint32_t thread_ = 0;
  uint64_t first_position_ = 0;  // the ring's end before the first chunk of the generation
  uint8_t* next_ = nullptr;
  EventEncoder encoder_;
  uint8_t payload_[kSlotBytes];  // the last kEncodeSlack bytes are not used
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_TRACE_FOLDER_H_
