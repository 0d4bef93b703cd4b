// EventEncoder encodes events into the bytes of a chunk.
//
// Idea: event_coding.h describes the encoding. Each thread has its own encoder; Begin starts each
// chunk. Encode can encode every event. A fast path, made for nearly all events of a trace, needs
// as few instructions as possible. In it, ShortOf does everything that does not depend on the time,
// while the processor is still reading the counter, and WriteShort does the rest.
//
// Ownership: writes to the caller's memory and retains no reference to it. Threads: one at a time.
// Errors: none; the caller provides kMaxEncodedBytes and kEncodeSlack. Units: bytes, nanoseconds.
// No heap.
#ifndef VRAMSTOW_TRACER_FORMAT_EVENT_ENCODER_H_
#define VRAMSTOW_TRACER_FORMAT_EVENT_ENCODER_H_

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/event.h"
#include "tracer/format/event_coding.h"
#include "tracer/format/layout.h"
#include "tracer/format/varint.h"

namespace vramstow {

class EventEncoder {
 public:
  // Starts a chunk. The chunk's header must contain base_sequence and base_time.
  void Begin(uint64_t base_sequence, uint64_t base_time) {
    std::memset(this, 0, sizeof *this);
    last_sequence_ = base_sequence;
    last_time_ = base_time;
  }

  // Writes the event at `out` with the sequence and the time (nanoseconds or ticks) that are
  // passed. The event's own sequence, time and thread are ignored. `sequence` is greater than that
  // of the event before. A time before the last one is replaced by the last one; ticks must
  // increase. Returns the address after the event.
  uint8_t* Encode(uint8_t* out, const Event& event, uint64_t sequence, uint64_t time);

  // An encoded event without its time.
  struct Short {
    uint64_t bytes;  // the bytes before the time
    uint64_t size;   // number of bytes, including the time
    uint64_t address;
    uint64_t place;       // index of the address in the table
    uint64_t is_general;  // not 0 if the event needs Encode
    uint64_t stack;       // the stack that follows; 0 for none
  };
  // Encodes the event in the short form, which consists of the numbers of its shape and amount, its
  // address and its time. The form is possible under three conditions. No record is needed before
  // the event, and nothing but a stack follows it. The event's shape has the first of its two
  // possible numbers. The event's amount has the first number or, if `kSecond` is true, the second.
  template <bool kSecond = false>
  Short ShortOf(const Event& event) const;
  // Writes the event with the next sequence. Returns null and changes nothing if the event does not
  // have the short form, or if its time is not later than the last one, or too much later.
  uint8_t* WriteShort(uint8_t* out, const Short& event, uint64_t time);

  // Turns the last event, a kFree with a time in ticks, into two: a kFreeCompleted follows one tick
  // later, with the next sequence. Only the number of the event's shape changes. Returns false, and
  // changes nothing, if the chunk has no such event, or if EncodeCompleting has not defined the
  // shape for both.
  bool CompleteLast();
  // Defines the shape by which CompleteLast can turn an event like the last one into two events, if
  // a number for a shape is free. Writes at most kMaxShapeBytes.
  uint8_t* EncodeCompleting(uint8_t* out);

  uint64_t last_sequence() const { return last_sequence_; }
  uint64_t last_time() const { return last_time_; }

  // Writes a record which says that the next events belong to `thread`. It has at most 2 + 5 bytes.
  static uint8_t* EncodeThread(uint8_t* out, uint32_t thread);
  // Writes a record which says that `ticks` correspond to `time_ns`, and that 2^32 ticks take
  // `scale` nanoseconds from then on. It has at most kMaxClockBytes.
  static uint8_t* EncodeClock(uint8_t* out, uint64_t ticks, uint64_t time_ns, uint64_t scale);

 private:
  // The key of an event's shape: all fields that the shape contains.
  struct ShapeKey {
    uint64_t stream;
    uint64_t call;  // result, device, call
    uint64_t kind;  // library, kind, memory, layer, region, the numbers that follow; never 0

    // Returns 0 if the keys are equal.
    uint64_t Difference(const ShapeKey& other) const {
      return (stream ^ other.stream) | (call ^ other.call) | (kind ^ other.kind);
    }
    uint64_t Hash() const { return (stream ^ std::rotl(call, 32) ^ kind) * kHashFactor; }
  };
  static ShapeKey KeyOf(const Event& event, uint64_t follows);

  struct Amount {
    uint64_t size;
    uint64_t requested;
    uint64_t object;

    uint64_t Difference(const Amount& other) const {
      return (size ^ other.size) | (requested ^ other.requested) | (object ^ other.object);
    }
    uint64_t Hash() const { return (size ^ std::rotl(requested, 23) ^ object << 7) * kHashFactor; }
    // True for the empty amount, which consists of three zeros. At the beginning of a chunk every
    // number of an amount stands for the empty one.
    bool IsZero() const { return (size | requested | object) == 0; }
  };

  // Each shape or amount can have one of two numbers, so that two shapes that are in use rarely
  // replace each other. The short form uses only the first number. So every 64th time that a
  // second number is used, its shape or amount is moved to its first number; this happens most to
  // those that are often used.
  static constexpr uint64_t kSecondsUntilMove = 64;
  static unsigned FirstShape(uint64_t hash) { return static_cast<unsigned>(hash >> 58); }
  static unsigned SecondShape(uint64_t hash) {
    return FirstShape(hash) ^ (1 + static_cast<unsigned>(hash >> 40 & 31));
  }
  static_assert(kShapes == size_t{1} << (64 - 58));
  static ShapeKey Completing(ShapeKey key) {
    key.kind |= uint64_t{kCompletes} << 1;
    return key;
  }
  static unsigned FirstAmount(uint64_t hash) { return static_cast<unsigned>(hash >> 56); }
  static unsigned SecondAmount(uint64_t hash) {
    return FirstAmount(hash) ^ (1 + static_cast<unsigned>(hash >> 40 & 127));
  }
  static_assert(kAmounts == size_t{1} << (64 - 56));

