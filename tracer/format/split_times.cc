#include "tracer/format/split_times.h"

#include <bit>

#include "tracer/format/varint.h"

namespace vramstow {
namespace {

// Returns the number of bytes of an event's tag, amount and address.
size_t FrontBytes(unsigned tag) { return (tag & kRecentBit) != 0 ? 3 : 6; }

// Copies eight bytes at once; `out` has room for them.
void CopyEight(uint8_t* out, const uint8_t* in) {
  uint64_t word;
  std::memcpy(&word, in, sizeof word);
  std::memcpy(out, &word, sizeof word);
}

}  // namespace

// Skips the numbers that follow an event. Returns null if the numbers do not end before `end`.
inline const uint8_t* TimeSplitter::PassNumbers(const uint8_t* in, const uint8_t* end,
                                                unsigned count) {
  for (; count != 0; --count) {
    if (in >= end) return nullptr;
    in += std::countr_zero(*in | 0x100u) + 1;
  }
  return in <= end ? in : nullptr;
}

// Skips a record, and reads it if it is a shape. Returns null if it is no valid record.
const uint8_t* TimeSplitter::PassRecord(const uint8_t* in, const uint8_t* end) {
  const RecordType type = static_cast<RecordType>(*in);
  uint64_t length;
  in = ReadVarint(in + 1, end, &length);
  if (type == RecordType::kNone || in == nullptr || length > static_cast<uint64_t>(end - in)) {
    return nullptr;
  }
  const uint8_t* const record_end = in + length;
  if (type == RecordType::kShape && !NoteShape(in, record_end)) return nullptr;
  return record_end;
}

bool TimeSplitter::NoteShape(const uint8_t* in, const uint8_t* end) {
  constexpr ptrdiff_t kFixedBytes = 5;
  constexpr unsigned kNumbers = 6;  // region, device, call, library, result, stream
  if (end - in < kFixedBytes || in[0] >= kShapes) return false;
  const auto follow = static_cast<unsigned>(std::popcount(uint8_t(in[1] & kFollowsMask)));
  const uint8_t* const after = PassNumbers(in + kFixedBytes, end, kNumbers);
  uint64_t more = 0;
  if (after == nullptr || (after < end && ReadVarint(after, end, &more) == nullptr)) return false;
  if (more > 0xFF) return false;
  const unsigned numbers = follow + static_cast<unsigned>(more);
  numbers_[in[0]] = numbers;
  for (unsigned tag = kEventBit | in[0]; tag <= 0xFF; tag += kRecentBit) {
    const size_t number = numbers == 0 ? 0 : kHasNumber;
    ways_[tag] = numbers > 1 ? kSlow : static_cast<uint8_t>(FrontBytes(tag) | number);
  }
  return true;
}

// Splits events as long as they have at most one number, and are so far before the end that neither
// needs to be checked. Nearly all events are split here.
void TimeSplitter::SplitQuickly(const uint8_t* end, const uint8_t** from, uint8_t** to,
                                size_t* events) {
  // An event has at most eight bytes and a number at most nine; eight bytes are read at a time.
  constexpr ptrdiff_t kRoom = 8 + 9 + 8;
  if (end - *from < kRoom) return;
  const uint8_t* const last = end - kRoom;
  const uint8_t* in = *from;
  uint8_t* out = *to;
  size_t count = *events;
  while (in <= last) {
    const unsigned way = ways_[*in];
    if (way >= kSlow) break;
    const size_t front = way & ~unsigned{kHasNumber};
    CopyEight(out, in);
    std::memcpy(steps_ + 2 * count, in + front, 2);
    out += front;
    in += front + 2;
    ++count;
    if ((way & kHasNumber) == 0) continue;
    const size_t follow = static_cast<size_t>(std::countr_zero(*in | 0x100u)) + 1;
    CopyEight(out, in);
    out[8] = in[8];
    out += follow;
    in += follow;
  }
  *from = in;
  *to = out;
  *events = count;
}

// Writes the low bytes of all time steps at `out`, then their high bytes.
void TimeSplitter::WriteSteps(uint8_t* out, size_t count) const {
  for (size_t i = 0; i < count; ++i) {
    out[i] = steps_[2 * i];
    out[count + i] = steps_[2 * i + 1];
  }
}

void TimeSplitter::Forget() {
  std::memset(numbers_, 0, sizeof numbers_);
  std::memset(ways_, kSlow, kEventBit);
  for (size_t tag = kEventBit; tag < sizeof ways_; ++tag) {
    ways_[tag] = static_cast<uint8_t>(FrontBytes(static_cast<unsigned>(tag)));
  }
}

bool TimeSplitter::Split(const uint8_t* payload, size_t size, uint8_t* out, SplitCount* events) {
  if (size > kSlotBytes) return false;
  Forget();
  uint8_t* const begin = out;
  const uint8_t* in = payload;
  const uint8_t* const end = payload + size;
  size_t count = 0;
  for (;;) {
    SplitQuickly(end, &in, &out, &count);
    if (in >= end) break;
    const uint8_t tag = *in;
    if (tag < kEventBit) {
      const uint8_t* const after = PassRecord(in, end);
      if (after == nullptr) return false;
      std::memcpy(out, in, static_cast<size_t>(after - in));
      out += after - in;
      in = after;
      continue;
    }
    const size_t front = FrontBytes(tag);
    CopyEight(out, in);
    const uint8_t* const step = in + front;
    if (end - step < 2) return false;
    std::memcpy(steps_ + 2 * count, step, 2);
    ++count;
    in = step + 2;
    out += front;
    const unsigned numbers = numbers_[tag & kShapeMask];
    if (numbers == 0) continue;
    const uint8_t* const after = PassNumbers(in, end, numbers);
    if (after == nullptr) return false;
    const auto follow = static_cast<size_t>(after - in);
    CopyEight(out, in);
    if (follow > 8) [[unlikely]]
      std::memcpy(out, in, follow);
    out += follow;
    in = after;
  }
  WriteSteps(out, count);
  *events = static_cast<SplitCount>(count);
  return static_cast<size_t>(out - begin) + 2 * count == size;
}

bool TimeSplitter::Join(const uint8_t* split, size_t size, SplitCount events, uint8_t* out) {
  if (size > kSlotBytes || events > size / 5) return false;
  Forget();
  const uint8_t* in = split;
  const uint8_t* const end = split + size - 2 * size_t{events};
  const uint8_t* low = end;
  const uint8_t* high = end + events;
  const uint8_t* const after_low = high;
  while (in < end) {
    const uint8_t tag = *in;
    if (tag < kEventBit) {
      const uint8_t* const after = PassRecord(in, end);
      if (after == nullptr) return false;
      std::memcpy(out, in, static_cast<size_t>(after - in));
      out += after - in;
      in = after;
      continue;
    }
    const size_t front = FrontBytes(tag);
    if (low == after_low || static_cast<size_t>(end - in) < front) return false;
    CopyEight(out, in);
    out[front] = *low++;
    out[front + 1] = *high++;
    in += front;
    out += front + 2;
    const unsigned numbers = numbers_[tag & kShapeMask];
    if (numbers == 0) continue;
    const uint8_t* const after = PassNumbers(in, end, numbers);
    if (after == nullptr) return false;
    const auto follow = static_cast<size_t>(after - in);
    CopyEight(out, in);
    if (follow > 8) [[unlikely]]
      std::memcpy(out, in, follow);
    out += follow;
    in = after;
  }
  return low == after_low;
}

}  // namespace vramstow
