// EventEncoder: turns events into the bytes of a chunk.
//
// Idea: see event_coding.h. One encoder per thread; Begin at the start of each chunk. Encode is on
// the way of every event: it is the short way for the events that make up nearly all of a trace,
// without loops and nearly without branches, because which event comes next is nothing that a
// processor can guess. Whatever is unusual goes through EncodeAny, which can do everything.
//
// Ownership: writes to the caller's memory, keeps nothing of it. Threads: one at a time. Errors:
// none; the caller provides kMaxEncodedBytes and kEncodeSlack. Units: bytes, nanoseconds. No heap.
#ifndef VRAMSTOW_TRACER_FORMAT_EVENT_ENCODER_H_
#define VRAMSTOW_TRACER_FORMAT_EVENT_ENCODER_H_

#include <cstdint>
#include <cstring>

#include "base/event.h"
#include "tracer/format/event_coding.h"
#include "tracer/format/layout.h"

namespace vramstow {

class EventEncoder {
 public:
  // Starts a chunk. Its header must say base_sequence and base_time.
  void Begin(uint64_t base_sequence, uint64_t base_time) {
    std::memset(this, 0, sizeof *this);
    last_sequence_ = base_sequence;
    last_time_ = base_time;
  }

  // Writes the event at `out` with this sequence, which is greater than the one before, and this
  // time (nanoseconds or ticks); its own are ignored, and so is its thread. A time before the last
  // one counts as the last one. Returns the byte after it.
  uint8_t* Encode(uint8_t* out, const Event& event, uint64_t sequence, uint64_t time);

  uint64_t last_sequence() const { return last_sequence_; }
  uint64_t last_time() const { return last_time_; }

  // Writes that the events from here on are of `thread`; at most 2 + 5 bytes.
  static uint8_t* EncodeThread(uint8_t* out, uint32_t thread);
  // Writes that at `ticks` it was `time_ns`, and that 2^32 ticks from there on take `scale`
  // nanoseconds; at most kMaxClockBytes.
  static uint8_t* EncodeClock(uint8_t* out, uint64_t ticks, uint64_t time_ns, uint64_t scale);

 private:
  // What an event's shape is found by: all of its fields that the shape gives.
  struct ShapeKey {
    uint64_t names;  // device, call, library, kind, memory
    uint64_t stream;
    uint64_t rest;  // result, layer, how the fields are written; never 0

    bool Is(const ShapeKey& other) const {
      return ((names ^ other.names) | (stream ^ other.stream) | (rest ^ other.rest)) == 0;
    }
    uint64_t Hash() const { return (names ^ stream ^ rest << 21) * 0x9E3779B97F4A7C15u; }
  };
  static ShapeKey KeyOf(const Event& event, unsigned fields);
  // The two numbers that a shape may have. A second one makes it rare that two shapes in use drive
  // each other out.
  static unsigned FirstPlace(uint64_t hash) { return static_cast<unsigned>(hash >> 58); }
  static unsigned SecondPlace(uint64_t hash) {
    return FirstPlace(hash) ^ (1 + static_cast<unsigned>(hash >> 40 & 31));
  }
  static_assert(kShapes == size_t{1} << (64 - 58));

  // All bits or none: for what a compiler would make a branch of.
  static uint64_t All(bool condition) { return uint64_t{0} - uint64_t{condition}; }

  uint8_t* EncodeAny(uint8_t* out, const Event& event, uint64_t sequence, uint64_t time);
  unsigned FindShape(const Event& event, unsigned fields, uint8_t** out);
  static uint8_t* EncodeShape(uint8_t* out, unsigned shape, const Event& event, unsigned fields);

