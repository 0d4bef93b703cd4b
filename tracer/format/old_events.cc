// Decodes the events of format versions 1 and 2, which are not written any more. In these versions
// an event's shape describes the form of its other fields, which are numbers of variable length.
#include <limits>

#include "tracer/format/event_decoder.h"
#include "tracer/format/varint.h"

namespace vramstow {
namespace {

// The fields of a byte that belongs to a shape: three groups of two bits and two single bits.
enum class AddressField : uint8_t {
  kZero = 0,
  kDifference = 1,      // the difference to the last address
  kPageDifference = 2,  // the difference of addresses divided by 512, for a multiple of 512
  kRecent = 3,          // one byte: the index into the recent addresses
};
enum class SizeField : uint8_t {
  kZero = 0,
  kBytes = 1,
  kPages = 2,     // the size in pages of 512 bytes
  kTwoMebis = 3,  // the size in units of 2 MiB
};
constexpr unsigned kSizeFieldShift = 2;
constexpr unsigned kRequestedFieldShift = 4;
constexpr unsigned kObjectFieldBit = 0x40;  // the difference to the last object follows
constexpr unsigned kOffsetFieldBit = 0x80;
constexpr unsigned kTwoMebiShift = 21;

// Reads a number that was divided by 2^shift. Returns null if the product overflows.
const uint8_t* ReadShifted(const uint8_t* in, unsigned shift, uint64_t* value) {
  in = ReadVarint(in, value);
  if (*value > std::numeric_limits<uint64_t>::max() >> shift) return nullptr;
  *value <<= shift;
  return in;
}

}  // namespace

const uint8_t* EventDecoder::DecodeOldEvent(const uint8_t* in, const Shape& shape, Event* event) {
  const uint8_t tag = *in++;
  uint64_t step = 1;
  if ((tag & kOldSequenceBit) != 0) in = ReadVarint(in, &step);
  event->sequence = last_sequence_ + step;
  uint64_t elapsed;
  in = ReadVarint(in, &elapsed);
  event->time_ns = last_time_ + elapsed;
  in = DecodeOldFields(in, shape, event);
  if (in == nullptr || shape.more == 0) return in;
  return SkipNumbers(ReadStack(in, event), shape.more - 1u);
}

const uint8_t* EventDecoder::DecodeOldFields(const uint8_t* in, const Shape& shape, Event* event) {
  const AddressField address_field = static_cast<AddressField>(shape.fields & 3);
  if (address_field == AddressField::kRecent) {
    event->address = last_address_ = recent_[*in++];
  } else if (address_field != AddressField::kZero) {
    const unsigned shift = address_field == AddressField::kPageDifference ? kPageShift : 0;
    uint64_t difference;
    in = ReadVarint(in, &difference);
    event->address = last_address_ = ((last_address_ >> shift) + UnZigZag(difference)) << shift;
    recent_[RecentPlace(last_address_)] = last_address_;
  }
  const SizeField size_field = static_cast<SizeField>(shape.fields >> kSizeFieldShift & 3);
  if (size_field != SizeField::kZero) {
    const unsigned shift = size_field == SizeField::kPages      ? kPageShift
                           : size_field == SizeField::kTwoMebis ? kTwoMebiShift
                                                                : 0;
    in = ReadShifted(in, shift, &event->size);
    if (in == nullptr) return nullptr;
  }
  switch (static_cast<RequestedForm>(shape.fields >> kRequestedFieldShift & 3)) {
    case RequestedForm::kZero:
      break;
    case RequestedForm::kAsSize:
      event->requested = event->size;
      break;
    case RequestedForm::kDifference: {
      uint64_t difference;
      in = ReadVarint(in, &difference);
      event->requested = event->size - UnZigZag(difference);
      break;
    }
    default:
      return nullptr;
  }
  if ((shape.fields & kObjectFieldBit) != 0) {
    uint64_t difference;
    in = ReadVarint(in, &difference);
    event->object = last_object_ = last_object_ + UnZigZag(difference);
  }
  if ((shape.fields & kOffsetFieldBit) != 0) {
    in = ReadVarint(in, &event->offset);
  }
  return in;
}

bool EventDecoder::DefineOldShape(const uint8_t* in, const uint8_t* end) {
  Shape* const shape = BeginShape(in, end);
  return shape != nullptr && DefineCaller(in + 5, end, shape);
}

}  // namespace vramstow
