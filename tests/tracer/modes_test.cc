// Tests the recorder's own thread, the ring, and annotations, by reading the traces.
#include <errno.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/tracer/support.h"
#include "tracer/clock.h"
#include "tracer/format/layout.h"
#include "tracer/host_memory_usage.h"
#include "tracer/recorder.h"

namespace vramstow {
namespace {

RecorderConfig ConfigFor(const TemporaryFolder& folder) {
  return {folder.path().c_str(), "test", TestThreadSlot};
}

std::string FileIn(const TemporaryFolder& folder) { return folder.path() + "/test.stow"; }

Recorder* Opened(const RecorderConfig& config) {
  Recorder* const recorder = NewRecorder();
  EXPECT_EQ(recorder->Open(config), RecorderError::kOk);
  return recorder;
}

// Records numbered events in four threads, which wait sometimes until the background thread has
// written what it was given.
void RecordNumbered(Recorder* recorder, uint64_t events) {
  constexpr int kThreads = 4;
  // A thread that begins after another one has ended continues the other's chunk. So no thread goes
  // on before each has a buffer of its own.
  std::barrier all(kThreads);
  std::vector<std::thread> threads = StartThreads(kThreads, [&](int thread) {
    for (uint64_t i = 1; i <= events; ++i) {
      Event event = Allocation(i * 4096, 512 * (i % 100 + 1));
      event.object = static_cast<uint64_t>(thread) + 1;
      event.offset = i;
      recorder->Record(event);
      if (i == 1) all.arrive_and_wait();
      if (i % 5000 == 0) WaitForWriter();
    }
  });
  JoinAll(&threads);
}

std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.push_back(entry.path().filename());
  }
  return files;
}

// Records as the observer of PyTorch does. The memory of most blocks may be allocated again
// immediately after their free.
TEST(Modes, AFreeThatCompletesAtOnceIsToldByChangingIt) {
  for (const StackMode stacks : {StackMode::kOff, StackMode::kSites, StackMode::kAll}) {
    const TemporaryFolder folder;
    RecorderConfig config = ConfigFor(folder);
    config.slot_is_static = true;
    config.stacks = stacks;
    Recorder* const recorder = Opened(config);
    std::vector<Event> recorded;
    const auto record = [&](const Event& event) {
      recorded.push_back(event);
      return recorded.back().sequence = recorder->RecordWithStack(event);
    };
    int changed = 0;
    constexpr uint64_t kBlocks = 20'000;  // more than fit into a chunk
    for (uint64_t i = 0; i < kBlocks; ++i) {
      record(Allocation(0x1000 + i % 300 * 512, 512));
      const Event freed = FreeOf(0x1000 + i % 300 * 512);
      const uint64_t sequence = record(freed);
      Event after = freed;
      after.kind = EventKind::kFreeCompleted;
      if (i % 100 == 1) record(Allocation(0xF000000 + i * 512, 512));
      if (i % 100 == 2) {
        std::thread([&] { EXPECT_FALSE(recorder->CompleteFree(sequence)); }).join();
      }
      if (recorder->CompleteFree(sequence)) {
        EXPECT_NE(i % 100, 1u) << "it is not the last event";
        ++changed;
        recorded.push_back(after);
      } else {
        record(after);
      }
    }
    recorder->Close();
    EXPECT_FALSE(recorder->CompleteFree(recorded.back().sequence));
    const ReadTrace trace = ReadFile(FileIn(folder));
    ASSERT_EQ(trace.events.size(), recorded.size());
    for (size_t i = 0; i < recorded.size(); ++i) {
      ASSERT_TRUE(SameStory(trace.events[i], recorded[i])) << i << ": " << ToText(trace.events[i]);
    }
    EXPECT_EQ(trace.report.missing_events, 0u);
    EXPECT_EQ(trace.report.damaged_bytes, 0u);
    // The recorder does not use the short form of such a free if it does not trust the processor's
    // counter, or if frees have call stacks of their own.
    TraceClock clock;
    clock.Start(true);
    const bool is_fast = clock.counter_is_trusted() && stacks != StackMode::kAll;
    EXPECT_GE(changed, is_fast ? int{kBlocks} * 98 / 100 : 0);
    EXPECT_LE(changed, is_fast ? int{kBlocks} * 99 / 100 : 0);
  }
}

TEST(Modes, TheBackgroundCompressesAndLosesNothing) {
  constexpr uint64_t kEvents = 60'000;
  uint64_t bytes[2];
  for (const bool compress : {false, true}) {
    const TemporaryFolder folder;
    RecorderConfig config = ConfigFor(folder);
    config.background = true;
    config.compress = compress;
    Recorder* const recorder = Opened(config);
    RecordNumbered(recorder, kEvents);
    recorder->Close();
    const ReadTrace trace = ReadFile(FileIn(folder));
    ASSERT_EQ(trace.error, ReadError::kOk);
    EXPECT_TRUE(trace.report.closed);
    EXPECT_EQ(trace.report.events, 4 * kEvents);
    EXPECT_EQ(trace.report.missing_events, 0u);
    EXPECT_EQ(trace.report.damaged_bytes, 0u);
    uint64_t counts[4] = {};
    for (const Event& event : trace.events) {
      ASSERT_EQ(event.offset, ++counts[event.object - 1]);
    }
    bytes[compress ? 1 : 0] = std::filesystem::file_size(FileIn(folder));
  }
  // Some chunks are not compressed, because the background thread may not keep up.
  EXPECT_LT(bytes[1], bytes[0] / 10 * 9);
}

