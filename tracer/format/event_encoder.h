// EventEncoder: turns events into the bytes of a chunk.
//
// Idea: see event_coding.h. One encoder per thread; Begin at the start of each chunk. It is on the
// way of every event: no call, no loop but those over the bytes of a number.
//
// Ownership: writes to the caller's memory, keeps nothing of it. Threads: one at a time. Errors:
// none; the caller provides kMaxEncodedBytes. Units: bytes, nanoseconds. No heap.
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
  // Starts a chunk. Its header must say base_sequence and base_time_ns.
  void Begin(uint64_t base_sequence, uint64_t base_time_ns) {
    std::memset(this, 0, sizeof *this);
    last_sequence_ = base_sequence;
    last_time_ns_ = base_time_ns;
  }

  // Writes the event at `out` with this sequence, which is greater than the one before, and this
  // time; its own are ignored, and so is its thread. A time before the last one counts as the last
  // one. Returns the byte after it.
  uint8_t* Encode(uint8_t* out, const Event& event, uint64_t sequence, uint64_t time_ns);

  // Writes that the events from here on are of `thread`; at most 2 + 5 bytes.
  static uint8_t* EncodeThread(uint8_t* out, uint32_t thread);

 private:
  // What an event's shape is found by: all of its fields that the shape gives.
  struct ShapeKey {
    uint64_t names;  // device, call, library, kind, memory
    uint64_t stream;
    uint64_t rest;  // result, layer, how the fields are written; never 0
    bool operator==(const ShapeKey&) const = default;
  };

  unsigned FindShape(const Event& event, unsigned fields, uint8_t** out);
  static uint8_t* EncodeShape(uint8_t* out, unsigned shape, const Event& event, unsigned fields);

  uint64_t last_sequence_;
  uint64_t last_time_ns_;
  uint64_t last_address_;
  uint64_t last_object_;
  ShapeKey shapes_[kShapes];
  uint64_t recent_[kRecentAddresses];
};

inline unsigned EventEncoder::FindShape(const Event& event, unsigned fields, uint8_t** out) {
  const uint64_t names = uint64_t{static_cast<uint16_t>(event.device)} |
                         uint64_t{event.call} << 16 | uint64_t{event.library} << 32 |
                         uint64_t{static_cast<uint8_t>(event.kind)} << 48 |
                         uint64_t{static_cast<uint8_t>(event.memory)} << 56;
  const uint64_t rest = uint64_t{static_cast<uint32_t>(event.result)} |
                        uint64_t{static_cast<uint8_t>(event.layer)} << 32 | uint64_t{fields} << 40 |
                        uint64_t{1} << 63;
  const ShapeKey key = {names, event.stream, rest};
  const uint64_t hash = (names ^ event.stream ^ rest << 21) * 0x9E3779B97F4A7C15u;
  const unsigned shape = static_cast<unsigned>(hash >> 58);
  if (shapes_[shape] == key) [[likely]]
    return shape;
  // A second place makes it rare that two shapes in use drive each other out.
  const unsigned other = shape ^ (1 + static_cast<unsigned>(hash >> 40 & 31));
  if (shapes_[other] == key) return other;
  const unsigned place = shapes_[shape].rest == 0 ? shape : other;
  shapes_[place] = key;
  *out = EncodeShape(*out, place, event, fields);
  return place;
}

inline uint8_t* EventEncoder::Encode(uint8_t* out, const Event& event, uint64_t sequence,
                                     uint64_t time_ns) {
  // First how each field is going to be written, because that is part of the shape.
  unsigned fields = 0;
  const uint64_t address = event.address;
  const size_t place = RecentPlace(address);
  AddressField address_field = AddressField::kZero;
  if (address != 0) {
    if (recent_[place] == address) {
      address_field = AddressField::kRecent;
    } else {
      const bool whole_pages = (address & ((1u << kPageShift) - 1)) == 0;
      address_field = whole_pages ? AddressField::kPageDifference : AddressField::kDifference;
    }
  }
  SizeField size_field = SizeField::kZero;
  unsigned size_shift = 0;
  if (event.size != 0) {
    size_field = SizeField::kBytes;
    if ((event.size & ((1u << kPageShift) - 1)) == 0) {
      const bool mebis = (event.size & ((1u << kTwoMebiShift) - 1)) == 0;
      size_field = mebis ? SizeField::kTwoMebis : SizeField::kPages;
      size_shift = mebis ? kTwoMebiShift : kPageShift;
    }
  }
  RequestedField requested_field = RequestedField::kZero;
  if (event.requested != 0) {
    requested_field =
        event.requested == event.size ? RequestedField::kAsSize : RequestedField::kDifference;
  }
  fields = static_cast<unsigned>(address_field) |
           static_cast<unsigned>(size_field) << kSizeFieldShift |
           static_cast<unsigned>(requested_field) << kRequestedFieldShift |
           (event.object != 0 ? kObjectFieldBit : 0) | (event.offset != 0 ? kOffsetFieldBit : 0);

  const unsigned shape = FindShape(event, fields, &out);
  const uint64_t step = sequence - last_sequence_;
  last_sequence_ = sequence;
  if (step == 1) [[likely]] {
    *out++ = static_cast<uint8_t>(kEventBit | shape);
  } else {
    *out++ = static_cast<uint8_t>(kEventBit | kSequenceBit | shape);
    out = WriteVarint(out, step);
  }
  if (time_ns < last_time_ns_) time_ns = last_time_ns_;
  out = WriteVarint(out, time_ns - last_time_ns_);
  last_time_ns_ = time_ns;

  if (address_field == AddressField::kRecent) {
    *out++ = static_cast<uint8_t>(place);
    last_address_ = address;
  } else if (address_field != AddressField::kZero) {
    const bool pages = address_field == AddressField::kPageDifference;
    const unsigned shift = pages ? kPageShift : 0;
    out = WriteVarint(out, ZigZag((address >> shift) - (last_address_ >> shift)));
    recent_[place] = address;
    last_address_ = address;
  }
  if (size_field != SizeField::kZero) out = WriteVarint(out, event.size >> size_shift);
  if (requested_field == RequestedField::kDifference) {
    out = WriteVarint(out, ZigZag(event.size - event.requested));
  }
  if (event.object != 0) {
    out = WriteVarint(out, ZigZag(event.object - last_object_));
    last_object_ = event.object;
  }
  if (event.offset != 0) out = WriteVarint(out, event.offset);
  return out;
}

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FORMAT_EVENT_ENCODER_H_
