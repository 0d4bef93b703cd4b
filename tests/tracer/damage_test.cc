// Tests files that are cut, damaged or malicious: the readable part is read, and the rest is
// reported.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/tracer/golden.h"
#include "tests/tracer/support.h"
#include "tracer/format/crc32c.h"
#include "tracer/format/event_encoder.h"
#include "tracer/format/layout.h"
#include "tracer/format/reader.h"

namespace vramstow {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr size_t kStride = 17;  // only every 17th byte is tried
#else
constexpr size_t kStride = 1;
#endif

std::string Golden(const std::string& name) {
  return std::string(VRAMSTOW_GOLDEN_FOLDER) + "/" + name;
}

bool IsPrefix(const std::vector<Event>& part, const std::vector<Event>& all) {
  if (part.size() > all.size()) return false;
  for (size_t i = 0; i < part.size(); ++i) {
    if (!SameEvent(part[i], all[i])) return false;
  }
  return true;
}

// True if `all` contains this event, with the same sequence.
bool Has(const std::vector<Event>& all, const Event& event) {
  const auto place =
      std::lower_bound(all.begin(), all.end(), event,
                       [](const Event& a, const Event& b) { return a.sequence < b.sequence; });
  return place != all.end() && SameEvent(*place, event);
}

// Runs its tests on the golden files of each version of the format.
class DamageOfTest : public testing::TestWithParam<const char*> {
 protected:
  std::string Closed() const { return Golden(std::string(GetParam()) + "-closed.stow"); }
  std::string Killed() const { return Golden(std::string(GetParam()) + "-killed.stow"); }
};
INSTANTIATE_TEST_SUITE_P(Versions, DamageOfTest,
                         testing::Values("v1.0", "v2.0", "v2.2", "v2.3", "v3.0", "v4.0", "v5.0"),
                         [](const auto& version) {
                           std::string name = version.param;
                           name[name.find('.')] = '_';
                           return name;
                         });

bool IsUndamaged(const ReadReport& report) {
  return report.damaged_chunks == 0 && report.damaged_bytes == 0 && report.missing_events == 0 &&
         report.dropped_events == 0;
}

TEST(GoldenTest, FilesOfEachVersionAreReadAsTheyWereWritten) {
  for (const char* name :
       {"v1.0-closed", "v1.0-killed", "v2.0-closed", "v2.0-killed", "v2.2-closed", "v2.2-killed",
        "v2.3-closed", "v2.3-killed", "v3.0-closed", "v3.0-killed", "v4.0-closed", "v4.0-killed",
        "v5.0-closed", "v5.0-killed"}) {
    EXPECT_EQ(Describe(Golden(std::string(name) + ".stow")),
              FileBytes(Golden(std::string(name) + ".txt")));
  }
}

TEST_P(DamageOfTest, EveryTruncationReadsAsAPrefixAndSaysSo) {
  const std::string whole = FileBytes(Closed());
  const ReadTrace all = ReadBytes(whole);
  ASSERT_GE(all.events.size(), 120u);
  size_t most = 0;
  for (size_t size = 0; size < whole.size(); size += size < 6000 || size > 65000 ? 1 : kStride) {
    const ReadTrace part = ReadBytes(std::string_view(whole).substr(0, size));
    if (size < sizeof kFileMagic) {
      ASSERT_EQ(part.error, ReadError::kNotATrace);
      continue;
    }
    ASSERT_EQ(part.error, ReadError::kOk) << size;
    ASSERT_TRUE(IsPrefix(part.events, all.events)) << size;
    ASSERT_GE(part.events.size(), most) << "fewer events from more bytes, at " << size;
    most = part.events.size();
    // If the header says that the trace was closed, the reader knows how many events are missing.
    // (This state is stored after the first 64 bytes.)
    if (part.report.closed && part.events.size() < all.events.size()) {
      ASSERT_FALSE(IsUndamaged(part.report)) << size;
    }
  }
  EXPECT_GE(most, all.events.size() - 1);
}

TEST_P(DamageOfTest, TruncatedTracesOfSeveralChunksKeepTheirOrder) {
  const std::string whole = FileBytes(Killed());
  const ReadTrace all = ReadBytes(whole);
  ASSERT_GE(all.events.size(), 2100u);
  for (size_t size = 8; size < whole.size(); size += 1013 * kStride) {
    const ReadTrace part = ReadBytes(std::string_view(whole).substr(0, size));
    ASSERT_EQ(part.error, ReadError::kOk);
    uint64_t sequence = 0;
    for (const Event& event : part.events) {
      ASSERT_GT(event.sequence, sequence);
      sequence = event.sequence;
      ASSERT_TRUE(Has(all.events, event));
    }
  }
}

TEST_P(DamageOfTest, AFlippedBitIsReportedWhereverAnEventChanged) {
  std::string bytes = FileBytes(Closed());
  const ReadTrace all = ReadBytes(bytes);
  const std::string original = bytes;
  size_t reported = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    // In bytes with contents every bit is flipped, one at a time. In empty bytes only a few bits
    // are flipped.
    const bool is_empty = original[i] == 0 && (i < 8 || original[i - 1] == 0);
    if (i % (is_empty ? 64 : kStride) != 0) continue;
    for (int bit = is_empty ? 7 : 0; bit < 8; ++bit) {
      bytes[i] = static_cast<char>(original[i] ^ (1 << bit));
      const ReadTrace read = ReadBytes(bytes);
      bytes[i] = original[i];
      if (read.error != ReadError::kOk) {
        ASSERT_LT(i, 10u);  // the magic number and the major version
        continue;
      }
      const bool is_same =
          read.events.size() == all.events.size() && IsPrefix(read.events, all.events);
      if (!IsUndamaged(read.report)) ++reported;
      ASSERT_TRUE(is_same || !IsUndamaged(read.report)) << "byte " << i << " bit " << bit;
      // The reader returns only events that were recorded, and kGap events, which report losses.
      for (const Event& event : read.events) {
        if (event.kind == EventKind::kGap) continue;
        ASSERT_TRUE(Has(all.events, event)) << "byte " << i;
      }
    }
  }
  EXPECT_GT(reported, 5000u / kStride);
}

