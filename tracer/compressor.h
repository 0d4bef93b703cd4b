// Compressor encodes a chunk's payload as a Zstandard frame, without the heap.
//
// Idea: a program's events repeat in each iteration, and a quick search finds long repetitions,
// too. So a chunk of events is first compressed quickly: what does not repeat (mainly the time
// steps) is copied. That takes less than half of the instructions, and makes the traces of programs
// a fifth longer. If the result is not short enough, the events hardly repeat. Then this chunk and
// the next ones are compressed thoroughly: what does not repeat is encoded by its frequencies, and
// the three parts of the payload (split_times.h), whose frequencies differ, become separate blocks.
//
// Ownership: Create maps its memory, which is never released. Threads: one at a time. Errors:
// Encode returns the payload unchanged if the result would not be shorter. Units: bytes.
#ifndef VRAMSTOW_TRACER_COMPRESSOR_H_
#define VRAMSTOW_TRACER_COMPRESSOR_H_

#include <cstddef>
#include <cstdint>

#include "tracer/format/layout.h"
#include "tracer/format/split_times.h"

namespace vramstow {

class Compressor {
 public:
  struct Encoded {
    ChunkEncoding encoding;
    const uint8_t* bytes;  // valid until the next call
    uint32_t size;
  };

  // Returns null if there is no memory.
  static Compressor* Create();

  // Destroys a compressor that no thread uses any more.
  static void Destroy(Compressor* compressor);

  // Encodes at most kSlotBytes. The kSplitSlack bytes behind them may be read. Without a compressor
  // the bytes are returned unchanged.
  static Encoded Encode(Compressor* compressor, ChunkKind kind, const uint8_t* bytes,
                        uint32_t size);

 private:
  Compressor() = default;
  static constexpr uint32_t kThoroughChunks = 16;  // until chunks are compressed quickly again

  // Each of these functions writes a frame into result_, from position `before` on, and returns the
  // end of the frame; 0 if the result would not be shorter than the `size` bytes of the payload.
  uint32_t Compress(const uint8_t* bytes, uint32_t size);
  uint32_t CompressEvents(uint32_t size, SplitCount events, size_t before);
  uint32_t CompressQuickly(uint32_t size, size_t before);
  uint32_t CompressThoroughly(uint32_t size, SplitCount events, size_t before);
  size_t RoomFor(uint32_t size) const;

  void* context_ = nullptr;
  size_t work_bytes_ = 0;
  uint32_t thorough_chunks_ = 0;  // chunks of events that are still to be compressed thoroughly
  TimeSplitter splitter_;
  uint8_t split_[kSlotBytes + kSplitSlack];
  uint8_t result_[kSlotBytes];
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_COMPRESSOR_H_
