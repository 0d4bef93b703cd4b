// Tests the encoding of events: encoded events are decoded unchanged, and invalid bytes are
// refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/tracer/support.h"
#include "tracer/format/event_decoder.h"
#include "tracer/format/event_encoder.h"
#include "tracer/format/varint.h"

namespace vramstow {
namespace {

// One chunk's payload and its decoder.
struct Payload {
  std::vector<uint8_t> bytes = std::vector<uint8_t>(1 << 20);
  size_t size = 0;
  ChunkHeader header = {};

  explicit Payload(ChunkKind kind = ChunkKind::kEvents) {
    header.kind = static_cast<uint8_t>(kind);
  }

  std::vector<Event> Decode(DecodeResult* last) {
    EventDecoder decoder;
    decoder.Begin(header, bytes.data(), size);
    std::vector<Event> events;
    Event event;
    while ((*last = decoder.Next(&event)) == DecodeResult::kEvent) events.push_back(event);
    return events;
  }

  // Expects exactly these events to be decoded.
  void Expect(const std::vector<Event>& written) {
    DecodeResult last;
    const std::vector<Event> read = Decode(&last);
    EXPECT_EQ(last, DecodeResult::kEnd);
    ASSERT_EQ(read.size(), written.size());
    for (size_t i = 0; i < read.size(); ++i) {
      ASSERT_TRUE(SameEvent(read[i], written[i])) << i << ": " << ToText(read[i]);
    }
  }
};

TEST(EventCodingTest, GivesBackAllFieldsSequencesAndTimes) {
  std::mt19937_64 random(3);
  EventMaker maker(4);
  Payload payload;
  payload.header.base_sequence = 1000;
  payload.header.base_time = 5;
  payload.header.thread = 77;
  auto encoder = std::make_unique<EventEncoder>();
  encoder->Begin(1000, 5);
  std::vector<Event> written;
  uint64_t sequence = 1000;
  uint64_t time_ns = 5;
  uint8_t* out = payload.bytes.data();
  for (int i = 0; i < 20000; ++i) {
    Event event = maker.Next();
    event.sequence = sequence += i % 5 == 0 ? 1 + random() % 100000 : 1;
    // Sometimes there is a long pause, or the clock goes back.
    time_ns += i % 1000 == 999 ? uint64_t{1} << (random() % 40) : random() % 3000;
    event.time_ns = time_ns;
    event.thread = 77;
    uint8_t* const after =
        encoder->Encode(out, event, sequence, i % 7 == 3 ? time_ns - 1 : time_ns);
    ASSERT_LE(static_cast<size_t>(after - out), kMaxEncodedBytes);
    if (i % 7 == 3) {
      event.time_ns = time_ns =
          written.empty() ? time_ns : std::max(time_ns - 1, written.back().time_ns);
    }
    out = after;
    written.push_back(event);
  }
  payload.size = static_cast<size_t>(out - payload.bytes.data());
  payload.Expect(written);
}

TEST(EventCodingTest, BlocksOfAPoolComeBackWhateverWasAskedForAndHoweverTheyWereServed) {
  std::mt19937_64 random(5);
  Payload payload;
  payload.header.base_sequence = 0;
  auto encoder = std::make_unique<EventEncoder>();
  encoder->Begin(0, 0);
  const uint64_t requests[] = {0, 4096, 4095, 3584, 1, 5000, ~uint64_t{0}};
  const uint64_t objects[] = {0, 1, 1, 4, uint64_t{1} << 40, ~uint64_t{0}};
  std::vector<Event> written;
  uint8_t* out = payload.bytes.data();
  for (uint64_t i = 1; i <= 20000; ++i) {
    Event event = random() % 2 == 0 ? Allocation(0x1000 + random() % 512 * 512, 4096)
                                    : FreeOf(0x1000 + random() % 512 * 512);
    event.size = random() % 8 == 0 ? 0 : 4096;
    event.requested = requests[random() % 7];
    event.object = objects[random() % 6];
    event.stack = random() % 3 == 0 ? 300 : 0;
    event.sequence = i;
    event.time_ns = i;
    event.thread = payload.header.thread;
    uint8_t* const after = encoder->Encode(out, event, i, i);
    ASSERT_LE(static_cast<size_t>(after - out), kMaxEncodedBytes);
    out = after;
    written.push_back(event);
  }
  payload.size = static_cast<size_t>(out - payload.bytes.data());
  payload.Expect(written);
}

TEST(EventCodingTest, ManyMoreShapesThanNumbersForThemStillComeBack) {
  Payload payload;
  auto encoder = std::make_unique<EventEncoder>();
  encoder->Begin(0, 0);
  uint8_t* out = payload.bytes.data();
  for (uint64_t i = 1; i <= 10000; ++i) {
    Event event = Allocation(0x1000, 512);
    event.call = static_cast<uint16_t>(i * 7919 % 300);
    event.stream = i % 5;
    out = encoder->Encode(out, event, i, i);
  }
  payload.size = static_cast<size_t>(out - payload.bytes.data());
  DecodeResult last;
  const std::vector<Event> read = payload.Decode(&last);
  EXPECT_EQ(last, DecodeResult::kEnd);
  ASSERT_EQ(read.size(), 10000u);
  for (uint64_t i = 1; i <= 10000; ++i) {
    ASSERT_EQ(read[i - 1].call, i * 7919 % 300);
    ASSERT_EQ(read[i - 1].stream, i % 5);
  }
}

TEST(EventCodingTest, ManyMoreAmountsThanNumbersForThemStillComeBack) {
  Payload payload;
  auto encoder = std::make_unique<EventEncoder>();
  encoder->Begin(0, 0);
  uint8_t* out = payload.bytes.data();
  std::vector<Event> written;
  for (uint64_t i = 1; i <= 10000; ++i) {
    Event event = Allocation(0x1000, i * 7919 % 3001 * (i % 3 == 0 ? 512 : 1));
    event.requested = i % 5 == 0 ? 0 : event.size - i % 2;
    event.object = i % 300;
    event.sequence = event.time_ns = i;
    event.thread = payload.header.thread;
    out = encoder->Encode(out, event, i, i);
    written.push_back(event);
  }
  payload.size = static_cast<size_t>(out - payload.bytes.data());
  payload.Expect(written);
}

// The recorder uses the short form if possible, and Encode otherwise. Both must yield one
// consistent trace.
TEST(EventCodingTest, TheShortCutAndTheLongWayFillTheSameTables) {
  std::mt19937_64 random(7);
  EventMaker maker(8);
  Payload payload(ChunkKind::kTickedEvents);
  payload.header.base_time = 100;
  auto encoder = std::make_unique<EventEncoder>();
  encoder->Begin(0, 100);
  uint8_t* out = EventEncoder::EncodeClock(payload.bytes.data(), 0, 0, 0);
  std::vector<Event> written;
  int shortened = 0;
  int with_stack = 0;  // the shortened ones with a stack
  uint64_t ticks = 100;
  for (uint64_t i = 1; i <= 20000; ++i) {
    Event event = maker.Next();
    // Some amounts are repeated, as in real jobs.
    if (event.kind == EventKind::kAllocate && event.object == 0) {
      event.size = 512 + event.size % (uint64_t{1} << 14);
      event.requested = event.size - event.size / 512 % 2;
      event.stack = static_cast<uint32_t>(random() >> (33 + random() % 31));
    }
    ticks += i % 100 == 0 ? 65535 + random() % 3 : 1 + random() % 1000;
    uint8_t* end = i % 3 == 0 ? nullptr : encoder->WriteShort(out, encoder->ShortOf(event), ticks);
    if (end != nullptr) ++shortened;
    if (end != nullptr && event.stack != 0) ++with_stack;
    if (end == nullptr) end = encoder->Encode(out, event, i, ticks);
    ASSERT_EQ(encoder->last_sequence(), i);
    ASSERT_EQ(encoder->last_time(), ticks);
    out = end;
    event.sequence = OrderOf(ticks, 0);
    event.time_ns = 0;  // the clock stands still
    event.thread = payload.header.thread;
    written.push_back(event);
  }
  payload.size = static_cast<size_t>(out - payload.bytes.data());
  payload.Expect(written);
  EXPECT_GT(shortened, 5000);
  EXPECT_GT(with_stack, 500);
}

// Records a hundred amounts (pairs of a size and a requested size). A table has two possible
// numbers for an amount. If another amount has the first one, the second one is used.
TEST(EventCodingTest, TheShortCutKnowsTheAmountsThatWereTold) {
  auto encoder = std::make_unique<EventEncoder>();
  encoder->Begin(0, 0);
  std::vector<uint8_t> bytes(1 << 16);
  uint8_t* out = bytes.data();
  constexpr uint64_t kAmountsInUse = 100;
  uint64_t time = 0;
  int shortened = 0;
  for (uint64_t i = 0; i < 2 * kAmountsInUse; ++i) {
    const Event event = Allocation(0x7F0000000000, (1 + i % kAmountsInUse) * 1536);
    ++time;
    const bool is_defined = i >= kAmountsInUse;
    uint8_t* end = is_defined ? encoder->WriteShort(out, encoder->ShortOf(event), time) : nullptr;
    if (is_defined && end == nullptr) {
      end = encoder->WriteShort(out, encoder->ShortOf<true>(event), time);
    }
    shortened += end != nullptr ? 1 : 0;
    out = end != nullptr ? end : encoder->Encode(out, event, i + 1, time);
  }
  // The short form cannot be used for an amount if other amounts have taken both of its numbers.
  // Such an amount is defined again.
  EXPECT_GE(shortened, 94);
}

TEST(EventCodingTest, TheShortCutLeavesWhatItCannotSay) {
  auto encoder = std::make_unique<EventEncoder>();
  encoder->Begin(0, 100);
  std::vector<uint8_t> bytes(1 << 16);
  uint8_t* out = bytes.data();
  const Event usual = Allocation(0x7F0000000000, 512);
  EXPECT_EQ(encoder->WriteShort(out, encoder->ShortOf(usual), 101), nullptr) << "nothing is told";
  out = encoder->Encode(out, usual, 1, 101);
  for (const uint64_t time : {101u, 100u, 101u + 65536u}) {
    EXPECT_EQ(encoder->WriteShort(out, encoder->ShortOf(usual), time), nullptr) << time;
  }
  std::vector<Event> unusual(6, usual);
  unusual[0].stack = 1;
  unusual[1].offset = 1;
  unusual[2].object = 256;
  unusual[3].address = 0x7F0000000001;
  unusual[4].address = uint64_t{1} << 57;
  unusual[5].address = 0x200;  // an address in another region
  for (const Event& event : unusual) {
    out = encoder->Encode(out, event, encoder->last_sequence() + 1, encoder->last_time() + 1);
    const uint64_t next = encoder->last_time() + 1;
    uint8_t* const end = encoder->WriteShort(out, encoder->ShortOf(event), next);
    // The short form is possible if the address is one of the recent ones and the event's region
    // belongs to a known shape. The event may have a stack.
    const bool is_known = event.offset == 0 && event.object == 0;
    EXPECT_EQ(end != nullptr, is_known) << ToText(event);
    if (end != nullptr) out = end;
  }
  uint8_t* const end =
      encoder->WriteShort(out, encoder->ShortOf(usual), encoder->last_time() + 65535);
  ASSERT_NE(end, nullptr);
  EXPECT_LE(end - out, 8);
}

// Expects two frees of the same call, 10 ns apart.
void ExpectTwoFrees(Payload* payload, uint32_t stack) {
  DecodeResult last;
  const std::vector<Event> read = payload->Decode(&last);
  EXPECT_EQ(last, DecodeResult::kEnd);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].kind, EventKind::kFree);
  EXPECT_EQ(read[1].call, 2u);
  EXPECT_EQ(read[1].stack, stack);
  EXPECT_EQ(read[1].sequence, 2u);
  EXPECT_EQ(read[1].time_ns, 20u);
}

