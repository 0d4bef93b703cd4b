// EventDecoder decodes the bytes of a chunk into events, without trusting any of them.
//
// Idea: event_coding.h describes the encoding; old_events.cc decodes format versions 1 and 2. In a
// ticked chunk an event's sequence is computed from its ticks, and its time by the chunk's clock
// records. The bytes must be followed by kDecodePadding bytes that may be read, so that one check
// per event is enough.
//
// Ownership: reads the caller's bytes, which must not move meanwhile. Threads: one at a time.
// Errors: kDamaged at the first invalid byte, and from then on always. No heap. Units: bytes,
// nanoseconds.
#ifndef VRAMSTOW_TRACER_FORMAT_EVENT_DECODER_H_
#define VRAMSTOW_TRACER_FORMAT_EVENT_DECODER_H_

#include <cstddef>
#include <cstdint>

#include "base/event.h"
#include "tracer/format/event_coding.h"
#include "tracer/format/layout.h"

namespace vramstow {

inline constexpr size_t kDecodePadding = 128;
static_assert(kDecodePadding >= kMaxEventBytes);
static_assert(kDecodePadding >= 1 + 8 * kMaxVarintBytes);  // an old event

enum class DecodeResult { kEvent, kEnd, kDamaged };

class EventDecoder {
 public:
  // Starts with the payload of a chunk, which has `size` bytes.
  void Begin(const ChunkHeader& header, const uint8_t* payload, size_t size);

  // Decodes the next event and sets all of its fields. If the result is not kEvent, *event is
  // meaningless.
  DecodeResult Next(Event* event);

  // Returns the bytes of the payload that were decoded so far.
  size_t consumed() const { return static_cast<size_t>(next_ - begin_); }

  // Returns, in a ticked chunk (a chunk whose events have ticks as times), the number of the last
  // event among those of its buffer.
  uint64_t last_number() const { return last_sequence_; }

 private:
  struct Shape {
    Event event;      // the common fields of this shape's events
    uint64_t region;  // the region of addresses that are not recent
    uint8_t fields;   // the form of other fields, or the numbers that follow
    bool defined;
    bool completes;  // each event is a kFree and its kFreeCompleted
    uint8_t more;    // further numbers at the end
  };
  struct Amount {
    uint64_t size;
    uint64_t requested;
    uint64_t object;
  };

  DecodeResult Take(const uint8_t* in, Event* event);
  DecodeResult DecodeCompleted(Event* event);
  void FromTicks(Event* event);
  const uint8_t* DecodeEvent(const uint8_t* in, const Shape& shape, Event* event);
  const uint8_t* DecodeFollowing(const uint8_t* in, const Shape& shape, Event* event);
  static const uint8_t* ReadStack(const uint8_t* in, Event* event);
  const uint8_t* SkipNumbers(const uint8_t* in, unsigned count) const;

  bool SkipRecords();
  bool DecodeRecord(RecordType type, const uint8_t* in, const uint8_t* end);
  bool DecodeEventRecord(RecordType type, const uint8_t* in, const uint8_t* end);
  bool SetThread(const uint8_t* in, const uint8_t* end);
  bool SetClock(const uint8_t* in, const uint8_t* end);
  Shape* BeginShape(const uint8_t* in, const uint8_t* end);
  bool DefineShape(const uint8_t* in, const uint8_t* end);
  static bool DefineCaller(const uint8_t* in, const uint8_t* end, Shape* shape);
  bool DefineAmount(const uint8_t* in, const uint8_t* end, unsigned size_shift);

  // These functions are in old_events.cc.
  const uint8_t* DecodeOldEvent(const uint8_t* in, const Shape& shape, Event* event);
  const uint8_t* DecodeOldFields(const uint8_t* in, const Shape& shape, Event* event);
  bool DefineOldShape(const uint8_t* in, const uint8_t* end);

  const uint8_t* begin_ = nullptr;
  const uint8_t* next_ = nullptr;
  const uint8_t* end_ = nullptr;
  bool is_ticked_ = false;
  bool is_old_ = false;
  bool completes_ = false;  // the next event is the completion of last_free_
  uint32_t buffer_ = 0;
  uint64_t last_sequence_ = 0;
  uint64_t last_time_ = 0;  // in the stored unit: nanoseconds or ticks
  // The last clock record of a ticked chunk.
  uint64_t clock_ticks_ = 0;
  uint64_t clock_ns_ = 0;
  uint64_t clock_scale_ = 0;  // nanoseconds per tick times 2^32
  uint64_t last_time_ns_ = 0;
  uint64_t last_address_ = 0;  // the last address of an old event or a record
  uint64_t last_object_ = 0;
  uint32_t thread_ = 0;
  Event last_free_;  // the last free of a shape that completes
  Shape shapes_[kShapes];
  uint64_t recent_[kRecentAddresses];
  Amount amounts_[kAmounts];
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FORMAT_EVENT_DECODER_H_
