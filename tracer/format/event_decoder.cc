#include "tracer/format/event_decoder.h"

#include <cstring>
#include <limits>

#include "tracer/format/varint.h"

namespace vramstow {
namespace {

// Reads a number that is at most `limit`. Returns null if the number is greater, or does not end
// before `end`.
const uint8_t* ReadUpTo(const uint8_t* in, const uint8_t* end, uint64_t limit, uint64_t* value) {
  in = ReadVarint(in, end, value);
  return in != nullptr && *value <= limit ? in : nullptr;
}

// Adds the number that a record contains to *sum. Returns false if there is no number, or if the
// sum overflows.
bool AddNumber(const uint8_t* in, const uint8_t* end, uint64_t* sum) {
  uint64_t number;
  if (ReadVarint(in, end, &number) == nullptr || number > ~*sum) return false;
  *sum += number;
  return true;
}

}  // namespace

void EventDecoder::Begin(const ChunkHeader& header, const uint8_t* payload, size_t size) {
  const ChunkKind kind = static_cast<ChunkKind>(header.kind);
  begin_ = next_ = payload;
  end_ = payload + size;
  is_ticked_ = IsTicked(kind);
  is_old_ = IsOld(kind);
  completes_ = false;
  buffer_ = header.buffer;
  last_sequence_ = header.base_sequence;
  last_time_ = header.base_time;
  clock_ticks_ = clock_ns_ = clock_scale_ = last_time_ns_ = 0;
  last_address_ = 0;
  last_object_ = 0;
  thread_ = header.thread;
  for (Shape& shape : shapes_) shape.defined = false;
  std::memset(recent_, 0, sizeof recent_);
  std::memset(amounts_, 0, sizeof amounts_);
}

DecodeResult EventDecoder::Next(Event* event) {
  if (completes_) [[unlikely]]
    return DecodeCompleted(event);
  if (next_ < end_ && *next_ < kEventBit && !SkipRecords()) return DecodeResult::kDamaged;
  if (next_ == end_) return DecodeResult::kEnd;
  const Shape& shape = shapes_[*next_ & kShapeMask];
  if (!shape.defined) return DecodeResult::kDamaged;
  *event = shape.event;
  event->thread = thread_;
  const uint8_t* const in =
      is_old_ ? DecodeOldEvent(next_, shape, event) : DecodeEvent(next_, shape, event);
  const DecodeResult result = Take(in, event);
  if (shape.completes && result == DecodeResult::kEvent) {
    completes_ = true;
    last_free_ = *event;
  }
  return result;
}

// Stores in *event the kFreeCompleted that belongs to the last kFree. Its time is one tick later
// than that of the kFree.
DecodeResult EventDecoder::DecodeCompleted(Event* event) {
  completes_ = false;
  *event = last_free_;
  event->kind = EventKind::kFreeCompleted;
  event->stack = 0;
  event->sequence = last_sequence_ + 1;
  event->time_ns = last_time_ + 1;
  return Take(next_, event);
}

// Accepts the event that ends at `in`, if it is valid. `in` is null if it could not be decoded.
DecodeResult EventDecoder::Take(const uint8_t* in, Event* event) {
  if (in == nullptr || in > end_) return DecodeResult::kDamaged;
  // A sequence or time that wrapped around would be smaller.
  if (event->sequence <= last_sequence_ || event->time_ns < last_time_) {
    return DecodeResult::kDamaged;
  }
  // Ticks must increase, and their upper bits must leave room for the number of the buffer.
  if (is_ticked_ && (event->time_ns == last_time_ || event->time_ns >> (64 - kBufferBits) != 0)) {
    return DecodeResult::kDamaged;
  }
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
  // The two clocks cannot be read at exactly the same moment. So the time may seem to go back a
  // little at a new clock record.
  if (time_ns > last_time_ns_ && time_ns <= std::numeric_limits<uint64_t>::max()) {
    last_time_ns_ = static_cast<uint64_t>(time_ns);
  }
  event->time_ns = last_time_ns_;
}

const uint8_t* EventDecoder::DecodeEvent(const uint8_t* in, const Shape& shape, Event* event) {
  const bool is_recent = (in[0] & kRecentBit) != 0;
  const Amount& amount = amounts_[in[1]];
  event->size = amount.size;
  event->requested = amount.requested;
  event->object = amount.object;
  if (is_recent) {
    event->address = recent_[in[2]];
    in += 3;
  } else {
    uint32_t page;
    std::memcpy(&page, in + 2, sizeof page);
    event->address = shape.region + (uint64_t{page} << kPageShift);
    recent_[RecentPlace(event->address)] = event->address;
    in += 2 + sizeof page;
  }
  uint16_t elapsed;
  std::memcpy(&elapsed, in, sizeof elapsed);
  event->sequence = last_sequence_ + 1;
  event->time_ns = last_time_ + elapsed;
  in += sizeof elapsed;
  return (shape.fields | shape.more) == 0 ? in : DecodeFollowing(in, shape, event);
}

const uint8_t* EventDecoder::DecodeFollowing(const uint8_t* in, const Shape& shape, Event* event) {
  if ((shape.fields & kObjectFollows) != 0) {
    uint64_t difference;
    in = ReadVarint(in, &difference);
    event->object = last_object_ = last_object_ + UnZigZag(difference);
  }
  if ((shape.fields & kOffsetFollows) != 0) in = ReadVarint(in, &event->offset);
  if ((shape.fields & kStackFollows) != 0) in = ReadStack(in, event);
  return SkipNumbers(in, shape.more);
}

const uint8_t* EventDecoder::ReadStack(const uint8_t* in, Event* event) {
  uint64_t stack;
  in = ReadVarint(in, &stack);
  event->stack = stack <= std::numeric_limits<uint32_t>::max() ? static_cast<uint32_t>(stack) : 0;
  return in;
}

// Skips numbers that only a later version of the format defines. There may be more of them than the
// padding allows. Returns null if they do not end before the chunk does.
const uint8_t* EventDecoder::SkipNumbers(const uint8_t* in, unsigned count) const {
  for (unsigned i = 0; i < count && in != nullptr; ++i) {
    uint64_t ignored;
    in = in < end_ ? ReadVarint(in, end_, &ignored) : nullptr;
  }
  return in;
}

// Reads all records up to the next event or the end of the chunk.
bool EventDecoder::SkipRecords() {
  while (next_ < end_ && *next_ < kEventBit) {
    const RecordType type = static_cast<RecordType>(*next_);
    uint64_t length;
    const uint8_t* in = ReadVarint(next_ + 1, end_, &length);
    if (type == RecordType::kNone || in == nullptr || length > static_cast<uint64_t>(end_ - in)) {
      return false;
    }
    const uint8_t* const record_end = in + length;
    if (!DecodeRecord(type, in, record_end)) return false;
    next_ = record_end;
  }
  return true;
}

bool EventDecoder::DecodeRecord(RecordType type, const uint8_t* in, const uint8_t* end) {
  switch (type) {
    case RecordType::kThread:
      return SetThread(in, end);
    case RecordType::kClock:
      return SetClock(in, end);
    case RecordType::kOldShape:
      return !is_old_ || DefineOldShape(in, end);
    default:
      return is_old_ || DecodeEventRecord(type, in, end);
  }
}

bool EventDecoder::DecodeEventRecord(RecordType type, const uint8_t* in, const uint8_t* end) {
  switch (type) {
    case RecordType::kShape:
      return DefineShape(in, end);
    case RecordType::kAmount:
      return DefineAmount(in, end, 0);
    case RecordType::kPages:
      return DefineAmount(in, end, kPageShift);
    case RecordType::kAddress: {
      uint64_t difference;
      if (ReadVarint(in, end, &difference) == nullptr) return false;
      last_address_ += UnZigZag(difference);
      recent_[RecentPlace(last_address_)] = last_address_;
      return true;
    }
    case RecordType::kPause:
      return AddNumber(in, end, &last_time_);
    case RecordType::kSequence:
      return AddNumber(in, end, &last_sequence_);
    default:
      return true;
  }
}

bool EventDecoder::SetThread(const uint8_t* in, const uint8_t* end) {
  uint64_t thread;
  if (ReadUpTo(in, end, ~uint32_t{0}, &thread) == nullptr) return false;
  thread_ = static_cast<uint32_t>(thread);
  return true;
}

bool EventDecoder::SetClock(const uint8_t* in, const uint8_t* end) {
  in = ReadVarint(in, end, &clock_ticks_);
  if (in != nullptr) in = ReadVarint(in, end, &clock_ns_);
  return in != nullptr && ReadVarint(in, end, &clock_scale_) != nullptr;
}

// Reads the five bytes at the beginning of a shape, in the old or the new form. Returns null if
// they are invalid.
EventDecoder::Shape* EventDecoder::BeginShape(const uint8_t* in, const uint8_t* end) {
  if (end - in < 5 || in[0] >= kShapes) return nullptr;
  Shape& shape = shapes_[in[0]];
  shape = Shape();
  shape.fields = in[1];
  // Unknown kinds of a later version are passed on; functions of base/event.h return the name
  // "unknown" for them.
  shape.event.kind = static_cast<EventKind>(in[2]);
  shape.event.memory = static_cast<MemoryKind>(in[3]);
  shape.event.layer = static_cast<Layer>(in[4]);
  return &shape;
}

bool EventDecoder::DefineShape(const uint8_t* in, const uint8_t* end) {
  Shape* const shape = BeginShape(in, end);
  if (shape == nullptr || shape->fields > (kFollowsMask | kCompletes)) return false;
  shape->completes = (shape->fields & kCompletes) != 0;
  shape->fields &= kFollowsMask;
  // Each event of a shape that `completes` is a free, and the event of its completion follows one
  // tick later. So such a shape is valid only for frees, and only in a chunk whose times are ticks.
  if (shape->completes && (!is_ticked_ || shape->event.kind != EventKind::kFree)) return false;
  uint64_t region;
  in = ReadUpTo(in + 5, end, (uint64_t{1} << kRegionBits) - 1, &region);
  if (in == nullptr) return false;
  shape->region = region << kRegionShift;
  return DefineCaller(in, end, shape);
}

// Reads the last fields of a shape and defines the shape.
bool EventDecoder::DefineCaller(const uint8_t* in, const uint8_t* end, Shape* shape) {
  uint64_t device, call, library, result, stream;
  in = ReadUpTo(in, end, 0xFFFF, &device);
  if (in != nullptr) in = ReadUpTo(in, end, 0xFFFF, &call);
  if (in != nullptr) in = ReadUpTo(in, end, 0xFFFF, &library);
  if (in != nullptr) in = ReadUpTo(in, end, 0xFFFFFFFF, &result);
  if (in != nullptr) in = ReadVarint(in, end, &stream);
  if (in == nullptr) return false;
  Event& event = shape->event;
  event.device = static_cast<int16_t>(static_cast<uint16_t>(device - 1));
  event.call = static_cast<uint16_t>(call);
  event.library = static_cast<uint16_t>(library);
  event.result = static_cast<int32_t>(static_cast<uint32_t>(result));
  event.stream = stream - 1;
  uint64_t more = 0;
  if (in < end && ReadUpTo(in, end, 0xFF, &more) == nullptr) return false;
  shape->more = static_cast<uint8_t>(more);
  shape->defined = true;
  return true;
}

bool EventDecoder::DefineAmount(const uint8_t* in, const uint8_t* end, unsigned size_shift) {
  if (in == end) return false;
  Amount& amount = amounts_[in[0]];
  uint64_t size, object_and_form;
  in = ReadUpTo(in + 1, end, std::numeric_limits<uint64_t>::max() >> size_shift, &size);
  if (in != nullptr) in = ReadVarint(in, end, &object_and_form);
  if (in == nullptr) return false;
  amount = {size << size_shift, 0, object_and_form >> kRequestedFormBits};
  constexpr uint64_t kFormMask = (1 << kRequestedFormBits) - 1;
  switch (static_cast<RequestedForm>(object_and_form & kFormMask)) {
    case RequestedForm::kZero:
      return true;
    case RequestedForm::kAsSize:
      amount.requested = amount.size;
      return true;
    case RequestedForm::kDifference: {
      uint64_t difference;
      if (ReadVarint(in, end, &difference) == nullptr) return false;
      amount.requested = amount.size - UnZigZag(difference);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace vramstow