TEST(EventCodingTest, SkipsWhatALaterVersionMayAdd) {
  Payload payload;
  uint8_t* out = payload.bytes.data();
  // Writes a record of a type that does not exist yet, and one that only older versions have.
  for (const int type : {99, 1}) {
    *out++ = static_cast<uint8_t>(type);
    *out++ = OneByteVarint(3);
    out += 3;
  }
  // Writes a shape whose events each end with a stack and two more numbers, and which has an
  // unknown field.
  *out++ = static_cast<uint8_t>(RecordType::kShape);
  *out++ = OneByteVarint(13);
  for (const int byte : {5, int{kStackFollows}, 2, 1, 0}) *out++ = static_cast<uint8_t>(byte);
  for (const size_t value : {0, 1, 2, 0, 0, 1}) *out++ = OneByteVarint(value);
  *out++ = OneByteVarint(2);
  *out++ = 0x55;
  for (int i = 0; i < 2; ++i) {
    *out++ = kEventBit | kRecentBit | 5;
    for (const int byte : {0, 0, 10, 0}) *out++ = static_cast<uint8_t>(byte);
    *out++ = OneByteVarint(7);
    out = WriteVarint(out, 123456);
    out = WriteVarint(out, ~uint64_t{0});
  }
  payload.size = static_cast<size_t>(out - payload.bytes.data());
  ExpectTwoFrees(&payload, 7);
}

