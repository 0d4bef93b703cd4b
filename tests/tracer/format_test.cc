// Tests the small parts of the format and of the recorder one by one.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/tracer/support.h"
#include "tracer/clock.h"
#include "tracer/format/crc32c.h"
#include "tracer/format/layout.h"
#include "tracer/format/table_decoder.h"
#include "tracer/format/varint.h"
#include "tracer/name_table.h"
#include "tracer/owner_mutex.h"

namespace vramstow {
namespace {

TEST(Crc32cTest, GivesTheValuesOfTheStandard) {
  EXPECT_EQ(Crc32c("123456789", 9), 0xE3069283u);
  EXPECT_EQ(Crc32cByTables("123456789", 9), 0xE3069283u);
  // The expected values are the examples of RFC 3720, B.4.
  EXPECT_EQ(Crc32c(std::string(32, '\0').data(), 32), 0x8A9136AAu);
  EXPECT_EQ(Crc32c(std::string(32, '\xFF').data(), 32), 0x62A8AB43u);
  EXPECT_EQ(Crc32c(nullptr, 0), 0u);
}

TEST(Crc32cTest, IsTheSameByInstructionAndByTables) {
  std::mt19937_64 random(1);
  std::string bytes(1000, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  for (size_t begin = 0; begin < 9; ++begin) {
    for (size_t size = 0; size < 200; ++size) {
      ASSERT_EQ(Crc32c(bytes.data() + begin, size), Crc32cByTables(bytes.data() + begin, size));
    }
  }
}

TEST(VarintTest, GivesBackEveryNumberInTheFewestBytes) {
  for (unsigned bits = 0; bits <= 64; ++bits) {
    const uint64_t top = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    for (const uint64_t value : {top, top / 2 + 1, top - top / 3}) {
      uint8_t bytes[2 * kMaxVarintBytes] = {};
      const size_t size = static_cast<size_t>(WriteVarint(bytes, value) - bytes);
      const unsigned used_bits =
          value == 0 ? 1 : 64 - static_cast<unsigned>(__builtin_clzll(value));
      EXPECT_EQ(size, used_bits > 56 ? 9 : (used_bits + 6) / 7);
      uint64_t read = 0;
      EXPECT_EQ(ReadVarint(bytes, &read), bytes + size);
      EXPECT_EQ(read, value);
      EXPECT_EQ(ReadVarint(bytes, bytes + size, &read), bytes + size);
      EXPECT_EQ(read, value);
      EXPECT_EQ(ReadVarint(bytes, bytes + size - 1, &read), nullptr);
      EXPECT_EQ(UnZigZag(ZigZag(value)), value);
      EXPECT_EQ(UnZigZag(ZigZag(uint64_t{0} - value)), uint64_t{0} - value);
    }
  }
}

TEST(VarintTest, WritesWhatTheDocumentSays) {
  const struct {
    uint64_t value;
    std::string bytes;
  } examples[] = {{0, "\x01"}, {127, "\xFF"}, {128, "\x02\x02"}, {300, "\xB2\x04"}};
  for (const auto& example : examples) {
    uint8_t bytes[16];
    const size_t size = static_cast<size_t>(WriteVarint(bytes, example.value) - bytes);
    EXPECT_EQ(std::string(reinterpret_cast<char*>(bytes), size), example.bytes);
  }
}

TEST(NameTableTest, GivesTheSameTextTheSameNumberUntilItIsFull) {
  auto table = std::make_unique<NameTable>();
  std::memset(static_cast<void*>(table.get()), 0, sizeof *table);
  EXPECT_EQ(table->Intern("").number, 1);
  for (size_t i = 2; i <= NameTable::kMaxNames; ++i) {
    const NameTable::Result result = table->Intern("name " + std::to_string(i));
    ASSERT_EQ(result.number, i);
    ASSERT_TRUE(result.is_new);
  }
  EXPECT_EQ(table->Intern("one too many").number, 0);
  for (size_t i = 2; i <= NameTable::kMaxNames; ++i) {
    const NameTable::Result result = table->Intern("name " + std::to_string(i));
    ASSERT_EQ(result.number, i);
    ASSERT_FALSE(result.is_new);
  }
  table->ForgetLast();
  EXPECT_EQ(table->Intern("in its place").number, NameTable::kMaxNames);
}

TEST(MutexTest, LetsOneInAtATimeAndTellsTheHolder) {
  OwnerMutex mutex;
  int64_t count = 0;
  std::vector<std::thread> threads = StartThreads(4, [&](int) {
    uint64_t me;
    for (int k = 0; k < 50000; ++k) {
      if (!mutex.Lock(&me)) {
        ADD_FAILURE() << "a lock that this thread does not hold";
        continue;
      }
      ++count;
      mutex.Unlock();
    }
  });
  JoinAll(&threads);
  EXPECT_EQ(count, 200000);
  uint64_t me;
  for (int i = 0; i < 2; ++i) {
    if (!mutex.Lock(&me)) FAIL() << "free, but not to be had";
    const bool again = mutex.Lock(&me);
    EXPECT_FALSE(again);
    mutex.Unlock();
  }
}

// A signal handler may wait for a thread that waits for what the interrupted thread holds.
TEST(MutexTest, WaitsNoLongerThanAsked) {
  OwnerMutex mutex;
  const uint64_t me = 0;
  if (!mutex.Lock(&me)) FAIL() << "free, but not to be had";
  std::thread([&mutex] {
    const uint64_t other = 0;
    constexpr timespec kMoment = {0, 20'000'000};
    const auto begin = std::chrono::steady_clock::now();
    const bool is_mine = mutex.Lock(&other, &kMoment);
    EXPECT_FALSE(is_mine);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(20));
  }).join();
  mutex.Unlock();
  if (!mutex.Lock(&me)) FAIL() << "free, but not to be had";
  mutex.Unlock();
}

// Returns a record of a table: its type, its length, its numbers and its text.
std::string TableRecord(RecordType type, const std::vector<uint64_t>& numbers,
                        const std::string& text) {
  std::string payload;
  for (const uint64_t number : numbers) {
    uint8_t bytes[kMaxVarintBytes];
    payload.append(reinterpret_cast<char*>(bytes),
                   static_cast<size_t>(WriteVarint(bytes, number) - bytes));
  }
  payload += text;
  return std::string(1, static_cast<char>(type)) +
         static_cast<char>(OneByteVarint(payload.size())) + payload;
}
bool DecodesAll(const std::string& bytes, TraceTables* tables) {
  size_t consumed = 0;
  return tables->Decode(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), &consumed);
}

TEST(TableTest, AStackHasNoMoreFramesThanTheRecorderWrites) {
  TraceTables tables;
  std::string bytes;
  constexpr uint64_t kNodes = 20'000;
  for (uint64_t number = 1; number <= kNodes; ++number) {
    const std::string rest = TableRecord(RecordType::kStack, {1, number}, "").substr(2);
    bytes += TableRecord(RecordType::kStack, {number, number - 1}, std::string(1, '\1') + rest);
  }
  ASSERT_TRUE(DecodesAll(bytes, &tables));
  const std::vector<TraceFrame> frames = tables.Stack(kNodes);
  EXPECT_EQ(frames.size(), 4097u);
  EXPECT_EQ(frames.front().offset, kNodes);
}

TEST(TableTest, FactsAnnotationsAndFunctionsBeyondTheLimitsAreIgnored) {
  TraceTables tables;
  std::string facts;
  for (int i = 0; i < 5000; ++i) {
    const std::string key = std::to_string(10'000 + i);
    facts += TableRecord(RecordType::kFact, {key.size()}, key + "first");
  }
  facts += TableRecord(RecordType::kFact, {5}, "10000again");
  ASSERT_TRUE(DecodesAll(facts, &tables));
  EXPECT_EQ(tables.facts.size(), 4096u);
  EXPECT_EQ(tables.facts.at("10000"), "again");

  std::string annotations;
  for (uint64_t i = 1; i <= 0x100000; ++i) {
    annotations += TableRecord(RecordType::kAnnotation, {i}, "");
  }
  ASSERT_TRUE(DecodesAll(annotations, &tables));
  EXPECT_EQ(tables.annotations.size(), 0xFFFFFu);

  // 25 functions with neither names nor files at each address.
  std::string functions;
  for (uint64_t i = 0; i < 170'000; ++i) {
    functions += TableRecord(RecordType::kFunction, {1, i}, std::string(100, '\1'));
  }
  ASSERT_TRUE(DecodesAll(functions, &tables));
  size_t kept = 0;
  for (const auto& [place, list] : tables.functions) kept += list.size();
  EXPECT_LE(kept, size_t{0x3FFFFF});
  EXPECT_GT(kept, size_t{0x3FFF00});
  EXPECT_EQ(kept, tables.functions_in_all);
}

TEST(TableTest, StacksLeadFromFrameToFrameAndNeverInACircle) {
  TraceTables tables;
  std::string bytes = TableRecord(RecordType::kCode, {1, 10, 5}, "trainer/train.py");
  const auto node = [](uint64_t number, uint64_t parent, uint8_t kind, uint64_t source,
                       uint64_t place) {
    std::string rest = TableRecord(RecordType::kStack, {source, place}, "").substr(2);
    return TableRecord(RecordType::kStack, {number, parent}, std::string(1, char(kind)) + rest);
  };
  bytes +=
      node(1, 0, 1, 7, 0x1234) + node(2, 1, 2, 1, 42) + node(3, 2, 2, 99, 1) + node(4, 3, 9, 1, 1);
  size_t consumed = 0;
  const auto* const data = reinterpret_cast<const uint8_t*>(bytes.data());
  ASSERT_TRUE(tables.Decode(data, bytes.size(), &consumed));
  const std::vector<TraceFrame> frames = tables.Stack(4);
  ASSERT_EQ(frames.size(), 4u);
  EXPECT_EQ(frames[0].kind, TraceFrame::Kind::kUnknown);
  EXPECT_EQ(frames[1].function, "unknown");
  EXPECT_EQ(frames[2].function, "train");
  EXPECT_EQ(frames[2].file, "er/train.py");
  EXPECT_EQ(frames[2].first_line, 10u);
  EXPECT_EQ(frames[2].line, 42u);
  EXPECT_EQ(frames[3].library, 7u);
  EXPECT_EQ(frames[3].offset, 0x1234u);
  EXPECT_TRUE(tables.Stack(0).empty());
  EXPECT_TRUE(tables.Stack(5).empty());
  for (const uint64_t parent : {5, 6}) {
    const std::string circle = node(5, parent, 1, 1, 1);
    EXPECT_FALSE(
        tables.Decode(reinterpret_cast<const uint8_t*>(circle.data()), circle.size(), &consumed));
  }
}

TEST(ClockTest, TicksAndTheirScaleAgreeWithTheKernel) {
  TraceClock clock;
  clock.Start(true);
  if (!clock.counter_is_trusted()) GTEST_SKIP() << "the kernel does not trust this counter";
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  int far_off = 0;
  for (int i = 0; i < 20; ++i) {
    // Anew each time, because a sleep may be long, and an error grows with the time.
    const TraceClock::Reading anchor = clock.Read();
    const uint64_t scale = TraceClock::Scale(anchor);
    EXPECT_GT(TraceClock::ValidTicks(anchor), 0u);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const uint64_t before = clock.Nanoseconds();
    const uint64_t ticks = clock.Ticks();
    const uint64_t after = clock.Nanoseconds();
    const uint64_t now = anchor.time_ns + ((ticks - anchor.ticks) * scale >> 32);
    if (now + 5000 < before || now > after + 5000) ++far_off;
  }
  // A busy machine may interrupt the thread between two readings.
  EXPECT_LE(far_off, 2);
}

// After a suspension to memory the counter may begin at zero again.
TEST(ClockTest, TicksContinueAfterTheCounterWasReset) {
  TraceClock clock;
  clock.Start(true);
  if (!clock.counter_is_trusted()) GTEST_SKIP() << "the kernel does not trust this counter";
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const TraceClock::Reading before = clock.Read();
  const uint64_t scale = TraceClock::Scale(before);
  clock.ResetCounterForTest(uint64_t{1} << 50);
  EXPECT_GT(clock.Ticks(), uint64_t{1} << 63) << "an event at this time takes the slow path";
  uint64_t last = before.ticks;
  for (int i = 0; i < 3; ++i) {
    const uint64_t ticks = clock.CheckedTicks();
    EXPECT_GT(ticks, last);
    const TraceClock::Reading now = clock.Read();
    EXPECT_GE(now.ticks, ticks);
    EXPECT_GE(clock.Ticks(), now.ticks);
    const uint64_t time_ns = now.ticks * scale >> 32;
    EXPECT_NEAR(static_cast<double>(time_ns), static_cast<double>(now.time_ns), 5e6);
    last = now.ticks;
  }
}

TEST(ClockTest, IsNotTrustedWhereThatIsSaid) {
  TraceClock clock;
  clock.Start(false);
  EXPECT_FALSE(clock.counter_is_trusted());
}

}  // namespace
}  // namespace vramstow