  // Returns a word with all bits set if the condition is true, else 0. The compiler needs no branch
  // for it.
  static uint64_t All(bool condition) { return uint64_t{0} - uint64_t{condition}; }

  uint8_t* EncodeTime(uint8_t* out, uint64_t* time);
  bool MovesToFirst() { return ++seconds_ % kSecondsUntilMove == 0; }
  unsigned FindShape(const Event& event, uint8_t follows, uint8_t** out);
  void SetShape(unsigned shape, const ShapeKey& key);
  bool FindCompleting(unsigned shape);
  static uint8_t* EmitShape(uint8_t* out, unsigned shape, const ShapeKey& key);
  unsigned FindAmount(const Amount& amount, uint8_t** out);
  static uint8_t* EmitAmount(uint8_t* out, unsigned number, const Amount& amount);
  uint8_t* EmitAddress(uint8_t* out, uint64_t address);
  uint8_t* EncodeFront(uint8_t* out, unsigned shape, unsigned amount, uint64_t address,
                       uint64_t time);

  uint64_t last_sequence_;
  uint64_t last_time_;
  uint8_t* last_event_;       // beginning of the last event; null if there is none yet
  uint64_t last_object_;      // the last object that followed an event
  uint64_t last_address_;     // the last address in a record
  uint64_t defined_amounts_;  // number of defined amounts
  uint64_t seconds_;          // shapes and amounts found under their second numbers
  ShapeKey shapes_[kShapes];
  // For each shape of a kFree one plus the number of the shape that completes it; 0 if that number
  // has not been searched for since a shape was defined.
  uint8_t completing_[kShapes];
  uint64_t recent_[kRecentAddresses];
  Amount amounts_[kAmounts];
};

__attribute__((always_inline)) inline EventEncoder::ShapeKey EventEncoder::KeyOf(const Event& event,
                                                                                 uint64_t follows) {
  static_assert((kFollowsMask | kCompletes) < 1 << 7);
  return {event.stream,
          uint64_t{static_cast<uint32_t>(event.result)} |
              uint64_t{static_cast<uint16_t>(event.device)} << 32 | uint64_t{event.call} << 48,
          uint64_t{1} | follows << 1 | uint64_t{RegionOf(event.address)} << 8 |
              uint64_t{event.library} << 24 | uint64_t{static_cast<uint8_t>(event.kind)} << 40 |
              uint64_t{static_cast<uint8_t>(event.memory)} << 48 |
              uint64_t{static_cast<uint8_t>(event.layer)} << 56};
}

template <bool kSecond>
__attribute__((always_inline)) inline EventEncoder::Short EventEncoder::ShortOf(
    const Event& event) const {
  const ShapeKey key = KeyOf(event, kStackFollows & All(event.stack != 0));
  const unsigned shape = FirstShape(key.Hash());
  const Amount amount = {event.size, event.requested, event.object};
  const uint64_t hash = amount.Hash();
  const unsigned number = kSecond ? SecondAmount(hash) : FirstAmount(hash);
  const uint64_t address = event.address;
  const uint64_t place = RecentPlace(address);
  const uint64_t is_recent = All(recent_[place] == address);
  const uint64_t page = PageOf(address);
  const uint64_t where = page ^ ((page ^ place) & is_recent);
  return {kEventBit | (kRecentBit & is_recent) | shape | uint64_t{number} << 8 | where << 16,
          8 - (3 & is_recent),
          address,
          place,
          shapes_[shape].Difference(key) | amounts_[number].Difference(amount) |
              (NotAPage(address) & ~is_recent) | event.object >> kSmallObjectBits | event.offset,
          event.stack};
}

__attribute__((always_inline)) inline uint8_t* EventEncoder::WriteShort(uint8_t* out,
                                                                        const Short& event,
                                                                        uint64_t time) {
  const uint64_t elapsed = time - last_time_;
  if (event.is_general != 0 || elapsed - 1 >= kMaxElapsed) [[unlikely]]
    return nullptr;
  std::memcpy(out, &event.bytes, sizeof event.bytes);
  last_event_ = out;
  out += event.size;
  const uint16_t step = static_cast<uint16_t>(elapsed);
  std::memcpy(out - sizeof step, &step, sizeof step);
  recent_[event.place] = event.address;
  ++last_sequence_;
  last_time_ = time;
  return event.stack == 0 ? out : WriteVarint(out, event.stack);
}

__attribute__((always_inline)) inline bool EventEncoder::CompleteLast() {
  if (last_event_ == nullptr) [[unlikely]]
    return false;
  const unsigned shape = *last_event_ & kShapeMask;
  if (completing_[shape] == 0 && !FindCompleting(shape)) [[unlikely]]
    return false;
  const unsigned completing = completing_[shape] - 1u;
  // A concurrent reader of the chunk sees either the old or the new byte.
  std::atomic_ref<uint8_t>(*last_event_)
      .store(static_cast<uint8_t>(*last_event_ ^ shape ^ completing), std::memory_order_relaxed);
  ++last_sequence_;
  ++last_time_;
  last_event_ = nullptr;
  return true;
}

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FORMAT_EVENT_ENCODER_H_