TEST(EventCodingTest, SkipsWhatALaterVersionOfTheOldEventsMayAdd) {
  Payload payload(ChunkKind::kOldEvents);
  uint8_t* out = payload.bytes.data();
  // Writes a record of a type that does not exist yet.
  *out++ = 99;
  *out++ = OneByteVarint(3);
  out += 3;
  // Writes a shape whose events each end with two more numbers, and which has an unknown field.
  *out++ = static_cast<uint8_t>(RecordType::kOldShape);
  *out++ = OneByteVarint(12);
  for (const int byte : {5, 0, 2, 1, 0})
    *out++ = static_cast<uint8_t>(byte);  // shape 5: a free, no fields
  for (const size_t value : {1, 2, 0, 0, 1}) *out++ = OneByteVarint(value);
  *out++ = OneByteVarint(2);
  *out++ = 0x55;
  for (int i = 0; i < 2; ++i) {
    *out++ = kEventBit | 5;
    *out++ = OneByteVarint(10);
    out = WriteVarint(out, 123456);
    out = WriteVarint(out, ~uint64_t{0});
  }
  payload.size = static_cast<size_t>(out - payload.bytes.data());
  ExpectTwoFrees(&payload, 123456);
}

TEST(EventCodingTest, RefusesWhatCannotBeRight) {
  const std::vector<std::vector<uint8_t>> wrong = {
      {0x00, 0x01},                                    // a record of no type
      {0x85, 0x01},                                    // a shape that was not defined
      {0x0A, 0x09, 0, 0, 0, 0},                        // a definition that is too short
      {0x0A, 0x17, 64, 0, 2, 1, 0, 1, 1, 1, 1, 1, 1},  // a shape with a number that is too great
      {0x0A, 0x17, 5, 8, 2, 1, 0, 1, 1, 1, 1, 1, 1},   // a shape with unknown numbers that follow
      {0x0B, 0x01},                                    // an amount without its number
      {0x0B, 0x07, 3, 0x03, 0x07},                     // one whose request has no form
      {0x0B, 0x07, 3, 0x03, 0x05},                     // one whose request is missing
      {0x0C, 0x17, 3, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01},  // too many pages
      {0x0D, 0x01},  // an address without one
      {0x0E, 0x01},  // a pause without its length
      {0x0F, 0x13, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0x03,
       0x03},           // more numbers left out than there are
      {0x63, 0xFF, 1},  // a record that is longer than the rest
      {0x63, 0x00},     // a length that is cut
      {0x02, 0x01},     // a thread without its number
  };
  for (const std::vector<uint8_t>& bytes : wrong) {
    Payload payload;
    std::copy(bytes.begin(), bytes.end(), payload.bytes.begin());
    payload.size = bytes.size();
    DecodeResult last;
    EXPECT_TRUE(payload.Decode(&last).empty());
    EXPECT_EQ(last, DecodeResult::kDamaged) << testing::PrintToString(bytes);
  }
}