TEST_P(DamageOfTest, LostOrStrangeBytesInTheMiddleCostOnlyTheChunksTheyTouch) {
  const std::string whole = FileBytes(Killed());
  const ReadTrace all = ReadBytes(whole);
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    std::string bytes = whole;
    const size_t at = 4096 + random() % (bytes.size() - 4096);
    const size_t size = 1 + random() % 1000;
    std::string strange(size, '\0');
    for (char& byte : strange) byte = static_cast<char>(random());
    if (round % 3 == 0) {
      bytes.erase(at, size);
    } else if (round % 3 == 1) {
      bytes.insert(at, strange);
    } else {
      bytes.replace(at, std::min(size, bytes.size() - at), strange.substr(0, bytes.size() - at));
    }
    const ReadTrace read = ReadBytes(bytes);
    ASSERT_EQ(read.error, ReadError::kOk);
    // At most one chunk is lost. Even if it is the largest one, with most of the events, the events
    // of all other chunks are read.
    ASSERT_GE(read.events.size(), 250u) << "at " << at << ", " << size << " bytes, round " << round;
  }
}

TEST_P(DamageOfTest, ChunksAreFoundInAnyOrderAndOnceEach) {
  const std::string whole = FileBytes(Killed());
  const ReadTrace all = ReadBytes(whole);
  // Everything behind the header is repeated, in pieces that begin with a chunk.
  const std::string magic(reinterpret_cast<const char*>(kChunkMagic), sizeof kChunkMagic);
  std::vector<std::string> pieces;
  for (size_t at = whole.find(magic); at != std::string::npos;) {
    const size_t next = whole.find(magic, at + 1);
    pieces.push_back(whole.substr(at, next == std::string::npos ? next : next - at));
    at = next;
  }
  ASSERT_GE(pieces.size(), 3u);
  std::string shuffled = whole.substr(0, kFileHeaderBytes);
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) shuffled += *piece + *piece;
  const ReadTrace read = ReadBytes(shuffled);
  EXPECT_EQ(read.events.size(), all.events.size());
  EXPECT_TRUE(IsPrefix(read.events, all.events));
  EXPECT_EQ(read.facts, all.facts);
}

TEST(DamageTest, ChunksOfAnotherTraceAreNotMixedIn) {
  const std::string closed = FileBytes(Golden("v1.0-closed.stow"));
  const std::string killed = FileBytes(Golden("v1.0-killed.stow"));
  const ReadTrace alone = ReadBytes(closed);
  const ReadTrace read = ReadBytes(closed + killed.substr(kFileHeaderBytes));
  EXPECT_TRUE(IsPrefix(read.events, alone.events));
  EXPECT_EQ(read.events.size(), alone.events.size());
  EXPECT_GT(read.report.damaged_bytes, 0u);
}