  uint64_t last_sequence_;
  uint64_t last_time_;
  uint64_t last_address_;
  uint64_t last_object_;
  ShapeKey shapes_[kShapes];
  uint64_t recent_[kRecentAddresses];
};

inline EventEncoder::ShapeKey EventEncoder::KeyOf(const Event& event, unsigned fields) {
  return {uint64_t{static_cast<uint16_t>(event.device)} | uint64_t{event.call} << 16 |
              uint64_t{event.library} << 32 | uint64_t{static_cast<uint8_t>(event.kind)} << 48 |
              uint64_t{static_cast<uint8_t>(event.memory)} << 56,
          event.stream,
          uint64_t{static_cast<uint32_t>(event.result)} |
              uint64_t{static_cast<uint8_t>(event.layer)} << 32 | uint64_t{fields} << 40 |
              uint64_t{1} << 63};
}

__attribute__((always_inline)) inline uint8_t* EventEncoder::Encode(uint8_t* out,
                                                                    const Event& event,
                                                                    uint64_t sequence,
                                                                    uint64_t time) {
  // The short way is for: an address in whole pages, a size that is zero or in whole pages, no
  // offset, and a shape that this chunk has. So are the pool's blocks, whatever was asked for.
  const uint64_t address = event.address;
  const uint64_t size = event.size;
  const uint64_t requested = event.requested;
  const bool has_size = size != 0;
  const bool is_unusual =
      ((address | size) & (kPageBytes - 1)) != 0 || address == 0 || event.offset != 0;
  if (is_unusual) [[unlikely]]
    return EncodeAny(out, event, sequence, time);

  const size_t place = RecentPlace(address);
  const bool is_recent = recent_[place] == address;
  const bool in_mebis = (size & (kTwoMebiBytes - 1)) == 0;
  const unsigned address_field = 2 + unsigned{is_recent};
  const unsigned size_field = (2 + unsigned{in_mebis}) << kSizeFieldShift;
  const bool is_requested = requested != 0;
  const bool is_rounded = is_requested & (requested != size);
  const bool has_object = event.object != 0;
  const bool has_stack = event.stack != 0;
  const unsigned fields = address_field | static_cast<unsigned>(size_field & All(has_size)) |
                          (unsigned{is_requested} + unsigned{is_rounded}) << kRequestedFieldShift |
                          unsigned{has_object} << kObjectFieldShift |
                          unsigned{has_stack} << kStackFieldShift;
  const ShapeKey key = KeyOf(event, fields);
  const uint64_t hash = key.Hash();
  // Which of the two it is does not change while the shape is in use, so it is guessed well.
  unsigned shape = FirstPlace(hash);
  bool is_known = shapes_[shape].Is(key);
  if (!is_known) [[unlikely]] {
    shape = SecondPlace(hash);
    is_known = shapes_[shape].Is(key);
  }
  const uint64_t elapsed = time - last_time_;
  const uint64_t difference = ZigZag((address >> kPageShift) - (last_address_ >> kPageShift));
  const uint64_t rounding = ZigZag(size - requested) & All(is_rounded);
  const uint64_t object = ZigZag(event.object - last_object_) & All(has_object);
  // A number that takes nine bytes, and a time that went back, show in the top bits.
  const bool is_long = (elapsed | difference | rounding | object) >> kShortVarintBits != 0;
  if (!is_known | is_long) [[unlikely]] {
    return EncodeAny(out, event, sequence, time);
  }

  const uint64_t step = sequence - last_sequence_;
  if (step == 1) [[likely]] {
    *out++ = static_cast<uint8_t>(kEventBit | shape);
  } else {
    *out++ = static_cast<uint8_t>(kEventBit | kSequenceBit | shape);
    out = WriteVarint(out, step);
  }
  out += WriteShortVarint(out, elapsed);
  // The place of a recent address, or the difference: eight bytes are written either way.
  size_t address_bytes = WriteShortVarint(out, difference);
  uint64_t word;
  std::memcpy(&word, out, sizeof word);
  word ^= (word ^ place) & All(is_recent);
  std::memcpy(out, &word, sizeof word);
  address_bytes ^= (address_bytes ^ 1) & All(is_recent);
  out += address_bytes;
  const size_t size_bytes = WriteShortVarint(out, size >> (in_mebis ? kTwoMebiShift : kPageShift));
  out += size_bytes & All(has_size);
  out += WriteShortVarint(out, rounding) & All(is_rounded);
  out += WriteShortVarint(out, object) & All(has_object);
  out += WriteShortVarint(out, event.stack) & All(has_stack);

  recent_[place] = address;
  last_object_ ^= (last_object_ ^ event.object) & All(has_object);
  last_address_ = address;
  last_sequence_ = sequence;
  last_time_ = time;
  return out;
}

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FORMAT_EVENT_ENCODER_H_
