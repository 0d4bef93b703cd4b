// The payload of a chunk of events, with the time steps taken out of it.
//
// Idea: what a program does in one iteration it does in the next one, too, so the bytes of its
// events repeat, but for the time steps, which are noise. A compressor finds a repetition only
// between two of them, and spends most of its work on looking. So before a chunk is compressed, the
// low bytes of all time steps are put behind everything else, and the high bytes behind these: what
// is left in front repeats over thousands of bytes. The result is as long as the payload. It is
// described in docs/trace-format.md.
//
// Ownership: none. Threads: one at a time for each object. Errors: false, these bytes are no
// payload of a chunk of kinds kEvents, kTickedEvents or kKeptEvents. No heap. Units: bytes.
#ifndef VRAMSTOW_TRACER_FORMAT_SPLIT_TIMES_H_
#define VRAMSTOW_TRACER_FORMAT_SPLIT_TIMES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tracer/format/event_coding.h"
#include "tracer/format/layout.h"

namespace vramstow {

// So many bytes behind those that count may be looked at, and written to.
inline constexpr size_t kSplitSlack = 8;
static_assert(kSplitSlack <= kEncodeSlack);

// What a compressed chunk with split times has in front of its frame: how many events it has.
using SplitCount = uint32_t;

inline constexpr bool HasSplitTimes(ChunkKind kind) {
  return kind == ChunkKind::kEvents || kind == ChunkKind::kTickedEvents ||
         kind == ChunkKind::kKeptEvents;
}

class TimeSplitter {
 public:
  // Writes the payload, split, at `out`, and counts its events. At most kSlotBytes.
  bool Split(const uint8_t* payload, size_t size, uint8_t* out, SplitCount* events);
  // The way back. `size` bytes of `split` count, and as many of `out` afterwards.
  bool Join(const uint8_t* split, size_t size, SplitCount events, uint8_t* out);

 private:
  // An event has a tag, an amount, an address of one byte at least, and its time step.
  static constexpr size_t kMaxEvents = kSlotBytes / 5;

  void Forget() { std::memset(numbers_, 0, sizeof numbers_); }
  const uint8_t* PassRecord(const uint8_t* in, const uint8_t* end);
  bool NoteShape(const uint8_t* in, const uint8_t* end);
  static const uint8_t* PassNumbers(const uint8_t* in, const uint8_t* end, unsigned count);

  unsigned numbers_[kShapes];  // that an event of the shape ends with
  uint8_t low_[kMaxEvents];
  uint8_t high_[kMaxEvents];
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FORMAT_SPLIT_TIMES_H_
