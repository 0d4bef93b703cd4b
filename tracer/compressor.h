// Compressor encodes a chunk's payload as a Zstandard frame, without the heap.
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
  uint32_t Compress(const uint8_t* bytes, uint32_t size, size_t before);

  void* context_ = nullptr;
  size_t work_bytes_ = 0;
  TimeSplitter splitter_;
  uint8_t split_[kSlotBytes + kSplitSlack];
  uint8_t result_[kSlotBytes];
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_COMPRESSOR_H_