TEST(Modes, ARingKeepsTheNewestEventsInItsSize) {
  constexpr uint64_t kEvents = 400'000;
  for (const bool compress : {false, true}) {
    const TemporaryFolder folder;
    RecorderConfig config = ConfigFor(folder);
    config.background = true;
    config.compress = compress;
    config.ring_bytes = kLeastRingBytes;
    Recorder* const recorder = Opened(config);
    recorder->Describe("told.first", "kept");
    RecordNumbered(recorder, kEvents);
    // The file consists of the ring and of slots (parts of equal size): those of the tables, and
    // two for each thread.
    EXPECT_LE(std::filesystem::file_size(FileIn(folder)), kLeastRingBytes + 10 * kSlotBytes);
    recorder->Close();
    const ReadTrace trace = ReadFile(FileIn(folder));
    ASSERT_EQ(trace.error, ReadError::kOk);
    EXPECT_EQ(trace.facts.at("told.first"), "kept");
    EXPECT_EQ(trace.report.damaged_bytes, 0u);
    EXPECT_EQ(trace.report.missing_events, 0u);
    EXPECT_GT(trace.report.overwritten_events, 0u);
    EXPECT_EQ(trace.report.events + trace.report.overwritten_events, 4 * kEvents);
    uint64_t counts[4] = {};
    for (const Event& event : trace.events) {
      uint64_t& count = counts[event.object - 1];
      if (count == 0) count = event.offset - 1;
      ASSERT_EQ(event.offset, ++count) << "a hole in the thread's events";
    }
    for (const uint64_t count : counts) EXPECT_EQ(count, kEvents);
  }
}

// In a ring a chunk may replace an older, longer one. If that is the last chunk of the file,
// padding follows it. Otherwise the file would end before the end of the older chunk's range, and a
// reader would report damage.
TEST(Modes, ChunksOfARingEndWhereTheirPlacesEnd) {
  const TemporaryFolder folder;
  RecorderConfig config = ConfigFor(folder);
  config.ring_bytes = kLeastRingBytes;
  Recorder* const recorder = Opened(config);
  uint64_t lengths = 0;
  uint64_t before = 0;
  for (uint64_t i = 0; i < 300'000; ++i) {
    recorder->Record(Allocation(i * i * 4096, 512 * (i % 1000)));
    const uint64_t length = std::filesystem::file_size(FileIn(folder));
    if (length == before) continue;
    before = length;
    ++lengths;
    ASSERT_EQ(length % kChunkAlignment, 0u);
  }
  EXPECT_GT(lengths, 10u) << "the file grew by chunks";
  recorder->Close();
  EXPECT_EQ(ReadFile(FileIn(folder)).report.damaged_bytes, 0u);
}

