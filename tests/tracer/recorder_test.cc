// Tests the recorder's guarantees in one process, by reading the traces.
#include "tracer/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include "tests/tracer/support.h"
#include "tracer/format/layout.h"

namespace vramstow {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// Returns the events that one thread recorded, with the sequences that it got.
std::vector<Event> RecordRandomly(Recorder* recorder, uint64_t seed, int count) {
  EventMaker maker(seed);
  std::vector<Event> recorded;
  for (int i = 0; i < count; ++i) {
    Event event = maker.Next();
    event.sequence = recorder->Record(event);
    event.thread = static_cast<uint32_t>(syscall(SYS_gettid));
    recorded.push_back(event);
  }
  return recorded;
}

class RecorderOrderTest : public testing::TestWithParam<OrderSource> {};
INSTANTIATE_TEST_SUITE_P(Orders, RecorderOrderTest,
                         testing::Values(OrderSource::kBest, OrderSource::kNumbers));

TEST_P(RecorderOrderTest, GivesBackEveryFieldOfRandomEventsFromOneToEightThreads) {
  for (int threads = 1; threads <= 8; ++threads) {
    TestRecorder recorder("test", GetParam());
    std::vector<std::vector<Event>> recorded(threads);
    std::vector<std::thread> running =
        StartThreads(threads, [&recorder, &recorded, threads](int i) {
          recorded[i] = RecordRandomly(&*recorder, 100 * threads + i, 20000);
        });
    JoinAll(&running);
    recorder->Close();

    std::vector<Event> expected;
    for (const std::vector<Event>& one : recorded) {
      expected.insert(expected.end(), one.begin(), one.end());
    }
    std::sort(expected.begin(), expected.end(),
              [](const Event& a, const Event& b) { return a.sequence < b.sequence; });
    const ReadTrace trace = ReadFile(recorder.File());
    ASSERT_EQ(trace.error, ReadError::kOk);
    ASSERT_EQ(trace.events.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      const Event& event = trace.events[i];
      ASSERT_EQ(event.sequence, expected[i].sequence);
      ASSERT_TRUE(SameStory(event, expected[i]))
          << ToText(event) << " instead of " << ToText(expected[i]);
      ASSERT_EQ(event.thread, expected[i].thread);
    }
    EXPECT_EQ(trace.report.events, expected.size());
    EXPECT_EQ(trace.report.damaged_chunks, 0u);
    EXPECT_EQ(trace.report.damaged_bytes, 0u);
    EXPECT_EQ(trace.report.missing_events, 0u);
    EXPECT_EQ(trace.report.dropped_events, 0u);
    EXPECT_TRUE(trace.report.closed);
  }
}

TEST(RecorderTest, OnlyTheOwnerCanReadATraceUnlessItIsForTheGroup) {
  const mode_t before = umask(0022);
  for (const bool for_group : {false, true}) {
    const TemporaryFolder folder;
    Recorder* recorder = NewRecorder();
    ASSERT_EQ(recorder->Open({.directory = folder.path().c_str(),
                              .stem = "test",
                              .thread_slot = TestThreadSlot,
                              .background = true,
                              .for_group = for_group}),
              RecorderError::kOk);
    recorder->Record(Allocation(4096, 512));
    char name[PATH_MAX];
    ASSERT_EQ(recorder->WriteCopy("dump", false, name, sizeof name), 0);
    recorder->Close();
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      struct stat status;
      ASSERT_EQ(stat(entry.path().c_str(), &status), 0);
      EXPECT_EQ(status.st_mode & 0777, for_group ? 0640u : 0600u) << entry.path();
    }
  }
  umask(before);
}

