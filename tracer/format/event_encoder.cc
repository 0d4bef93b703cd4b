#include "tracer/format/event_encoder.h"

namespace vramstow {

unsigned EventEncoder::FindShape(const Event& event, unsigned fields, uint8_t** out) {
  const ShapeKey key = KeyOf(event, fields);
  const uint64_t hash = key.Hash();
  const unsigned first = FirstPlace(hash);
  if (shapes_[first].Is(key)) return first;
  const unsigned second = SecondPlace(hash);
  if (shapes_[second].Is(key)) return second;
  const unsigned place = shapes_[first].rest == 0 ? first : second;
  shapes_[place] = key;
  *out = EncodeShape(*out, place, event, fields);
  return place;
}

uint8_t* EventEncoder::EncodeAny(uint8_t* out, const Event& event, uint64_t sequence,
                                 uint64_t time) {
  const size_t place = RecentPlace(event.address);
  AddressField address_field = AddressField::kZero;
  if (event.address != 0) {
    const bool in_pages = event.address % kPageBytes == 0;
    address_field = recent_[place] == event.address ? AddressField::kRecent
                    : in_pages                      ? AddressField::kPageDifference
                                                    : AddressField::kDifference;
  }
  SizeField size_field = SizeField::kZero;
  if (event.size != 0) {
    size_field = event.size % kTwoMebiBytes == 0 ? SizeField::kTwoMebis
                 : event.size % kPageBytes == 0  ? SizeField::kPages
                                                 : SizeField::kBytes;
  }
  RequestedField requested_field = RequestedField::kZero;
  if (event.requested != 0) {
    requested_field =
        event.requested == event.size ? RequestedField::kAsSize : RequestedField::kDifference;
  }
  const unsigned fields =
      static_cast<unsigned>(address_field) | static_cast<unsigned>(size_field) << kSizeFieldShift |
      static_cast<unsigned>(requested_field) << kRequestedFieldShift |
      (event.object != 0 ? kObjectFieldBit : 0) | (event.offset != 0 ? kOffsetFieldBit : 0) |
      (event.stack != 0 ? 1u << kStackFieldShift : 0);
  const unsigned shape = FindShape(event, fields, &out);

  const uint64_t step = sequence - last_sequence_;
  last_sequence_ = sequence;
  *out++ = static_cast<uint8_t>(kEventBit | (step != 1 ? kSequenceBit : 0) | shape);
  if (step != 1) out = WriteVarint(out, step);
  if (time < last_time_) time = last_time_;
  out = WriteVarint(out, time - last_time_);
  last_time_ = time;

  if (address_field == AddressField::kRecent) {
    *out++ = static_cast<uint8_t>(place);
    last_address_ = event.address;
  } else if (address_field != AddressField::kZero) {
    const unsigned shift = address_field == AddressField::kPageDifference ? kPageShift : 0;
    out = WriteVarint(out, ZigZag((event.address >> shift) - (last_address_ >> shift)));
    recent_[place] = event.address;
    last_address_ = event.address;
  }
  if (size_field != SizeField::kZero) {
    const unsigned shift = size_field == SizeField::kTwoMebis ? kTwoMebiShift
                           : size_field == SizeField::kPages  ? kPageShift
                                                              : 0;
    out = WriteVarint(out, event.size >> shift);
  }
  if (requested_field == RequestedField::kDifference) {
    out = WriteVarint(out, ZigZag(event.size - event.requested));
  }
  if (event.object != 0) {
    out = WriteVarint(out, ZigZag(event.object - last_object_));
    last_object_ = event.object;
  }
  if (event.offset != 0) out = WriteVarint(out, event.offset);
  if (event.stack != 0) out = WriteVarint(out, event.stack);
  return out;
}

uint8_t* EventEncoder::EncodeShape(uint8_t* out, unsigned shape, const Event& event,
                                   unsigned fields) {
  *out++ = static_cast<uint8_t>(RecordType::kShape);
  uint8_t* const length = out++;
  *out++ = static_cast<uint8_t>(shape);
  *out++ = static_cast<uint8_t>(fields);
  *out++ = static_cast<uint8_t>(event.kind);
  *out++ = static_cast<uint8_t>(event.memory);
  *out++ = static_cast<uint8_t>(event.layer);
  // Added 1, wrapping around, because the usual values are -1 and "unknown" is the greatest.
  out = WriteVarint(out, static_cast<uint16_t>(event.device + 1));
  out = WriteVarint(out, event.call);
  out = WriteVarint(out, event.library);
  out = WriteVarint(out, static_cast<uint32_t>(event.result));
  out = WriteVarint(out, event.stream + 1);
  if (fields >> kStackFieldShift != 0) out = WriteVarint(out, 1);  // further numbers: the stack
  *length = OneByteVarint(static_cast<size_t>(out - length - 1));
  return out;
}

uint8_t* EventEncoder::EncodeThread(uint8_t* out, uint32_t thread) {
  *out++ = static_cast<uint8_t>(RecordType::kThread);
  uint8_t* const length = out++;
  out = WriteVarint(out, thread);
  *length = OneByteVarint(static_cast<size_t>(out - length - 1));
  return out;
}

uint8_t* EventEncoder::EncodeClock(uint8_t* out, uint64_t ticks, uint64_t time_ns, uint64_t scale) {
  *out++ = static_cast<uint8_t>(RecordType::kClock);
  uint8_t* const length = out++;
  out = WriteVarint(out, ticks);
  out = WriteVarint(out, time_ns);
  out = WriteVarint(out, scale);
  *length = OneByteVarint(static_cast<size_t>(out - length - 1));
  return out;
}

}  // namespace vramstow