TEST(Modes, ACopyOfARunningTraceIsATraceOfThatMoment) {
  for (const uint64_t ring_bytes : {uint64_t{0}, kLeastRingBytes}) {
    const TemporaryFolder folder;
    RecorderConfig config = ConfigFor(folder);
    config.background = true;
    config.compress = ring_bytes != 0;
    config.ring_bytes = ring_bytes;
    Recorder* const recorder = Opened(config);
    recorder->Describe("told.first", "kept");
    std::thread busy([&] { RecordNumbered(recorder, 150'000); });
    std::vector<std::string> copies;
    for (int i = 0; i < 12; ++i) {
      char name[PATH_MAX];
      ASSERT_EQ(recorder->WriteCopy("dump", false, name, sizeof name), 0);
      copies.emplace_back(name);
    }
    busy.join();
    char name[PATH_MAX];
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(recorder->WriteCopy("oom", true, name, sizeof name), 0);
      EXPECT_EQ(name, folder.path() + "/test-oom.stow");
    }
    copies.emplace_back(name);
    recorder->Close();
    EXPECT_EQ(recorder->WriteCopy("dump", false, name, sizeof name), EBADF);
    EXPECT_EQ(copies[0], folder.path() + "/test-dump.stow");
    EXPECT_EQ(copies[1], folder.path() + "/test-dump-2.stow");
    uint64_t before = 0;
    for (const std::string& copy : copies) {
      const ReadTrace trace = ReadFile(copy);
      ASSERT_EQ(trace.error, ReadError::kOk) << copy;
      EXPECT_FALSE(trace.report.closed);
      EXPECT_EQ(trace.facts.at("told.first"), "kept");
      EXPECT_EQ(trace.report.missing_events, 0u) << copy;
      // The copy contains each thread's events up to that moment without a gap.
      uint64_t counts[4] = {};
      for (const Event& event : trace.events) {
        uint64_t& count = counts[event.object - 1];
        if (count == 0) count = event.offset - 1;
        ASSERT_EQ(event.offset, ++count) << copy;
      }
      const uint64_t all = trace.report.events + trace.report.overwritten_events;
      EXPECT_GE(all, before);
      before = all;
    }
    EXPECT_EQ(before, 600'000u);
    EXPECT_EQ(FilesIn(folder.path()).size(), copies.size() + 1) << "no half-made file is left";
  }
}

TEST(Modes, AnnotationsKeepTheirTextsAndRangesNest) {
  TestRecorder recorder;
  const uint64_t outer = recorder->InternAnnotation("outer");
  const uint64_t inner = recorder->InternAnnotation("inner");
  EXPECT_EQ(recorder->InternAnnotation("outer"), outer);
  EXPECT_NE(outer, inner);
  recorder->RecordMark(MarkKind::kRangeBegins, outer, 0);
  std::thread([&] {
    recorder->RecordMark(MarkKind::kRangeBegins, inner, 0);
    recorder->RecordMark(MarkKind::kRangeEnds, 0, 0);
    recorder->RecordMark(MarkKind::kRangeEnds, 0, 0);  // ends no range
  }).join();
  recorder->RecordMark(MarkKind::kRangeBegins, inner, 7);  // process-wide: never the innermost
  recorder->RecordMark(MarkKind::kRangeEnds, 0, 0);
  recorder->RecordMark(MarkKind::kRangeEnds, inner, 7);
  recorder->RecordMark(MarkKind::kMoment, recorder->InternAnnotation("iteration"), 12);
  // There are more texts than fit into the table. Those that do not fit lose their numbers.
  for (int i = 0; i < 60'000; ++i) {
    const std::string text = "step " + std::to_string(i);
    const uint64_t number = recorder->InternAnnotation(text);
    ASSERT_NE(number, 0u);
    if (i == 59'999) recorder->RecordMark(MarkKind::kMoment, number, 0);
  }
  recorder->Close();

  TraceReader reader;
  ASSERT_EQ(reader.Open(recorder.File().c_str()), ReadError::kOk);
  std::vector<std::string> recorded;
  Event event;
  while (reader.Next(&event)) {
    EXPECT_EQ(event.kind, EventKind::kMark);
    recorded.push_back(std::to_string(event.offset) + " " +
                       std::string(reader.Annotation(event.object)));
  }
  const std::vector<std::string> expected = {"1 outer",   "1 inner",     "2 inner",
                                             "2 unknown", "1 inner",     "2 outer",
                                             "2 inner",   "0 iteration", "0 step "};
  EXPECT_EQ(recorded, expected);
}

TEST(Modes, TheHostsMemoryIsASeries) {
  const TemporaryFolder folder;
  RecorderConfig config = ConfigFor(folder);
  config.background = true;
  config.sample_ms = 5;
  Recorder* const recorder = Opened(config);
  std::vector<char> held(64 << 20, 1);
  // The second sample from now on was begun after the memory was allocated.
  const size_t before = ReadFile(FileIn(folder)).events.size();
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (ReadFile(FileIn(folder)).events.size() < before + 2) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "the recorder's thread makes no samples";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  recorder->Close();
  const ReadTrace trace = ReadFile(FileIn(folder));
  ASSERT_GE(trace.events.size(), 2u);
  const Event& last = trace.events.back();
  EXPECT_EQ(last.kind, EventKind::kMemoryInfo);
  EXPECT_EQ(last.memory, MemoryKind::kHostPhysical);
  EXPECT_GE(last.object, held.size());
  EXPECT_LT(last.object, uint64_t{1} << 40);
  EXPECT_GT(last.requested, 0u);
  EXPECT_LE(last.size, last.requested);
  EXPECT_EQ(ReadHostMemory().limit, last.requested);
}

std::atomic<pthread_t> signalled_thread;
void NoteThread(int) { signalled_thread = pthread_self(); }

TEST(Modes, SignalsAreForTheProgramsOwnThreads) {
  const TemporaryFolder folder;
  RecorderConfig config = ConfigFor(folder);
  config.background = true;
  Recorder* const recorder = Opened(config);
  signal(SIGUSR1, NoteThread);
  for (int i = 0; i < 50; ++i) {
    kill(getpid(), SIGUSR1);
    ASSERT_TRUE(pthread_equal(signalled_thread, pthread_self()));
  }
  // If no other thread can receive the signal, it remains pending, because the recorder's thread
  // has it masked.
  sigset_t mine;
  sigemptyset(&mine);
  sigaddset(&mine, SIGUSR1);
  signalled_thread = pthread_t{};
  pthread_sigmask(SIG_BLOCK, &mine, nullptr);
  kill(getpid(), SIGUSR1);
  const timespec pause = {0, 20'000'000};
  nanosleep(&pause, nullptr);
  EXPECT_EQ(signalled_thread, pthread_t{});
  pthread_sigmask(SIG_UNBLOCK, &mine, nullptr);
  signal(SIGUSR1, SIG_DFL);
  recorder->Close();
}

}  // namespace
}  // namespace vramstow