TEST(RecorderTest, TimesOfAThreadNeverGoBackAndLieWithinTheRun) {
  timespec begin;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  TestRecorder recorder;
  // The loop takes so long that the processor's counter replaces the kernel's clock.
  for (int i = 0; i < 3000; ++i) {
    recorder->Record(Allocation(0x1000, 512));
    if (i % 30 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  recorder->Close();
  const ReadTrace trace = ReadFile(recorder.File());
  ASSERT_EQ(trace.events.size(), 3000u);
  for (size_t i = 1; i < trace.events.size(); ++i) {
    ASSERT_GE(trace.events[i].time_ns, trace.events[i - 1].time_ns);
  }
  const uint64_t elapsed_ns =
      (end.tv_sec - begin.tv_sec) * uint64_t{1000000000} + end.tv_nsec - begin.tv_nsec;
  // The counter's speed is known only to some parts in a hundred thousand, so the error of a time
  // grows with the time that a busy machine needs for the loop.
  EXPECT_LE(trace.events.back().time_ns, elapsed_ns + elapsed_ns / 1000 + 20000);
  // There are 99 sleeps of a millisecond between the first and the last event.
  EXPECT_GE(trace.events.back().time_ns - trace.events.front().time_ns, 99u * 1000000u);
}

TEST(RecorderTest, KeepsFactsNamesAndLibraries) {
  TestRecorder recorder;
  recorder->Describe("process.command", "python train.py");
  recorder->Describe("device.0.name", "first");
  recorder->Describe("device.0.name", "second");
  recorder->Describe("empty", "");
  const uint16_t alloc = recorder->InternCall("cuMemAlloc");
  const uint16_t free_call = recorder->InternCall("cuMemFree");
  EXPECT_NE(alloc, kUnknownName);
  EXPECT_NE(free_call, alloc);
  EXPECT_EQ(recorder->InternCall("cuMemAlloc"), alloc);
  const uint16_t torch = recorder->InternLibrary("/lib/libtorch.so", 0x7F1234560000, "0123abcd");
  const uint16_t again = recorder->InternLibrary("/lib/libtorch.so", 0x7F1234560000, "0123abcd");
  const uint16_t moved = recorder->InternLibrary("/lib/libtorch.so", 0x7F9999990000, "0123abcd");
  EXPECT_EQ(again, torch);
  EXPECT_NE(moved, torch);
  Event event = Allocation(0x1000, 512);
  event.call = alloc;
  event.library = torch;
  recorder->Record(event);
  recorder->Close();

  TraceReader reader;
  ASSERT_EQ(reader.Open(recorder.File().c_str()), ReadError::kOk);
  EXPECT_THAT(reader.facts(),
              UnorderedElementsAre(Pair("process.command", "python train.py"),
                                   Pair("device.0.name", "second"), Pair("empty", "")));
  EXPECT_EQ(reader.CallName(alloc), "cuMemAlloc");
  EXPECT_EQ(reader.CallName(free_call), "cuMemFree");
  EXPECT_EQ(reader.CallName(0), "unknown");
  EXPECT_EQ(reader.CallName(9999), "unknown");
  EXPECT_EQ(reader.Library(torch).path, "/lib/libtorch.so");
  EXPECT_EQ(reader.Library(torch).base, 0x7F1234560000u);
  EXPECT_EQ(reader.Library(torch).build_id, "0123abcd");
  EXPECT_EQ(reader.Library(moved).base, 0x7F9999990000u);
  EXPECT_EQ(reader.Library(9999).path, "unknown");
  EXPECT_EQ(reader.libraries().size(), 3u);
}

// Returns the number of the last of `count` different texts of `length` characters.
uint64_t InternTexts(Recorder* recorder, int count, size_t length) {
  uint64_t number = 0;
  for (int i = 0; i < count; ++i) {
    std::string text = std::to_string(i);
    text.resize(length, '.');
    number = recorder->InternAnnotation(text);
  }
  return number;
}

TEST(RecorderTest, EverNewTextsOfMarksDoNotMakeTheTraceGrowWithoutALimit) {
  for (const size_t length : {size_t{12}, size_t{1024}}) {
    TestRecorder recorder;
    const uint64_t first = recorder->InternAnnotation("first");
    const uint64_t further = InternTexts(&*recorder, 50'000, length);
    EXPECT_EQ(InternTexts(&*recorder, 60'000, length), further);
    EXPECT_EQ(recorder->InternAnnotation("first"), first);
    const uint64_t own = recorder->InternAnnotation("vramstow.fact program.uncaught ValueError");
    EXPECT_EQ(recorder->InternAnnotation("vramstow.fact program.uncaught ValueError"), own);
    const uint64_t kernel = recorder->InternAnnotation("relu", TextOf::kVramstow);
    EXPECT_NE(kernel, further);
    recorder->Close();
    EXPECT_LT(std::filesystem::file_size(recorder.File()), 9u << 20);

    TraceReader reader;
    ASSERT_EQ(reader.Open(recorder.File().c_str()), ReadError::kOk);
    EXPECT_EQ(reader.Annotation(first), "first");
    EXPECT_EQ(reader.Annotation(further), "(further texts)");
    EXPECT_EQ(reader.Annotation(own), "vramstow.fact program.uncaught ValueError");
    EXPECT_THAT(reader.facts(), UnorderedElementsAre(Pair("annotations.full", "1")));
  }
}

TEST(RecorderTest, CanReadWhatIsCommittedWhileItIsStillOpen) {
  TestRecorder recorder;
  recorder->Describe("run.id", "7");
  for (int i = 0; i < 100000; ++i) {
    recorder->Record(Allocation(0x1000, 512));
    if (i % 9973 != 0) continue;
    const ReadTrace trace = ReadFile(recorder.File());
    ASSERT_EQ(trace.events.size(), i + 1u);
    EXPECT_EQ(trace.report.missing_events, 0u);
    EXPECT_EQ(trace.report.damaged_bytes, 0u);
    EXPECT_FALSE(trace.report.closed);
    EXPECT_EQ(trace.facts.at("run.id"), "7");
  }
  recorder->Close();
}

// The recording goes on between the moment at which the trace is opened and the moment at which its
// events are read, and each thread uses its slots again.
TEST(RecorderTest, WhatWasCommittedWhenATraceWasOpenedIsReadHoweverLate) {
  constexpr int kThreads = 4;
  constexpr int kBefore = 1000;
  for (const uint64_t ring_bytes : {uint64_t{0}, uint64_t{4} << 20}) {
    SCOPED_TRACE(ring_bytes);
    const TemporaryFolder folder;
    Recorder* const recorder = NewRecorder();
    RecorderConfig config = {folder.path().c_str(), "test", TestThreadSlot};
    config.ring_bytes = ring_bytes;
    ASSERT_EQ(recorder->Open(config), RecorderError::kOk);
    std::atomic<int> ready = 0;
    std::atomic<bool> goes_on = false;
    std::vector<std::thread> threads = StartThreads(kThreads, [&](int) {
      for (int i = 0; i < kBefore; ++i) recorder->Record(Allocation(0x1000, 512));
      ++ready;
      while (!goes_on) std::this_thread::yield();
      for (int i = 0; i < 50'000; ++i) recorder->Record(Allocation(0x1000, 512));
    });
    while (ready < kThreads) std::this_thread::yield();
    TraceReader reader;
    ASSERT_EQ(reader.Open((folder.path() + "/test.stow").c_str()), ReadError::kOk);
    goes_on = true;
    JoinAll(&threads);
    int events = 0;
    for (Event event; reader.Next(&event);) ++events;
    EXPECT_EQ(events, kThreads * kBefore);
    EXPECT_EQ(reader.report().damaged_chunks, 0u);
    EXPECT_EQ(reader.report().damaged_bytes, 0u);
    EXPECT_EQ(reader.report().missing_events, 0u);
    recorder->Close();
  }
}

// A chunk may be written behind the file's end that a reader saw first.
TEST(RecorderTest, NothingIsMissingInATraceThatIsOpenedWhileThreadsRecord) {
  constexpr int kThreads = 3;
  TestRecorder recorder;
  std::atomic<int> running = kThreads;
  std::vector<std::thread> threads = StartThreads(kThreads, [&](int) {
    for (int i = 1; i <= 1'000'000; ++i) {
      recorder->Record(Allocation(0x1000, 512));
      if (i % 1000 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    --running;
  });
  while (running > 0) {
    const ReadTrace trace = ReadFile(recorder.File());
    EXPECT_EQ(trace.report.damaged_chunks, 0u);
    EXPECT_EQ(trace.report.damaged_bytes, 0u);
    EXPECT_EQ(trace.report.missing_events, 0u);
  }
  JoinAll(&threads);
  recorder->Close();
}

TEST(RecorderTest, ReadsTheSameAgainAfterRewind) {
  TestRecorder recorder;
  const std::vector<Event> recorded = RecordRandomly(&*recorder, 5, 30000);
  recorder->Close();
  TraceReader reader;
  ASSERT_EQ(reader.Open(recorder.File().c_str()), ReadError::kOk);
  for (int round = 0; round < 3; ++round) {
    Event event;
    // The second of the three reads stops in the middle of the trace.
    const size_t count = round == 1 ? recorded.size() / 2 : recorded.size();
    for (size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(reader.Next(&event));
      ASSERT_TRUE(SameStory(event, recorded[i]));
    }
    if (round != 1) {
      EXPECT_FALSE(reader.Next(&event));
      EXPECT_FALSE(reader.Next(&event));
      EXPECT_EQ(reader.report().events, recorded.size());
    }
    reader.Rewind();
  }
}

TEST(RecorderTest, IsClosedBeforeOpenAndAfterClose) {
  static constinit Recorder recorder;
  EXPECT_FALSE(recorder.is_open());
  EXPECT_STREQ(recorder.path(), "");
  EXPECT_EQ(recorder.Record(Allocation(1, 1)), 0u);
  EXPECT_EQ(recorder.InternCall("cuMemAlloc"), kUnknownName);
  EXPECT_EQ(recorder.InternLibrary("/lib/a.so", 1, ""), kUnknownName);
  recorder.Describe("a", "b");
  recorder.Close();
  recorder.AbandonAfterFork();

  TemporaryFolder folder;
  OpenIn(&recorder, folder.path(), "one");
  EXPECT_TRUE(recorder.is_open());
  EXPECT_EQ(recorder.path(), folder.path() + "/one.stow");
  EXPECT_EQ(recorder.Open({folder.path().c_str(), "two", TestThreadSlot}),
            RecorderError::kAlreadyOpen);
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/two.stow"));
  EXPECT_NE(recorder.Record(Allocation(1, 1)), 0u);
  recorder.Close();
  recorder.Close();
  EXPECT_FALSE(recorder.is_open());
  EXPECT_STREQ(recorder.path(), "");
  EXPECT_EQ(recorder.Record(Allocation(1, 1)), 0u);
  EXPECT_EQ(ReadFile(folder.path() + "/one.stow").events.size(), 1u);
}

TEST(RecorderTest, TheFirstExitThatIsNotedIsInTheTraceUnlessItWasClosed) {
  TestRecorder recorder;
  recorder->Record(Allocation(0x1000, 512));
  EXPECT_FALSE(ReadFile(recorder.File()).report.closed);
  recorder->NoteExit(0x107);
  recorder->NoteExit(8);
  ReadTrace trace = ReadFile(recorder.File());
  EXPECT_TRUE(trace.report.closed);
  EXPECT_EQ(trace.report.missing_events, 0u);
  EXPECT_EQ(trace.events.size(), 1u);
  EXPECT_EQ(trace.facts["process.exit_status"], "7");
  recorder->Close();
  recorder->NoteExit(9);
  trace = ReadFile(recorder.File());
  EXPECT_TRUE(trace.report.closed);
  EXPECT_EQ(trace.facts.count("process.exit_status"), 0u);
}

TEST(RecorderTest, AStateThatNoRecorderWritesIsNoEnd) {
  TestRecorder recorder;
  recorder->Record(Allocation(0x1000, 512));
  std::string bytes = FileBytes(recorder.File());
  for (const uint32_t state : {3u, 0x10002u, 0xFFFFFFFFu}) {
    std::memcpy(&bytes[offsetof(FileHeader, state)], &state, sizeof state);
    const ReadTrace trace = ReadBytes(bytes);
    EXPECT_FALSE(trace.report.closed) << state;
    EXPECT_EQ(trace.facts.count("process.exit_status"), 0u);
  }
}

TEST(RecorderTest, TakesTheNextNameWhereAFileExists) {
  TemporaryFolder folder;
  WriteFileBytes(folder.path() + "/job-1.stow", "somebody's");
  static constinit Recorder second;
  static constinit Recorder third;
  OpenIn(&second, folder.path(), "job-1");
  OpenIn(&third, folder.path(), "job-1");
  EXPECT_EQ(second.path(), folder.path() + "/job-1-2.stow");
  EXPECT_EQ(third.path(), folder.path() + "/job-1-3.stow");
  second.Close();
  third.Close();
  EXPECT_EQ(FileBytes(folder.path() + "/job-1.stow"), "somebody's");
}

TEST(RecorderTest, AFileOfAShortJobIsShort) {
  TestRecorder recorder;
  recorder->Describe("process.pid", "1");
  recorder->Close();
  EXPECT_LT(std::filesystem::file_size(recorder.File()), 5000u);
  TestRecorder with_events;
  with_events->Record(Allocation(0x1000, 512));
  with_events->Close();
  EXPECT_LT(std::filesystem::file_size(with_events.File()), 66000u);
}

// Returns the bytes of the file per event, for many allocations and frees. `sizes` is the number of
// different sizes with their requested sizes; with 0 hardly any size occurs twice.
double BytesOfAnEvent(size_t sizes) {
  TestRecorder recorder;
  EventMaker maker(1);
  std::vector<Event> known;
  constexpr int kEvents = 200000;
  for (int i = 0; i < kEvents;) {
    Event event = maker.Next();
    if (event.memory != MemoryKind::kDevice || event.library != 2) continue;
    event.stack = 0;
    if (event.kind == EventKind::kAllocate && known.size() < sizes) known.push_back(event);
    if (event.kind == EventKind::kAllocate && sizes > 0) {
      event.size = known[event.address / 512 % known.size()].size;
      event.requested = known[event.address / 512 % known.size()].requested;
    }
    recorder->Record(event);
    ++i;
  }
  recorder->Close();
  // The slot (part of the file) that contains the tables is not counted.
  return static_cast<double>(std::filesystem::file_size(recorder.File()) - kSlotBytes) / kEvents;
}

TEST(RecorderTest, StoresAnOrdinaryEventInAtMostEightBytes) {
  // No event's address is one of the recent addresses, which have a shorter form. Each chunk
  // defines each size once.
  EXPECT_LE(BytesOfAnEvent(12), 8.2);
  EXPECT_LE(BytesOfAnEvent(100), 8.3);
}

TEST(RecorderTest, SizesThatAreAlwaysNewTakeAFewBytesMore) { EXPECT_LE(BytesOfAnEvent(0), 13.0); }

}  // namespace
}  // namespace vramstow