TEST(EventCodingTest, RefusesOldEventsThatCannotBeRight) {
  const std::vector<std::vector<uint8_t>> wrong = {
      {0x00, 0x01},              // a record of no type
      {0x85, 0x01},              // a shape that was not defined
      {0x01, 0x09, 0, 0, 0, 0},  // a definition that is too short
      {0x63, 0xFF, 1},           // a record that is longer than the rest
      {0x63, 0x00},              // a length that is cut
      {0x02, 0x01},              // a thread without its number
  };
  for (const std::vector<uint8_t>& bytes : wrong) {
    Payload payload(ChunkKind::kOldEvents);
    std::copy(bytes.begin(), bytes.end(), payload.bytes.begin());
    payload.size = bytes.size();
    DecodeResult last;
    EXPECT_TRUE(payload.Decode(&last).empty());
    EXPECT_EQ(last, DecodeResult::kDamaged);
  }
}

TEST(EventCodingTest, TicksBecomePlacesInTheOrderAndTimes) {
  Payload payload(ChunkKind::kTickedEvents);
  payload.header.base_sequence = 41;
  payload.header.base_time = 1000;
  payload.header.buffer = 3;
  auto encoder = std::make_unique<EventEncoder>();
  encoder->Begin(41, 1000);
  uint8_t* out = payload.bytes.data();
  constexpr uint64_t kHalf = uint64_t{1} << 31;  // half a nanosecond for each tick
  out = EventEncoder::EncodeClock(out, 2000, 500, kHalf);
  out = encoder->Encode(out, Allocation(0x1000, 512), 42, 1500);  // earlier than the clock record
  out = encoder->Encode(out, Allocation(0x1000, 512), 43, 4000);
  out = EventEncoder::EncodeClock(out, 4000, 1400, kHalf);  // a little earlier than predicted
  out = encoder->Encode(out, Allocation(0x1000, 512), 44, 4001);
  out = encoder->Encode(out, Allocation(0x1000, 512), 45, 6000);
  payload.size = static_cast<size_t>(out - payload.bytes.data());
  DecodeResult last;
  const std::vector<Event> read = payload.Decode(&last);
  EXPECT_EQ(last, DecodeResult::kEnd);
  ASSERT_EQ(read.size(), 4u);
  const uint64_t ticks[] = {1500, 4000, 4001, 6000};
  const uint64_t times[] = {500, 1500, 1500, 2400};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(read[i].sequence, OrderOf(ticks[i], 3));
    EXPECT_EQ(read[i].time_ns, times[i]);
  }
}

