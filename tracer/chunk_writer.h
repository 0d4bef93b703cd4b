// ChunkWriter: one slot of the file, and the chunk that is being written in it.
//
// Idea: the bytes of a record are stored first, then the committed length, so that at each moment
// the chunk is what its header says, also for somebody who finds the file after the process was
// killed. A full chunk is appended to the file as it is, sealed; the slot is then used for the next
// one. (Mapping each next piece of the file instead was measured at 75 to 200 µs per 64 KiB in page
// faults, against 60 µs for the write.) Killed between the two, the file has the chunk twice, under
// the same number; a reader takes one.
//
// Ownership: the slot stays the file's. Threads: one at a time. Errors: errno values. No heap.
// Units: bytes, nanoseconds.
#ifndef VRAMSTOW_TRACER_CHUNK_WRITER_H_
#define VRAMSTOW_TRACER_CHUNK_WRITER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tracer/format/layout.h"
#include "tracer/trace_file.h"

namespace vramstow {

// Appends a chunk to the file, sealed: `bytes` is its payload as the encoding has it, which is
// `payload_bytes` long when decoded. `header` is the one that the chunk had while it was written. 0
// or an errno; nothing else is touched.
int AppendChunk(TraceFile* file, const ChunkHeader& header, ChunkEncoding encoding,
                const uint8_t* bytes, uint32_t size, uint32_t payload_bytes);

// Seals a chunk where it is, if it is one that was begun. Nobody writes to it any more.
void SealChunkInPlace(uint8_t* slot);
// No chunk is here any more.
void ClearChunk(uint8_t* slot);

class ChunkWriter {
 public:
  // What is the same for each chunk of a slot.
  struct Place {
    TraceFile* file;
    uint8_t* bytes;     // where in memory
    uint64_t offset;    // where in the file
    uint32_t capacity;  // bytes, with the header
    uint64_t trace_id;
  };
  void SetPlace(const Place& place) { place_ = place; }
  const Place& place() const { return place_; }

  struct Start {
    uint32_t number;
    uint32_t thread;
    ChunkKind kind;
    uint64_t base_sequence;
    uint64_t base_time;  // as the chunk's kind has it
    uint32_t buffer;     // 0 for tables
    uint32_t turn;       // of the buffer's chunks, from 1
  };
  // Begins an empty chunk. What was in the slot is gone.
  void Begin(const Start& start);
  // Whether there is one.
  bool has_chunk() const { return next_ != nullptr; }

  // Bytes that can still be written; 0 without a chunk.
  size_t room() const { return static_cast<size_t>(end_ - next_); }
  uint8_t* next() { return next_; }
  // All bytes before `next` count from now on.
  void Commit(uint8_t* next) {
    next_ = next;
    std::atomic_ref<uint32_t>(header()->committed)
        .store(static_cast<uint32_t>(next - payload()), std::memory_order_release);
  }

  // Appends the chunk to the file, sealed. Afterwards there is none. On an error it stays as it is.
  int Append();
  // Seals the chunk where it is, and no more can be written.
  void SealInPlace();
  // The chunk is somebody else's from now on; the next one begins in another slot.
  void MoveTo(const TraceFile::Slot& slot) {
    place_.bytes = slot.bytes;
    place_.offset = slot.offset;
    next_ = end_ = nullptr;
  }
  // Says in the chunk that one more event was lost after its last one. Without a chunk: false.
  bool CountLost() {
    if (!has_chunk()) return false;
    std::atomic_ref<uint64_t> lost(header()->lost_events);
    lost.store(lost.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return true;
  }
  // No more goes into this chunk, because the state of who wrote it is in doubt.
  void Fill() { end_ = next_; }

  // Bytes of the slot that matter.
  uint32_t used_bytes() const { return static_cast<uint32_t>(sizeof(ChunkHeader)) + committed(); }

 private:
  ChunkHeader* header() const { return reinterpret_cast<ChunkHeader*>(place_.bytes); }
  uint8_t* payload() const { return place_.bytes + sizeof(ChunkHeader); }
  uint32_t committed() const { return has_chunk() ? static_cast<uint32_t>(next_ - payload()) : 0; }

  uint8_t* next_ = nullptr;
  uint8_t* end_ = nullptr;
  Place place_ = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CHUNK_WRITER_H_
