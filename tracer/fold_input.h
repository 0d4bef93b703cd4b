// FoldInput reads the older events of the trace that is being written, in order, so that they can
// be folded (replaced by sums).
//
// Idea: the ring's chunks are listed, and a moment is chosen so that about half of them contain
// only earlier events. The chunks of each buffer are read one after the other, and the buffers are
// merged. A thread may have recorded its only event days ago. So events in the slot of a buffer are
// also read if they are older than that moment and not in the ring yet. An earlier fold has
// recorded up to which event each buffer was folded.
//
// Ownership: Create maps its memory, which is never released. Threads: one at a time, while others
// record. Errors: Begin returns false if there is too much to list, or if a chunk was overwritten
// meanwhile. No heap. Units: bytes, nanoseconds, positions in the ring.
#ifndef VRAMSTOW_TRACER_FOLD_INPUT_H_
#define VRAMSTOW_TRACER_FOLD_INPUT_H_

#include <cstddef>
#include <cstdint>

#include "base/event.h"
#include "tracer/chunk_loader.h"
#include "tracer/format/event_decoder.h"
#include "tracer/format/layout.h"
#include "tracer/open_trace.h"
#include "tracer/thread_registry.h"

namespace vramstow {

class FoldInput {
 public:
  static constexpr uint32_t kMaxBuffers = 16384;  // the limit of ThreadRegistry

  // Returns null if there is no memory.
  static FoldInput* Create(OpenTrace* trace, const ThreadRegistry* threads);

  // Lists the events to be folded. `generation` is the generation of the events that the last fold
  // retained, or 0 if there are none.
  bool Begin(uint32_t generation);
  // Starts again from the first event.
  bool Rewind();
  // Stores the next event up to the chosen moment in *event. The events that the last fold retained
  // come first; *was_kept is true for them. Returns false if there are no more events, or if a
  // chunk could not be read; failed() distinguishes the two cases.
  bool Next(Event* event, bool* was_kept);
  bool failed() const { return failed_; }
  // Returns how many events are missing before and between the events that Next returned. They are
  // known by gaps in the numbers of the buffers' events.
  uint64_t lost_events() const { return lost_; }
  // Called after the last event, so that the next fold continues from here. Returns the position
  // from which on the ring's contents are still needed.
  uint64_t Accept();
  uint64_t cut(uint32_t buffer) const { return cuts_[buffer]; }
  // Releases the memory that is not needed between two folds.
  void End();

 private:
  static constexpr size_t kMaxStreams = 128;
  static constexpr size_t kMaxCopies = 128;
  static constexpr int kMaxTries = 4;
  static constexpr uint64_t kInSlot = ~uint64_t{0};  // a position that means "in a slot"

  struct Chunk {
    ChunkHeader header;
    uint64_t offset;    // its offset in the file; for a chunk from a slot the copy's number
    uint64_t position;  // its position in the ring, or kInSlot
    uint64_t base_order() const {
      return IsTicked(static_cast<ChunkKind>(header.kind)) ? OrderOf(header.base_time, ~uint32_t{0})
                                                           : header.base_sequence;
    }
  };
  // A sequence of chunks. It consists of the chunks of one buffer, or of the events that the last
  // fold retained.
  struct Stream {
    size_t first;
    size_t end;
    size_t chunk;       // the current chunk, or the next one
    bool has_chunk;     // the chunk is loaded
    bool has_event;     // `next` is its next event
    uint64_t consumed;  // the number of the last returned event
    Event next;
    EventDecoder decoder;
    uint8_t payload[ChunkLoader::kMaxBytes];
  };

  FoldInput() = default;

  bool List(uint32_t generation);
  bool ListSlots();
  bool ListRing(uint32_t generation);
  bool CopySlots();
  void ChooseLimit();
  bool MakeStreams();
  bool LoadNext(Stream* stream);
  bool Fill(Stream* stream);
  uint64_t NumberOf(const Stream& stream) const;

  OpenTrace* trace_ = nullptr;
  const ThreadRegistry* threads_ = nullptr;
  ChunkLoader* loader_ = nullptr;
  Chunk* chunks_ = nullptr;
  size_t most_chunks_ = 0;  // the most chunks of the ring and the slots
  Stream* streams_ = nullptr;
  uint8_t* copies_ = nullptr;
  size_t count_ = 0;
  size_t stream_count_ = 0;
  size_t copy_count_ = 0;
  TraceFile::RingSpan ring_ = {};
  uint64_t limit_ = 0;  // events up to this sequence
  uint64_t last_sequence_ = 0;
  uint64_t lost_ = 0;
  bool failed_ = false;
  uint64_t cuts_[kMaxBuffers + 1];
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FOLD_INPUT_H_
