#include "tracer/format/event_decoder.h"

#include <cstring>
#include <limits>

#include "tracer/format/varint.h"

namespace vramstow {
namespace {

// A number that must not be over `limit`; null if it is, or if it does not end before `end`.
const uint8_t* ReadUpTo(const uint8_t* in, const uint8_t* end, uint64_t limit, uint64_t* value) {
  in = ReadVarint(in, end, value);
  return in != nullptr && *value <= limit ? in : nullptr;
}

// A number divided by 2^shift; null if multiplied again it is too great.
const uint8_t* ReadShifted(const uint8_t* in, unsigned shift, uint64_t* value) {
  in = ReadVarint(in, value);
  if (*value > std::numeric_limits<uint64_t>::max() >> shift) return nullptr;
  *value <<= shift;
  return in;
}

}  // namespace

void EventDecoder::Begin(const ChunkHeader& header, const uint8_t* payload, size_t size) {
  begin_ = next_ = payload;
  end_ = payload + size;
  is_ticked_ = header.kind == static_cast<uint8_t>(ChunkKind::kTickedEvents);
  buffer_ = header.buffer;
  last_sequence_ = header.base_sequence;
  last_time_ = header.base_time;
  clock_ticks_ = clock_ns_ = clock_scale_ = last_time_ns_ = 0;
  last_address_ = 0;
  last_object_ = 0;
  thread_ = header.thread;
  for (Shape& shape : shapes_) shape.defined = false;
  std::memset(recent_, 0, sizeof recent_);
}

DecodeResult EventDecoder::Next(Event* event) {
  if (next_ < end_ && *next_ < kEventBit && !SkipRecords()) return DecodeResult::kDamaged;
  if (next_ == end_) return DecodeResult::kEnd;
  const uint8_t tag = *next_;
  const Shape& shape = shapes_[tag & kShapeMask];
  if (!shape.defined) return DecodeResult::kDamaged;
  *event = shape.event;
  const uint8_t* in = next_ + 1;
  uint64_t step = 1;
  if ((tag & kSequenceBit) != 0) {
    in = ReadVarint(in, &step);
  }
  event->sequence = last_sequence_ + step;
  if (event->sequence <= last_sequence_) return DecodeResult::kDamaged;
  uint64_t elapsed;
  in = ReadVarint(in, &elapsed);
  event->time_ns = last_time_ + elapsed;
  // Ticks rise, and must leave room for what tells buffers apart.
  const uint64_t least = last_time_ + (is_ticked_ ? 1 : 0);
  if (event->time_ns < least || elapsed > ~last_time_) return DecodeResult::kDamaged;
  if (is_ticked_ && event->time_ns >> (64 - kBufferBits) != 0) return DecodeResult::kDamaged;
  event->thread = thread_;
  in = DecodeFields(in, shape, event);
  if (in == nullptr || in > end_) return DecodeResult::kDamaged;
  last_sequence_ = event->sequence;
  last_time_ = event->time_ns;
  next_ = in;
  if (is_ticked_) FromTicks(event);
  return DecodeResult::kEvent;
}

void EventDecoder::FromTicks(Event* event) {
  const uint64_t ticks = event->time_ns;
  event->sequence = OrderOf(ticks, buffer_);
  __extension__ using Wide = unsigned __int128;
  const uint64_t since = ticks < clock_ticks_ ? 0 : ticks - clock_ticks_;
  const Wide time_ns = clock_ns_ + ((Wide{since} * clock_scale_) >> 32);
  // What was read of two clocks at once is not exact: a later reading may seem to go back a little.
  if (time_ns > last_time_ns_ && time_ns <= std::numeric_limits<uint64_t>::max()) {
    last_time_ns_ = static_cast<uint64_t>(time_ns);
  }
  event->time_ns = last_time_ns_;
}

const uint8_t* EventDecoder::DecodeFields(const uint8_t* in, const Shape& shape, Event* event) {
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
  switch (static_cast<RequestedField>(shape.fields >> kRequestedFieldShift & 3)) {
    case RequestedField::kZero:
      break;
    case RequestedField::kAsSize:
      event->requested = event->size;
      break;
    case RequestedField::kDifference: {
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
  if (shape.more != 0) {
    uint64_t stack;
    in = ReadVarint(in, &stack);
    event->stack = stack <= std::numeric_limits<uint32_t>::max() ? static_cast<uint32_t>(stack) : 0;
  }
  // Only a later version's events get here; there may be more of these than the padding allows.
  for (unsigned i = 1; i < shape.more; ++i) {
    uint64_t ignored;
    in = in < end_ ? ReadVarint(in, end_, &ignored) : nullptr;
    if (in == nullptr) return nullptr;
  }
  return in;
}

// Takes all records up to the next event or the end.
bool EventDecoder::SkipRecords() {
  while (next_ < end_ && *next_ < kEventBit) {
    const RecordType type = static_cast<RecordType>(*next_);
    uint64_t length;
    const uint8_t* in = ReadVarint(next_ + 1, end_, &length);
    if (type == RecordType::kNone || in == nullptr || length > static_cast<uint64_t>(end_ - in)) {
      return false;
    }
    const uint8_t* const record_end = in + length;
    if (!TakeRecord(type, in, record_end)) return false;
    next_ = record_end;
  }
  return true;
}

bool EventDecoder::TakeRecord(RecordType type, const uint8_t* in, const uint8_t* end) {
  switch (type) {
    case RecordType::kShape:
      return DefineShape(in, end);
    case RecordType::kThread: {
      uint64_t thread;
      if (ReadUpTo(in, end, ~uint32_t{0}, &thread) == nullptr) return false;
      thread_ = static_cast<uint32_t>(thread);
      return true;
    }
    case RecordType::kClock:
      return SetClock(in, end);
    default:
      return true;
  }
}

bool EventDecoder::SetClock(const uint8_t* in, const uint8_t* end) {
  in = ReadVarint(in, end, &clock_ticks_);
  if (in != nullptr) in = ReadVarint(in, end, &clock_ns_);
  return in != nullptr && ReadVarint(in, end, &clock_scale_) != nullptr;
}

bool EventDecoder::DefineShape(const uint8_t* in, const uint8_t* end) {
  if (end - in < 5 || in[0] >= kShapes) return false;
  Shape& shape = shapes_[in[0]];
  shape.defined = false;
  shape.fields = in[1];
  shape.more = 0;
  Event& event = shape.event;
  event = Event();
  // Numbers that this version does not know are passed on: base/event.h names them "unknown".
  event.kind = static_cast<EventKind>(in[2]);
  event.memory = static_cast<MemoryKind>(in[3]);
  event.layer = static_cast<Layer>(in[4]);
  uint64_t device, call, library, result, stream;
  in = ReadUpTo(in + 5, end, 0xFFFF, &device);
  if (in != nullptr) in = ReadUpTo(in, end, 0xFFFF, &call);
  if (in != nullptr) in = ReadUpTo(in, end, 0xFFFF, &library);
  if (in != nullptr) in = ReadUpTo(in, end, 0xFFFFFFFF, &result);
  if (in != nullptr) in = ReadVarint(in, end, &stream);
  if (in == nullptr) return false;
  event.device = static_cast<int16_t>(static_cast<uint16_t>(device - 1));
  event.call = static_cast<uint16_t>(call);
  event.library = static_cast<uint16_t>(library);
  event.result = static_cast<int32_t>(static_cast<uint32_t>(result));
  event.stream = stream - 1;
  uint64_t more = 0;
  if (in < end && ReadUpTo(in, end, 0xFF, &more) == nullptr) return false;
  shape.more = static_cast<uint8_t>(more);
  shape.defined = true;
  return true;
}

}  // namespace vramstow