// Records frees that complete at once, by the short form and by Encode, with and without a stack,
// among other events.
TEST(EventCodingTest, AFreeThatCompletesIsTwoEventsWithoutAByteMore) {
  Payload payload(ChunkKind::kTickedEvents);
  auto encoder = std::make_unique<EventEncoder>();
  encoder->Begin(0, 0);
  uint8_t* out = payload.bytes.data();
  std::vector<Event> written;
  uint64_t ticks = 0;
  int completed = 0;
  const auto note = [&](Event event, uint64_t at) {
    event.sequence = OrderOf(at, 0);
    written.push_back(event);
  };
  const auto write = [&](const Event& event) {
    ticks += 5;
    uint8_t* const end = encoder->WriteShort(out, encoder->ShortOf(event), ticks);
    out = end != nullptr ? end : encoder->Encode(out, event, encoder->last_sequence() + 1, ticks);
    note(event, ticks);
  };
  for (uint64_t i = 0; i < 3000; ++i) {
    write(Allocation(0x1000 + i % 300 * 512, 512));
    Event freed = FreeOf(0x1000 + i % 300 * 512);
    freed.stack = i % 10 == 0 ? 7 : 0;
    write(freed);
    Event after = freed;
    after.kind = EventKind::kFreeCompleted;
    after.stack = 0;
    uint8_t* const end = out;
    if (encoder->CompleteLast()) {
      ++completed;
      note(after, ticks + 1);
      EXPECT_FALSE(encoder->CompleteLast()) << "it is done already";
    } else {
      out = encoder->EncodeCompleting(out);
      ASSERT_LE(static_cast<size_t>(out - end), kMaxShapeBytes);
      write(after);
    }
    ASSERT_EQ(encoder->last_sequence(), written.size());
  }
  payload.size = static_cast<size_t>(out - payload.bytes.data());
  payload.Expect(written);
  EXPECT_EQ(completed, 2998) << "all but the first of each shape";
}

TEST(EventCodingTest, OnlyFreesInTicksComplete) {
  for (const bool is_ticked : {false, true}) {
    for (const EventKind kind : {EventKind::kFree, EventKind::kAllocate}) {
      Payload payload(is_ticked ? ChunkKind::kTickedEvents : ChunkKind::kEvents);
      uint8_t* out = payload.bytes.data();
      *out++ = static_cast<uint8_t>(RecordType::kShape);
      *out++ = OneByteVarint(11);
      for (const int byte : {5, int{kCompletes}, static_cast<int>(kind), 1, 0}) {
        *out++ = static_cast<uint8_t>(byte);
      }
      for (const size_t value : {0, 1, 2, 0, 0, 1}) *out++ = OneByteVarint(value);
      *out++ = kEventBit | kRecentBit | 5;
      for (const int byte : {0, 0, 10, 0}) *out++ = static_cast<uint8_t>(byte);
      payload.size = static_cast<size_t>(out - payload.bytes.data());
      DecodeResult last;
      const size_t count = payload.Decode(&last).size();
      const bool is_right = is_ticked && kind == EventKind::kFree;
      EXPECT_EQ(count, is_right ? 2u : 0u);
      EXPECT_EQ(last, is_right ? DecodeResult::kEnd : DecodeResult::kDamaged);
    }
  }
}

}  // namespace
}  // namespace vramstow
