// Compressor: one chunk's payload as a Zstandard frame, without the heap.
//
// Ownership: lies in memory of its own that Create makes and nobody gives back. Threads: one at a
// time. Errors: Compress returns 0 where the result would not be shorter. Units: bytes.
#ifndef VRAMSTOW_TRACER_COMPRESSOR_H_
#define VRAMSTOW_TRACER_COMPRESSOR_H_

#include <cstddef>
#include <cstdint>

#include "tracer/format/layout.h"

namespace vramstow {

class Compressor {
 public:
  // Null: there is no memory for it.
  static Compressor* Create();

  // Nobody uses it any more.
  static void Destroy(Compressor* compressor);

  // Compresses at most kSlotBytes; returns how long the result() is.
  uint32_t Compress(const uint8_t* bytes, uint32_t size);
  const uint8_t* result() const { return result_; }

 private:
  Compressor() = default;

  void* context_ = nullptr;
  size_t work_bytes_ = 0;
  uint8_t result_[kSlotBytes];
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_COMPRESSOR_H_
