#include "tracer/format/event_encoder.h"

#include <initializer_list>

namespace vramstow {
namespace {

// Begins a record: writes its type and a placeholder for its length, which EndRecord fills in.
uint8_t* BeginRecord(uint8_t* out, RecordType type) {
  *out = static_cast<uint8_t>(type);
  return out + 2;
}
uint8_t* EndRecord(uint8_t* begin, uint8_t* end) {
  begin[1] = OneByteVarint(static_cast<size_t>(end - begin - 2));
  return end;
}

uint8_t* EncodeNumber(uint8_t* out, RecordType type, uint64_t number) {
  return EndRecord(out, WriteVarint(BeginRecord(out, type), number));
}

}  // namespace

uint8_t* EventEncoder::Encode(uint8_t* out, const Event& event, uint64_t sequence, uint64_t time) {
  if (sequence != last_sequence_ + 1) {
    out = EncodeNumber(out, RecordType::kSequence, sequence - last_sequence_ - 1);
  }
  last_sequence_ = sequence;
  out = EncodeTime(out, &time);
  const bool is_small = event.object >> kSmallObjectBits == 0;
  const auto follows = static_cast<uint8_t>((is_small ? 0 : kObjectFollows) |
                                            (event.offset != 0 ? kOffsetFollows : 0) |
                                            (event.stack != 0 ? kStackFollows : 0));
  const unsigned shape = FindShape(event, follows, &out);
  const unsigned amount =
      FindAmount({event.size, event.requested, is_small ? event.object : 0}, &out);
  out = EmitAddress(out, event.address);
  out = EncodeFront(out, shape, amount, event.address, time);
  if (!is_small) {
    out = WriteVarint(out, ZigZag(event.object - last_object_));
    last_object_ = event.object;
  }
  if (event.offset != 0) out = WriteVarint(out, event.offset);
  if (event.stack != 0) out = WriteVarint(out, event.stack);
  return out;
}

uint8_t* EventEncoder::EncodeCompleting(uint8_t* out) {
  if (last_event_ == nullptr) return out;
  const ShapeKey key = Completing(shapes_[*last_event_ & kShapeMask]);
  const uint64_t hash = key.Hash();
  // The number of the new shape must not be one that a shape in use has.
  unsigned number = FirstShape(hash);
  if (shapes_[number].kind != 0) number = SecondShape(hash);
  if (shapes_[number].kind != 0) return out;
  SetShape(number, key);
  return EmitShape(out, number, key);
}

// Searches for the shape that completes the events of another one. Returns false if there is none.
bool EventEncoder::FindCompleting(unsigned shape) {
  const ShapeKey key = Completing(shapes_[shape]);
  const uint64_t hash = key.Hash();
  for (const unsigned number : {FirstShape(hash), SecondShape(hash)}) {
    if (shapes_[number].Difference(key) != 0) continue;
    completing_[shape] = static_cast<uint8_t>(number + 1);
    return true;
  }
  return false;
}

void EventEncoder::SetShape(unsigned shape, const ShapeKey& key) {
  shapes_[shape] = key;
  std::memset(completing_, 0, sizeof completing_);
}

// Writes a pause record if the time since the last event is too long for the field in the event. If
// *time is before the time of the last event, *time becomes the time of the last event.
uint8_t* EventEncoder::EncodeTime(uint8_t* out, uint64_t* time) {
  if (*time < last_time_) *time = last_time_;
  const uint64_t elapsed = *time - last_time_;
  if (elapsed <= kMaxElapsed) return out;
  // The pause record advances the time to one tick before the event. The event advances it by the
  // last tick, because every event must advance the time by at least one tick.
  last_time_ = *time - 1;
  return EncodeNumber(out, RecordType::kPause, elapsed - 1);
}

unsigned EventEncoder::FindShape(const Event& event, uint8_t follows, uint8_t** out) {
  const ShapeKey key = KeyOf(event, follows);
  const uint64_t hash = key.Hash();
  const unsigned first = FirstShape(hash);
  const unsigned second = SecondShape(hash);
  if (shapes_[first].Difference(key) == 0) return first;
  const bool is_second = shapes_[second].Difference(key) == 0;
  const bool moves = is_second && follows == 0 && MovesToFirst();
  if (is_second && !moves) return second;
  if (moves) shapes_[second] = {};
  const unsigned shape = moves || shapes_[first].kind == 0 ? first : second;
  SetShape(shape, key);
  *out = EmitShape(*out, shape, key);
  return shape;
}

uint8_t* EventEncoder::EmitShape(uint8_t* out, unsigned shape, const ShapeKey& key) {
  const auto part = [](uint64_t word, unsigned shift) {
    return static_cast<uint16_t>(word >> shift);
  };
  uint8_t* const begin = out;
  out = BeginRecord(out, RecordType::kShape);
  *out++ = static_cast<uint8_t>(shape);
  *out++ = key.kind >> 1 & 0x7F;                  // the numbers that follow
  *out++ = static_cast<uint8_t>(key.kind >> 40);  // kind, memory, layer
  *out++ = static_cast<uint8_t>(key.kind >> 48);
  *out++ = static_cast<uint8_t>(key.kind >> 56);
  out = WriteVarint(out, part(key.kind, 8));  // region
  // The fields are written plus one, with wrap-around. Their usual values are -1 and the greatest
  // number ("unknown"), which are then written as 0.
  out = WriteVarint(out, static_cast<uint16_t>(part(key.call, 32) + 1));  // device
  out = WriteVarint(out, part(key.call, 48));                             // call
  out = WriteVarint(out, part(key.kind, 24));                             // library
  out = WriteVarint(out, static_cast<uint32_t>(key.call));                // result
  out = WriteVarint(out, key.stream + 1);
  return EndRecord(begin, out);
}

unsigned EventEncoder::FindAmount(const Amount& amount, uint8_t** out) {
  const uint64_t hash = amount.Hash();
  const unsigned first = FirstAmount(hash);
  const unsigned second = SecondAmount(hash);
  // Number 0 always stands for the empty amount, which most frees have.
  if (amounts_[first].Difference(amount) == 0) return first;
  const bool is_second = amounts_[second].Difference(amount) == 0;
  const bool moves = is_second && first != 0 && MovesToFirst();
  if (is_second && !moves) return second;
  if (moves) amounts_[second] = {};
  // Chooses that one of the two numbers which is not in use. If both are in use, the two are chosen
  // alternately.
  const bool is_first_better =
      amounts_[first].IsZero() || (!amounts_[second].IsZero() && defined_amounts_ % 2 == 0);
  const bool takes_first = first != 0 && (second == 0 || moves || is_first_better);
  const unsigned number = takes_first ? first : second;
  amounts_[number] = amount;
  ++defined_amounts_;
  *out = EmitAmount(*out, number, amount);
  return number;
}

uint8_t* EventEncoder::EmitAmount(uint8_t* out, unsigned number, const Amount& amount) {
  const bool in_pages = amount.size % kPageBytes == 0;
  const RequestedForm form = amount.requested == 0             ? RequestedForm::kZero
                             : amount.requested == amount.size ? RequestedForm::kAsSize
                                                               : RequestedForm::kDifference;
  uint8_t* const begin = out;
  out = BeginRecord(out, in_pages ? RecordType::kPages : RecordType::kAmount);
  *out++ = static_cast<uint8_t>(number);
  out = WriteVarint(out, in_pages ? amount.size >> kPageShift : amount.size);
  out = WriteVarint(out, amount.object << kRequestedFormBits | static_cast<uint64_t>(form));
  if (form == RequestedForm::kDifference) {
    out = WriteVarint(out, ZigZag(amount.size - amount.requested));
  }
  return EndRecord(begin, out);
}

// Makes sure that an event can name the address: the address is a recent one, or is a page in the
// region of the shape. Writes a record if needed.
uint8_t* EventEncoder::EmitAddress(uint8_t* out, uint64_t address) {
  uint64_t& recent = recent_[RecentPlace(address)];
  if (NotAPage(address) == 0 || recent == address) return out;
  out = EncodeNumber(out, RecordType::kAddress, ZigZag(address - last_address_));
  recent = last_address_ = address;
  return out;
}

// Writes an event up to its address, without the numbers that may follow.
uint8_t* EventEncoder::EncodeFront(uint8_t* out, unsigned shape, unsigned amount, uint64_t address,
                                   uint64_t time) {
  const size_t place = RecentPlace(address);
  const bool is_recent = recent_[place] == address;
  last_event_ = out;
  *out++ = static_cast<uint8_t>(kEventBit | (is_recent ? kRecentBit : 0) | shape);
  *out++ = static_cast<uint8_t>(amount);
  if (is_recent) {
    *out++ = static_cast<uint8_t>(place);
  } else {
    const uint32_t page = PageOf(address);
    std::memcpy(out, &page, sizeof page);
    out += sizeof page;
  }
  const uint16_t elapsed = static_cast<uint16_t>(time - last_time_);
  std::memcpy(out, &elapsed, sizeof elapsed);
  recent_[place] = address;
  last_time_ = time;
  return out + sizeof elapsed;
}

uint8_t* EventEncoder::EncodeThread(uint8_t* out, uint32_t thread) {
  return EncodeNumber(out, RecordType::kThread, thread);
}

uint8_t* EventEncoder::EncodeClock(uint8_t* out, uint64_t ticks, uint64_t time_ns, uint64_t scale) {
  uint8_t* const begin = out;
  out = BeginRecord(out, RecordType::kClock);
  out = WriteVarint(out, ticks);
  out = WriteVarint(out, time_ns);
  out = WriteVarint(out, scale);
  return EndRecord(begin, out);
}

}  // namespace vramstow