TEST(DamageTest, WhatIsNoTraceIsToldApartFromWhatCannotBeRead) {
  TemporaryFolder folder;
  const std::string file = folder.path() + "/file.stow";
  EXPECT_EQ(ReadFile(file).error, ReadError::kCannotOpen);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(ReadFile(folder.path()).error, ReadError::kCannotOpen);
  EXPECT_EQ(errno, EISDIR);
  EXPECT_EQ(ReadFile("/dev/zero").error, ReadError::kNotATrace);
  WriteFileBytes(file, "");
  EXPECT_EQ(ReadFile(file).error, ReadError::kNotATrace);
  WriteFileBytes(file, std::string(100000, 'x'));
  EXPECT_EQ(ReadFile(file).error, ReadError::kNotATrace);
  std::string newer = FileBytes(Golden("v1.0-closed.stow"));
  newer[8] = static_cast<char>(kFormatMajor + 1);
  WriteFileBytes(file, newer);
  EXPECT_EQ(ReadFile(file).error, ReadError::kNewerVersion);
}

TEST(DamageTest, AGreaterMinorVersionIsRead) {
  std::string bytes = FileBytes(Golden("v1.0-closed.stow"));
  const size_t events = ReadBytes(bytes).events.size();
  FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.minor = 7;
  header.checksum = Crc32c(&header, offsetof(FileHeader, checksum));
  std::memcpy(bytes.data(), &header, sizeof header);
  const ReadTrace read = ReadBytes(bytes);
  EXPECT_EQ(read.events.size(), events);
  EXPECT_TRUE(IsUndamaged(read.report));
}

// Returns a file of chunk headers. Each is valid, and together they announce a lot of data.
std::string Hostile(uint32_t chunks, uint32_t stride, uint32_t capacity, uint32_t committed,
                    ChunkState state) {
  std::string bytes = FileBytes(Golden("v1.0-closed.stow")).substr(0, kFileHeaderBytes);
  FileHeader file;
  std::memcpy(&file, bytes.data(), sizeof file);
  bytes.resize(kFileHeaderBytes + size_t{chunks} * stride);
  for (uint32_t i = 0; i < chunks; ++i) {
    ChunkHeader header = {};
    std::memcpy(header.magic, kChunkMagic, sizeof kChunkMagic);
    header.trace_id = file.trace_id;
    header.number = i + 1;
    header.capacity = capacity;
    header.kind = static_cast<uint8_t>(i % 2 == 0 ? ChunkKind::kEvents : ChunkKind::kTables);
    header.header_bytes = kFirstChunkHeaderBytes;
    header.base_sequence = i % 3 == 0 ? ~uint64_t{0} - i : i;
    header.checksum = Crc32c(&header, offsetof(ChunkHeader, checksum));
    header.state = state;
    header.committed = committed;
    std::memcpy(&bytes[kFileHeaderBytes + size_t{i} * stride], &header, kFirstChunkHeaderBytes);
  }
  return bytes;
}

// Returns the file of a writer that was killed behind the last chunk of a ring. The header of a new
// chunk (in the state PREP) has been written over the bytes of older chunks.
std::string WithPlaceBehind(uint32_t capacity, size_t bytes) {
  std::string file = FileBytes(Golden("v2.2-killed.stow"));
  file.resize((file.size() + kSlotBytes - 1) / kSlotBytes * kSlotBytes);
  std::string place(bytes, '\x55');
  ChunkHeader header = {};
  std::memcpy(header.magic, kChunkMagic, sizeof kChunkMagic);
  header.capacity = capacity;
  header.state = kChunkPreparing;
  std::memcpy(place.data(), &header, sizeof header);
  return file + place;
}

TEST(DamageTest, AFileMayEndWithinThePaddingOfAnEmptyPlace) {
  const uint64_t damaged = ReadBytes(WithPlaceBehind(6760, 6760)).report.damaged_bytes;
  for (uint32_t missing = 1; missing < kChunkAlignment; ++missing) {
    const ReadTrace read = ReadBytes(WithPlaceBehind(6760, 6760 - missing));
    EXPECT_EQ(read.report.damaged_bytes, damaged) << missing;
  }
  const ReadTrace cut = ReadBytes(WithPlaceBehind(6760, 6760 - kChunkAlignment));
  EXPECT_EQ(cut.report.damaged_bytes, damaged + 6760 - kChunkAlignment);
}

