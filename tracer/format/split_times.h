// TimeSplitter stores the time steps of a chunk's events separately from the rest of the payload.
//
// Idea: a program does the same in each iteration, so the bytes of its events repeat, except for
// the time steps, which are noise. A compressor would find repeated bytes only between two time
// steps, and would spend most of its time searching. So before a chunk is compressed, the low bytes
// of all time steps are moved behind everything else, and the high bytes behind these. The bytes in
// front then repeat over thousands of bytes. The result is as long as the payload. The form is
// described in docs/trace-format.md.
//
// Ownership: none. Threads: one at a time for each object. Errors: false if the bytes are no
// payload of a chunk of kinds kEvents, kTickedEvents or kKeptEvents. No heap. Units: bytes.
#ifndef VRAMSTOW_TRACER_FORMAT_SPLIT_TIMES_H_
#define VRAMSTOW_TRACER_FORMAT_SPLIT_TIMES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tracer/format/event_coding.h"
#include "tracer/format/layout.h"

namespace vramstow {

// The functions may read this many bytes behind the payload, and write to them.
inline constexpr size_t kSplitSlack = 8;
static_assert(kSplitSlack <= kEncodeSlack);

// The number of events, which precedes the frame of a compressed chunk with split times.
using SplitCount = uint32_t;

inline constexpr bool HasSplitTimes(ChunkKind kind) {
  return kind == ChunkKind::kEvents || kind == ChunkKind::kTickedEvents ||
         kind == ChunkKind::kKeptEvents;
}

class TimeSplitter {
 public:
  // Writes the split payload at `out`, and counts its events. Writes at most kSlotBytes.
  bool Split(const uint8_t* payload, size_t size, uint8_t* out, SplitCount* events);
  // Reverses Split. `split` has `size` bytes, and the same number of bytes is written to `out`.
  bool Join(const uint8_t* split, size_t size, SplitCount events, uint8_t* out);

 private:
  // The largest number of events in a chunk. An event has at least five bytes: a tag, an amount, an
  // address of at least one byte, and a time step.
  static constexpr size_t kMaxEvents = kSlotBytes / 5;

  // How SplitQuickly treats an event: the number of bytes before its time step, and kHasNumber if
  // one number follows. kSlow and above is not for that function.
  static constexpr uint8_t kHasNumber = 8;
  static constexpr uint8_t kSlow = 16;

  void Forget();
  void WriteSteps(uint8_t* out, size_t count) const;
  void SplitQuickly(const uint8_t* end, const uint8_t** from, uint8_t** to, size_t* events);
  const uint8_t* PassRecord(const uint8_t* in, const uint8_t* end);
  bool NoteShape(const uint8_t* in, const uint8_t* end);
  static const uint8_t* PassNumbers(const uint8_t* in, const uint8_t* end, unsigned count);

  unsigned numbers_[kShapes];  // the numbers at the end of an event, by shape
  uint8_t ways_[256];          // by the first byte of an event or record
  uint8_t steps_[2 * kMaxEvents];
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FORMAT_SPLIT_TIMES_H_
