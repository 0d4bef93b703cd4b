// ChunkLoader reads chunks of the trace's own file back, without the heap.
//
// Ownership: Create maps its memory, which is never released; the file outlives it. Threads: one at
// a time. Errors: false for an incomplete chunk. No heap. Units: bytes.
#ifndef VRAMSTOW_TRACER_CHUNK_LOADER_H_
#define VRAMSTOW_TRACER_CHUNK_LOADER_H_

#include <cstddef>
#include <cstdint>

#include "tracer/format/event_decoder.h"
#include "tracer/format/layout.h"
#include "tracer/format/split_times.h"
#include "tracer/trace_file.h"

namespace vramstow {

class ChunkLoader {
 public:
  // The size of the caller's memory that Load needs.
  static constexpr size_t kMaxBytes = kSlotBytes + kDecodePadding;

  // Returns null if there is no memory.
  static ChunkLoader* Create(TraceFile* file);

  // Decodes the payload of a sealed chunk into `to`, with the padding that a decoder needs. `to`
  // has room for kMaxBytes. `offset` is the position of the chunk's header.
  bool Load(const ChunkHeader& header, uint64_t offset, uint8_t* to, size_t* size);

 private:
  ChunkLoader() = default;

  bool Decode(const ChunkHeader& header, uint8_t* to);
  bool Decompress(const uint8_t* frame, size_t frame_bytes, uint8_t* to, size_t size);

  TraceFile* file_ = nullptr;
  void* context_ = nullptr;
  TimeSplitter splitter_;
  uint8_t split_[kSlotBytes + kSplitSlack];
  uint8_t encoded_[kSlotBytes];
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CHUNK_LOADER_H_