// Two chunks have the same number, so the reader chooses one of them, and the compressed contents
// of both have no bytes. (The fuzzer found this; the undefined-behaviour sanitizer reports it.)
TEST(DamageTest, CompressedChunksWithoutBytesAreRead) {
  std::string bytes = FileBytes(Golden("v3.0-closed.stow")).substr(0, kFileHeaderBytes);
  FileHeader file;
  std::memcpy(&file, bytes.data(), sizeof file);
  for (const uint32_t number : {0u, 1u, 2u, 3u}) {
    const uint32_t payload_bytes = number % 2 * 100;
    ChunkHeader header = {};
    std::memcpy(header.magic, kChunkMagic, sizeof kChunkMagic);
    header.trace_id = file.trace_id;
    header.number = 1;
    header.capacity = header.header_bytes = sizeof header;
    header.kind = static_cast<uint8_t>(ChunkKind::kTickedEvents);
    header.encoding =
        static_cast<uint8_t>(number < 2 ? ChunkEncoding::kZstd : ChunkEncoding::kSplitZstd);
    header.checksum = Crc32c(&header, offsetof(ChunkHeader, checksum));
    header.buffer = 1;
    header.payload_bytes = payload_bytes;
    header.more_checksum = Crc32c(
        &header.buffer, offsetof(ChunkHeader, more_checksum) - offsetof(ChunkHeader, buffer));
    header.turn = 1;
    header.state = kChunkSealed;
    header.payload_checksum = Crc32c(nullptr, 0);
    bytes.append(reinterpret_cast<const char*>(&header), sizeof header);
  }
  const ReadTrace read = ReadBytes(bytes);
  EXPECT_EQ(read.error, ReadError::kOk);
  EXPECT_TRUE(read.events.empty());
}

// A thread may stop just after it has begun a chunk, while other threads overwrite the whole ring.
// The chunk still shows how many events the thread had before. (A thousand kills found this case.)
TEST(DamageTest, AChunkThatWasJustBegunTellsHowManyEventsCameBefore) {
  constexpr uint64_t kBefore = 28957;
  for (const bool is_ring : {false, true}) {
    std::string bytes = FileBytes(Golden("v3.0-closed.stow")).substr(0, kFileHeaderBytes);
    FileHeader file;
    std::memcpy(&file, bytes.data(), sizeof file);
    file.state = static_cast<uint32_t>(TraceState::kRunning);
    file.ring_bytes = is_ring ? 1 << 20 : 0;
    std::memcpy(bytes.data(), &file, sizeof file);
    ChunkHeader header = {};
    std::memcpy(header.magic, kChunkMagic, sizeof kChunkMagic);
    header.trace_id = file.trace_id;
    header.number = 5;
    header.capacity = kSlotBytes;
    header.header_bytes = sizeof header;
    header.kind = static_cast<uint8_t>(ChunkKind::kTickedEvents);
    header.base_sequence = kBefore;
    header.checksum = Crc32c(&header, offsetof(ChunkHeader, checksum));
    header.state = kChunkOpen;
    header.buffer = 1;
    header.more_checksum = Crc32c(
        &header.buffer, offsetof(ChunkHeader, more_checksum) - offsetof(ChunkHeader, buffer));
    header.turn = 2;
    std::string slot(kSlotBytes, '\0');
    std::memcpy(slot.data(), &header, sizeof header);
    const ReadTrace read = ReadBytes(bytes + slot);
    EXPECT_TRUE(read.events.empty());
    EXPECT_EQ(read.report.damaged_chunks, 0u);
    EXPECT_EQ(read.report.overwritten_events, is_ring ? kBefore : 0);
    EXPECT_EQ(read.report.missing_events, is_ring ? 0 : kBefore);
  }
}

