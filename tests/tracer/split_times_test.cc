// Tests that the time steps of a chunk can be split off and joined again, and that damaged bytes do
// no harm.
#include "tracer/format/split_times.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "tests/tracer/support.h"
#include "tracer/compressor.h"
#include "tracer/format/event_encoder.h"

namespace vramstow {
namespace {

constexpr uint8_t kGuard = 0xA7;

// Returns bytes with extra room behind them, of which at most kSplitSlack bytes may be written.
std::vector<uint8_t> WithRoom(size_t size) { return std::vector<uint8_t>(size + 64, kGuard); }

bool IsGuarded(const std::vector<uint8_t>& bytes, size_t size) {
  return std::all_of(bytes.begin() + static_cast<ptrdiff_t>(size + kSplitSlack), bytes.end(),
                     [](uint8_t byte) { return byte == kGuard; });
}

// Makes some forty thousand bytes: events with and without numbers behind them, and records of all
// types.
std::vector<uint8_t> MakePayload(uint64_t seed, size_t* events) {
  std::mt19937_64 random(seed);
  EventMaker maker(seed);
  auto encoder = std::make_unique<EventEncoder>();
  encoder->Begin(0, 0);
  std::vector<uint8_t> bytes(kSlotBytes);
  uint8_t* out = EventEncoder::EncodeClock(bytes.data(), 1, 2, 3);
  out = EventEncoder::EncodeThread(out, 12345);
  uint64_t ticks = 0;
  *events = 0;
  while (out - bytes.data() < 40'000) {
    Event event = maker.Next();
    if (random() % 3 == 0) event.stack = static_cast<uint32_t>(random() >> (33 + random() % 31));
    ticks += random() % 100 == 0 ? random() % 1'000'000 : 1 + random() % 3000;
    out = encoder->Encode(out, event, ++*events, ticks);
  }
  bytes.resize(static_cast<size_t>(out - bytes.data()));
  return bytes;
}

TEST(SplitTimesTest, APayloadComesBack) {
  auto splitter = std::make_unique<TimeSplitter>();
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    size_t events = 0;
    std::vector<uint8_t> payload = MakePayload(seed, &events);
    const size_t size = payload.size();
    std::vector<uint8_t> split = WithRoom(size);
    std::vector<uint8_t> joined = WithRoom(size);
    payload.resize(size + kSplitSlack);
    SplitCount count = 0;
    ASSERT_TRUE(splitter->Split(payload.data(), size, split.data(), &count));
    EXPECT_EQ(count, events);
    EXPECT_TRUE(IsGuarded(split, size));
    ASSERT_TRUE(splitter->Join(split.data(), size, count, joined.data()));
    EXPECT_TRUE(std::equal(payload.begin(), payload.begin() + static_cast<ptrdiff_t>(size),
                           joined.begin()));
    EXPECT_TRUE(IsGuarded(joined, size));
    EXPECT_FALSE(splitter->Join(split.data(), size, count + 1, joined.data()));
    EXPECT_FALSE(splitter->Join(split.data(), size, ~SplitCount{0}, joined.data()));
  }
}

constexpr size_t kPeriod = 20;

// Makes a hundred iterations of kPeriod events, which have this stack. Returns the payload's size.
size_t MakeLoop(std::vector<uint8_t>* payload, uint32_t stack = 0) {
  auto encoder = std::make_unique<EventEncoder>();
  encoder->Begin(0, 0);
  payload->resize(kSlotBytes);
  std::mt19937_64 random(5);
  uint8_t* out = payload->data();
  uint64_t ticks = 0;
  for (uint64_t i = 0; i < 100 * kPeriod; ++i) {
    const uint64_t address = 0x7F0000000000 + i / 2 % (kPeriod / 2) * 512;
    ticks += 1 + random() % 1000;
    Event event = i % 2 == 0 ? Allocation(address, 512) : FreeOf(address);
    event.stack = stack;
    out = encoder->Encode(out, event, i + 1, ticks);
  }
  return static_cast<size_t>(out - payload->data());
}

TEST(SplitTimesTest, WhatIsInFrontOfTheTimesRepeatsWhereTheEventsDo) {
  std::vector<uint8_t> payload;
  const size_t size = MakeLoop(&payload);
  std::vector<uint8_t> split = WithRoom(size);
  SplitCount events = 0;
  auto splitter = std::make_unique<TimeSplitter>();
  ASSERT_TRUE(splitter->Split(payload.data(), size, split.data(), &events));
  ASSERT_EQ(events, 100 * kPeriod);
  // All addresses are recent ones, so each event has a tag, an amount and an index.
  const auto front_end = split.begin() + static_cast<ptrdiff_t>(size - 2 * events);
  constexpr ptrdiff_t kPeriodBytes = 3 * kPeriod;
  EXPECT_TRUE(std::equal(front_end - 90 * kPeriodBytes, front_end - kPeriodBytes,
                         front_end - 89 * kPeriodBytes));
}

TEST(SplitTimesTest, WhatIsCutIsRefused) {
  size_t events = 0;
  std::vector<uint8_t> payload = MakePayload(3, &events);
  const size_t size = payload.size();
  payload.resize(size + kSplitSlack);
  std::vector<uint8_t> split = WithRoom(size);
  std::vector<uint8_t> joined = WithRoom(size);
  auto splitter = std::make_unique<TimeSplitter>();
  size_t refused = 0;
  for (size_t cut = size - 300; cut < size; ++cut) {
    SplitCount count = 0;
    if (!splitter->Split(payload.data(), cut, split.data(), &count)) ++refused;
  }
  EXPECT_GT(refused, 100u);
  EXPECT_LT(refused, 300u) << "between two events it is a payload";
  std::vector<uint8_t> long_one(kSlotBytes + 1);
  SplitCount count = 0;
  EXPECT_FALSE(splitter->Split(long_one.data(), long_one.size(), split.data(), &count));
  EXPECT_FALSE(splitter->Join(long_one.data(), long_one.size(), 0, joined.data()));
}

TEST(SplitTimesTest, ALoopIsCompressedToLittleMoreThanItsTimes) {
  std::vector<uint8_t> payload;
  const auto size = static_cast<uint32_t>(MakeLoop(&payload));
  Compressor* const compressor = Compressor::Create();
  ASSERT_NE(compressor, nullptr);
  const auto encode = [&](ChunkKind kind) {
    return Compressor::Encode(compressor, kind, payload.data(), size);
  };
  const Compressor::Encoded split = encode(ChunkKind::kTickedEvents);
  EXPECT_EQ(split.encoding, ChunkEncoding::kSplitZstd);
  // Ten of the sixteen bits of a time step are noise.
  EXPECT_LT(split.size, 100 * kPeriod * 2 * 9 / 10);
  EXPECT_EQ(encode(ChunkKind::kSums).encoding, ChunkEncoding::kZstd);
  // Bytes that are not a payload of events are compressed without splitting.
  payload[0] = 0;
  const Compressor::Encoded whole = encode(ChunkKind::kTickedEvents);
  EXPECT_EQ(whole.encoding, ChunkEncoding::kZstd);
  EXPECT_GT(whole.size, split.size * 3 / 2);
  EXPECT_EQ(Compressor::Encode(nullptr, ChunkKind::kTickedEvents, payload.data(), size).encoding,
            ChunkEncoding::kPlain);
  Compressor::Destroy(compressor);
}

// Decodes a compressed payload of events.
std::vector<uint8_t> Decoded(const Compressor::Encoded& encoded, uint32_t size) {
  SplitCount events = 0;
  std::memcpy(&events, encoded.bytes, sizeof events);
  std::vector<uint8_t> split = WithRoom(size);
  const size_t count = ZSTD_decompress(split.data(), size, encoded.bytes + sizeof events,
                                       encoded.size - sizeof events);
  EXPECT_EQ(count, size);
  std::vector<uint8_t> payload = WithRoom(size);
  auto splitter = std::make_unique<TimeSplitter>();
  EXPECT_TRUE(splitter->Join(split.data(), size, events, payload.data()));
  payload.resize(size);
  return payload;
}

// Events that repeat are compressed quickly, others thoroughly, also in the same trace.
TEST(SplitTimesTest, EachChunkIsCompressedAsItRepeats) {
  std::vector<uint8_t> loop;
  const auto loop_size = static_cast<uint32_t>(MakeLoop(&loop, 1000));
  size_t events = 0;
  std::vector<uint8_t> random = MakePayload(5, &events);
  const auto random_size = static_cast<uint32_t>(random.size());
  random.resize(random_size + kSplitSlack);
  Compressor* const compressor = Compressor::Create();
  ASSERT_NE(compressor, nullptr);
  for (int i = 0; i < 50; ++i) {
    const bool is_loop = i % 20 < 10;
    const std::vector<uint8_t>& payload = is_loop ? loop : random;
    const uint32_t size = is_loop ? loop_size : random_size;
    const Compressor::Encoded encoded =
        Compressor::Encode(compressor, ChunkKind::kTickedEvents, payload.data(), size);
    ASSERT_EQ(encoded.encoding, ChunkEncoding::kSplitZstd) << i;
    ASSERT_LT(encoded.size, is_loop ? size * 2 / 5 : size) << i;
    const std::vector<uint8_t> decoded = Decoded(encoded, size);
    ASSERT_TRUE(std::equal(decoded.begin(), decoded.end(), payload.begin())) << i;
  }
  // A chunk without events has one part only.
  std::vector<uint8_t> threads;
  while (threads.size() < 3000) {
    uint8_t record[16];
    threads.insert(threads.end(), record, EventEncoder::EncodeThread(record, 7));
  }
  const auto size = static_cast<uint32_t>(threads.size());
  threads.resize(size + kSplitSlack);
  const Compressor::Encoded encoded =
      Compressor::Encode(compressor, ChunkKind::kTickedEvents, threads.data(), size);
  ASSERT_EQ(encoded.encoding, ChunkEncoding::kSplitZstd);
  EXPECT_LT(encoded.size, 100u);
  Compressor::Destroy(compressor);
}

// In a build with a sanitizer, this also finds reads and writes outside the buffers.
TEST(SplitTimesTest, DamagedBytesAreRefusedOrComeBackAsTheyAre) {
  std::mt19937_64 random(9);
  auto splitter = std::make_unique<TimeSplitter>();
  size_t events = 0;
  const std::vector<uint8_t> payload = MakePayload(4, &events);
  const size_t size = payload.size();
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<uint8_t> damaged = payload;
    for (uint64_t times = 1 + random() % 4; times != 0; --times) {
      damaged[random() % size] = static_cast<uint8_t>(random());
    }
    damaged.resize(size + kSplitSlack);
    std::vector<uint8_t> split = WithRoom(size);
    std::vector<uint8_t> joined = WithRoom(size);
    SplitCount count = 0;
    if (splitter->Split(damaged.data(), size, split.data(), &count)) {
      ASSERT_TRUE(splitter->Join(split.data(), size, count, joined.data()));
      ASSERT_TRUE(std::equal(joined.begin(), joined.begin() + static_cast<ptrdiff_t>(size),
                             damaged.begin()));
    } else {
      ++refused;
    }
    splitter->Join(damaged.data(), size, static_cast<SplitCount>(random() % (size / 4)),
                   joined.data());
    ASSERT_TRUE(IsGuarded(split, size));
    ASSERT_TRUE(IsGuarded(joined, size));
  }
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace vramstow
