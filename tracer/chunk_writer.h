// ChunkWriter writes a chunk in one slot (a mapped part) of the file.
//
// Idea: the bytes of a record are stored first, then the committed length. So at each moment the
// header describes the chunk correctly, also for a reader that finds the file after the process was
// killed. A full chunk is appended to the file unchanged, as a sealed chunk; the slot is then used
// for the next one. (Mapping the next part of the file each time was measured at 75 to 200 µs per
// 64 KiB in page faults, against 60 µs for the write.) If the process is killed between the two
// steps, the file contains the chunk twice, under the same number, and a reader uses one of them.
//
// Ownership: the file owns the slot. Threads: one at a time. Errors: errno values. No heap. Units:
// bytes, nanoseconds.
#ifndef VRAMSTOW_TRACER_CHUNK_WRITER_H_
#define VRAMSTOW_TRACER_CHUNK_WRITER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tracer/format/layout.h"
#include "tracer/trace_file.h"

namespace vramstow {

// Appends a sealed chunk to the file. `bytes` is its encoded payload, which has `payload_bytes`
// when it is decoded. `header` is the header that the chunk had while it was being filled. Returns
// 0 or an errno; changes nothing else.
int AppendChunk(TraceFile* file, const ChunkHeader& header, ChunkEncoding encoding,
                const uint8_t* bytes, uint32_t size, uint32_t payload_bytes);

// Seals a chunk in its slot, if one was begun. No thread may write to it any more.
void SealChunkInPlace(uint8_t* slot);
// Marks the slot as empty.
void ClearChunk(uint8_t* slot);

class ChunkWriter {
 public:
  // The values that all chunks of a slot have in common.
  struct Place {
    TraceFile* file;
    uint8_t* bytes;     // address in memory
    uint64_t offset;    // offset in the file
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
    uint64_t base_time;  // in the unit of the chunk's kind
    uint32_t buffer;     // 0 for tables
    uint32_t turn;       // the chunk's number in its buffer, from 1
  };
  // Begins an empty chunk. The earlier contents of the slot are lost.
  void Begin(const Start& start);
  // True if a chunk has been begun.
  bool has_chunk() const { return next_ != nullptr; }

  // Returns the number of bytes that can still be written; 0 if no chunk has been begun.
  size_t room() const { return static_cast<size_t>(end_ - next_); }
  uint8_t* next() { return next_; }
  // Commits all bytes before `next`.
  void Commit(uint8_t* next) {
    next_ = next;
    std::atomic_ref<uint32_t>(header()->committed)
        .store(static_cast<uint32_t>(next - payload()), std::memory_order_release);
  }

  // Appends the chunk to the file and seals it. Afterwards no chunk is begun; after an error the
  // chunk is unchanged.
  int Append();
  // Seals the chunk in its slot; nothing more can be written.
  void SealInPlace();
  // Leaves the chunk to another owner. The next chunk will begin in the slot `slot`.
  void MoveTo(const TraceFile::Slot& slot) {
    place_.bytes = slot.bytes;
    place_.offset = slot.offset;
    next_ = end_ = nullptr;
  }
  // Records in the chunk that one more event was lost after its last event. Returns false if no
  // chunk has been begun.
  bool CountLost() {
    if (!has_chunk()) return false;
    std::atomic_ref<uint64_t> lost(header()->lost_events);
    lost.store(lost.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return true;
  }
  // Marks the chunk as full, because a writer was interrupted and the state of its last record is
  // unknown.
  void Fill() { end_ = next_; }

  // Returns the bytes of the slot that are in use.
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