// Returns a sealed chunk of a buffer's events with ticks, one event at each of `ticks`.
std::string TickedChunk(uint64_t trace_id, uint32_t buffer, const std::vector<uint64_t>& ticks) {
  std::vector<uint8_t> payload(kSlotBytes);
  auto encoder = std::make_unique<EventEncoder>();
  encoder->Begin(0, 0);
  uint8_t* out = EventEncoder::EncodeClock(payload.data(), 0, 0, uint64_t{1} << 32);
  for (size_t i = 0; i < ticks.size(); ++i) {
    out = encoder->Encode(out, Allocation(uint64_t{buffer} << 32 | i << 12, 512), i + 1, ticks[i]);
  }
  const size_t size = static_cast<size_t>(out - payload.data());
  ChunkHeader header = {};
  std::memcpy(header.magic, kChunkMagic, sizeof kChunkMagic);
  header.trace_id = trace_id;
  header.number = buffer;
  header.capacity = static_cast<uint32_t>((sizeof header + size + 7) / 8 * 8);
  header.header_bytes = sizeof header;
  header.kind = static_cast<uint8_t>(ChunkKind::kTickedEvents);
  header.checksum = Crc32c(&header, offsetof(ChunkHeader, checksum));
  header.state = kChunkSealed;
  header.committed = static_cast<uint32_t>(size);
  header.payload_checksum = Crc32c(payload.data(), size);
  header.buffer = buffer;
  header.more_checksum =
      Crc32c(&header.buffer, offsetof(ChunkHeader, more_checksum) - offsetof(ChunkHeader, buffer));
  header.turn = 1;
  std::string bytes(header.capacity, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, payload.data(), size);
  return bytes;
}

// The order of events with one tick contains only the low bits of the buffers' numbers. If these
// are the same, the reader itself distinguishes the events.
TEST(DamageTest, ManyBuffersWithTheSameLowBitsMayHaveEventsAtOneTick) {
  constexpr uint64_t kTick = 500;
  constexpr size_t kEvents = 1000;
  for (const uint32_t first : {1u, 63u, 64u}) {
    for (const uint32_t count : {2u, 3u, 5u}) {
      SCOPED_TRACE(testing::Message() << count << " buffers from " << first);
      std::string bytes = FileBytes(Golden("v3.0-closed.stow")).substr(0, kFileHeaderBytes);
      FileHeader file;
      std::memcpy(&file, bytes.data(), sizeof file);
      file.last_sequence = count * kEvents;
      std::memcpy(bytes.data(), &file, sizeof file);
      for (uint32_t i = 0; i < count; ++i) {
        std::vector<uint64_t> ticks;
        for (uint64_t at = 1; at <= kEvents; ++at)
          ticks.push_back(at < kTick ? 2 * at : kTick + at);
        bytes += TickedChunk(file.trace_id, first + (i << kBufferBits), ticks);
      }
      const ReadTrace read = ReadBytes(bytes);
      EXPECT_EQ(read.report.damaged_chunks, 0u);
      EXPECT_EQ(read.report.missing_events, 0u);
      ASSERT_EQ(read.events.size(), count * kEvents);
      for (size_t i = 1; i < read.events.size(); ++i) {
        ASSERT_GT(read.events[i].sequence, read.events[i - 1].sequence);
      }
    }
  }
}

TEST(DamageTest, HugePromisesCostLittle) {
  for (const ChunkState state : {kChunkOpen, kChunkSealed, kChunkPreparing}) {
    for (const uint32_t capacity : {0u, 64u, 80u, 4096u, kMaxChunkBytes, ~0u}) {
      for (const uint32_t committed : {0u, 1u, 16u, capacity - 64, ~0u}) {
        const ReadTrace read = ReadBytes(Hostile(2000, 96, capacity, committed, state));
        EXPECT_EQ(read.error, ReadError::kOk);
        EXPECT_TRUE(read.events.empty());
      }
    }
  }
}

TEST_P(DamageOfTest, MutationsOfGoldenFilesAreReadInOrderAndInBoundedTime) {
  std::mt19937_64 random(2);
  const std::string goldens[] = {FileBytes(Closed()), FileBytes(Killed())};
  for (int round = 0; round < 3000 / static_cast<int>(kStride); ++round) {
    std::string bytes = goldens[round % 4 == 3];
    // Most changes are made where data are: around chunk headers and their first records.
    const size_t begins[] = {64, 4096, 65536, 131072};
    for (uint64_t changes = 1 + random() % 8; changes > 0; --changes) {
      const size_t at = std::min(begins[random() % 4] + random() % (random() % 2 == 0 ? 64 : 2000),
                                 bytes.size() - 9);
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1: {
          const uint64_t number = random() >> random() % 64;
          std::memcpy(&bytes[at], &number, 1 + random() % 8);
          break;
        }
        case 2:
          bytes.erase(at, random() % 200);
          break;
        default:
          bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 200));
          break;
      }
      if (bytes.size() < 140000) bytes.resize(140000);
    }
    const ReadTrace read = ReadBytes(bytes);
    uint64_t sequence = 0;
    for (const Event& event : read.events) {
      ASSERT_GT(event.sequence, sequence);
      sequence = event.sequence;
    }
  }
}

}  // namespace
}  // namespace vramstow
