// Tests many threads, threads that start and end, signal handlers, and a call of Close while other
// threads record.
#include <gtest/gtest.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_set>
#include <vector>

#include "tests/tracer/support.h"
#include "tracer/clock.h"
#include "tracer/recorder.h"
#include "tracer/system_calls.h"

namespace vramstow {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kIsSlow = true;
#else
constexpr bool kIsSlow = false;
#endif

// A set of blocks from which any thread allocates and to which any thread frees.
class Shelf {
 public:
  explicit Shelf(int blocks) {
    for (int i = 0; i < blocks; ++i) blocks_.push_back(0x7F0000000000 + 0x200000 * uint64_t(i));
  }
  uint64_t Take() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (blocks_.empty()) return 0;
    const uint64_t block = blocks_.back();
    blocks_.pop_back();
    return block;
  }
  void GiveBack(uint64_t block) {
    std::lock_guard<std::mutex> lock(mutex_);
    blocks_.push_back(block);
  }

 private:
  std::mutex mutex_;
  std::vector<uint64_t> blocks_;
};

// Passes blocks between threads in the order of a real program. A free is recorded before another
// thread can get the block. An allocation is recorded after the thread has got the block.
void PassBlocksAround(Recorder* recorder, Shelf* shelf, int rounds) {
  for (int i = 0; i < rounds;) {
    const uint64_t block = shelf->Take();
    if (block == 0) {
      std::this_thread::yield();
      continue;
    }
    ++i;
    recorder->Record(Allocation(block, 0x200000));
    recorder->Record(FreeOf(block));
    shelf->GiveBack(block);
  }
}

void ExpectLegalHistory(const std::string& file, uint64_t events) {
  TraceReader reader;
  ASSERT_EQ(reader.Open(file.c_str()), ReadError::kOk);
  std::unordered_set<uint64_t> live;
  Event event;
  uint64_t sequence = 0;
  uint64_t count = 0;
  while (reader.Next(&event)) {
    ASSERT_GT(event.sequence, sequence);
    sequence = event.sequence;
    ++count;
    if (event.kind == EventKind::kAllocate) {
      ASSERT_TRUE(live.insert(event.address).second) << "handed out twice at " << sequence;
    } else {
      ASSERT_EQ(live.erase(event.address), 1u) << "freed but not live at " << sequence;
    }
  }
  EXPECT_TRUE(live.empty());
  EXPECT_EQ(count, events);
  EXPECT_EQ(reader.report().missing_events, 0u);
}

class OrderTest : public testing::TestWithParam<OrderSource> {};
INSTANTIATE_TEST_SUITE_P(Orders, OrderTest,
                         testing::Values(OrderSource::kBest, OrderSource::kNumbers));

TEST_P(OrderTest, OrderOfEventsIsALegalHistoryWhenEightThreadsPassBlocksAround) {
  TestRecorder recorder("test", GetParam());
  Shelf shelf(6);  // fewer blocks than threads, so blocks move between threads
  // VRAMSTOW_TEST_EVENTS is the least number of events in all.
  const char* const wanted = getenv("VRAMSTOW_TEST_EVENTS");
  const int events = wanted != nullptr ? atoi(wanted) : kIsSlow ? 320000 : 1600000;
  const int rounds = events / 16 + 1;
  std::vector<std::thread> threads =
      StartThreads(8, [&](int) { PassBlocksAround(&*recorder, &shelf, rounds); });
  JoinAll(&threads);
  recorder->Close();
  ExpectLegalHistory(recorder.File(), static_cast<uint64_t>(rounds) * 2 * 8);
}

// If stacks are recorded, an event takes the fast path only if its caller has captured the stack
// before.
TEST(ThreadsTest, EventsThatComeWithTheirStacksAreInOneOrderWithOthers) {
  TemporaryFolder folder;
  Recorder* const recorder = NewRecorder();
  RecorderConfig config = {folder.path().c_str(), "test", TestThreadSlot};
  config.stacks = StackMode::kSites;
  config.slot_is_static = true;
  ASSERT_EQ(recorder->Open(config), RecorderError::kOk);
  Shelf shelf(6);
  constexpr int kRounds = 20000;
  std::vector<std::thread> threads = StartThreads(8, [&](int thread) {
    for (int i = 0; i < kRounds;) {
      const uint64_t block = shelf.Take();
      if (block == 0) {
        std::this_thread::yield();
        continue;
      }
      ++i;
      Event allocation = Allocation(block, 0x200000);
      if ((thread + i) % 2 == 0) {
        allocation.stack = recorder->CaptureStackQuietly(EventKind::kAllocate);
        recorder->RecordWithStack(allocation);
        recorder->RecordWithStack(FreeOf(block));
      } else {
        recorder->Record(allocation);
        recorder->Record(FreeOf(block));
      }
      shelf.GiveBack(block);
    }
  });
  JoinAll(&threads);
  recorder->Close();
  ExpectLegalHistory(folder.path() + "/test.stow", uint64_t{kRounds} * 2 * 8);
}

// Counts how often the kernel was asked for a barrier on all threads, and can refuse it.
std::atomic<int> g_barriers{0};
std::atomic<bool> g_refuses_barriers{false};
int CountedBarrier(int command) {
  if (command != MEMBARRIER_CMD_PRIVATE_EXPEDITED) return RealSystemCalls().barrier(command);
  g_barriers.fetch_add(1);
  return g_refuses_barriers.load() ? -1 : RealSystemCalls().barrier(command);
}

class SingleWriterTest : public testing::Test {
 protected:
  SingleWriterTest() {
    SystemCalls calls = RealSystemCalls();
    calls.barrier = CountedBarrier;
    SetSystemCallsForTest(calls);
    g_barriers = 0;
    g_refuses_barriers = false;
  }
  ~SingleWriterTest() override { SetSystemCallsForTest(RealSystemCalls()); }

  // Records events until the recorder treats this thread as its only writer. Returns false if that
  // takes longer than `most_ms`.
  static bool RecordAlone(Recorder* recorder, int most_ms = 10'000) {
    const int before = g_barriers.load();
    for (int i = 0; i < most_ms && g_barriers.load() == before; ++i) {
      for (int k = 0; k < 1000; ++k) recorder->Record(Allocation(0x1000, 512));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return g_barriers.load() > before;
  }
  // True if the recorder can have a single writer. It cannot if an atomic counter numbers the
  // events (their numbers then differ by one), or if the processor does not order loads.
  static bool IsPossible(Recorder* recorder) {
    const uint64_t first = recorder->Record(Allocation(0x1000, 512));
    return kHasQuickCounter && recorder->Record(Allocation(0x1000, 512)) != first + 1;
  }
};

// While only one thread records, it reads the processor's counter without a fence. If another
// thread begins to record, all events must still be in the right order. Two threads pass a token to
// each other to check this.
TEST_F(SingleWriterTest, WhatOthersRecordIsInOrderWithTheThreadThatWasAlone) {
  TestRecorder recorder;
  if (!IsPossible(&*recorder)) GTEST_SKIP() << "no counter to be read without a fence";
  constexpr int kRounds = 30;
  constexpr int kPasses = 200;
  std::atomic<uint64_t> to_other{0};
  std::atomic<uint64_t> to_sole{0};
  constexpr int kManyTurns = 10'000;
  std::thread other([&] {
    uint64_t seen = 0;
    for (int i = 0; i < kRounds * kPasses; ++i) {
      uint64_t before;
      for (int turns = 0; (before = to_other.load(std::memory_order_acquire)) == seen; ++turns) {
        if (turns > kManyTurns) std::this_thread::yield();  // the other may need this processor
      }
      seen = before;
      const uint64_t own = recorder->Record(Allocation(0x2000, 512));
      EXPECT_GT(own, before);
      to_sole.store(own, std::memory_order_release);
    }
  });
  uint64_t seen = 0;
  for (int round = 0; round < kRounds; ++round) {
    EXPECT_TRUE(RecordAlone(&*recorder)) << round;
    for (int pass = 0; pass < kPasses; ++pass) {
      const uint64_t own = recorder->Record(Allocation(0x1000, 512));
      EXPECT_GT(own, seen);
      to_other.store(own, std::memory_order_release);
      uint64_t answer;
      for (int turns = 0; (answer = to_sole.load(std::memory_order_acquire)) == seen; ++turns) {
        if (turns > kManyTurns) std::this_thread::yield();
      }
      seen = answer;
    }
  }
  other.join();
  recorder->Close();
  const ReadTrace trace = ReadFile(recorder.File());
  EXPECT_EQ(trace.report.missing_events, 0u);
  EXPECT_EQ(trace.report.damaged_chunks, 0u);
}

TEST_F(SingleWriterTest, AskedForAlwaysAnewWhereTheKernelRefuses) {
  TestRecorder recorder;
  if (!IsPossible(&*recorder)) GTEST_SKIP() << "no counter to be read without a fence";
  g_refuses_barriers = true;
  EXPECT_TRUE(RecordAlone(&*recorder));
  EXPECT_TRUE(RecordAlone(&*recorder)) << "it was the single writer all the same";
  g_refuses_barriers = false;
  EXPECT_TRUE(RecordAlone(&*recorder));
  EXPECT_FALSE(RecordAlone(&*recorder, 300)) << "the single writer need not ask";
}

TEST(ThreadsTest, AThousandThreadsThatComeAndGoShareOneChunk) {
  TestRecorder recorder;
  std::set<uint64_t> sequences;
  for (int i = 0; i < 1000; ++i) {
    std::thread([&recorder, &sequences, i] {
      sequences.insert(recorder->Record(Allocation(0x1000 + 512 * uint64_t(i), 512)));
    }).join();
  }
  recorder->Close();
  const ReadTrace trace = ReadFile(recorder.File());
  ASSERT_EQ(trace.events.size(), 1000u);
  EXPECT_EQ(sequences.size(), 1000u);
  std::set<uint32_t> threads;
  for (const Event& event : trace.events) threads.insert(event.thread);
  EXPECT_GT(threads.size(), 1u);
  EXPECT_LE(trace.report.chunks, 3u);
  EXPECT_LT(std::filesystem::file_size(recorder.File()), 200000u);
}

TEST(ThreadsTest, AThousandThreadsAtOnceInWavesNeedABufferForEachOfAWaveOnly) {
  TestRecorder recorder;
  constexpr int kWaves = 20;
  constexpr int kThreads = 50;
  for (int wave = 0; wave < kWaves; ++wave) {
    std::vector<std::thread> threads = StartThreads(kThreads, [&recorder, wave](int) {
      for (int k = 0; k < 20; ++k) recorder->Record(Allocation(0x1000, 512u * (wave + 1)));
    });
    JoinAll(&threads);
  }
  recorder->Close();
  const ReadTrace trace = ReadFile(recorder.File());
  EXPECT_EQ(trace.events.size(), size_t{kWaves * kThreads * 20});
  EXPECT_EQ(trace.report.missing_events, 0u);
  EXPECT_LE(std::filesystem::file_size(recorder.File()), (kThreads + 2) * size_t{65536});
}

TEST(ThreadsTest, EventsOfAThreadsLastDestructorsAreRecorded) {
  struct Late {
    Recorder* recorder = nullptr;
    ~Late() {
      if (recorder != nullptr) recorder->Record(FreeOf(0x1000));
    }
  };
  TestRecorder recorder;
  std::thread([&recorder] {
    static thread_local Late late;
    late.recorder = &*recorder;
    recorder->Record(Allocation(0x1000, 512));
  }).join();
  recorder->Close();
  const ReadTrace trace = ReadFile(recorder.File());
  ASSERT_EQ(trace.events.size(), 2u);
  EXPECT_EQ(trace.events[1].kind, EventKind::kFree);
}

TEST(ThreadsTest, CloseWhileOthersRecordKeepsAllThatCameBefore) {
  for (int round = 0; round < 20; ++round) {
    TestRecorder recorder;
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> before_close{0};
    std::atomic<int> recording{0};
    std::vector<std::thread> threads = StartThreads(4, [&](int) {
      for (int k = 0; !stop.load(std::memory_order_relaxed); ++k) {
        const uint64_t sequence = recorder->Record(Allocation(0x1000, 512));
        if (sequence != 0) before_close.fetch_add(1, std::memory_order_relaxed);
        if (k == 100) recording.fetch_add(1);
      }
    });
    while (recording.load() < 4) std::this_thread::yield();
    const uint64_t certain = before_close.load();
    recorder->Close();
    // After Close the other threads continue for a moment to try to record.
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    stop = true;
    JoinAll(&threads);
    const ReadTrace trace = ReadFile(recorder.File());
    ASSERT_EQ(trace.error, ReadError::kOk);
    EXPECT_TRUE(trace.report.closed);
    EXPECT_GE(trace.events.size(), certain);
    EXPECT_EQ(trace.report.damaged_bytes, 0u);
    EXPECT_EQ(trace.report.damaged_chunks, 0u);
    // Only events that were being recorded when the recorder closed may be missing.
    EXPECT_LE(trace.report.missing_events, 4u);
  }
}

TEST(ThreadsTest, ThreadsThatEndAfterCloseDoNoHarm) {
  TestRecorder recorder;
  std::atomic<int> recorded{0};
  std::atomic<bool> closed{false};
  std::vector<std::thread> threads = StartThreads(8, [&](int) {
    recorder->Record(Allocation(0x1000, 512));
    recorded.fetch_add(1);
    while (!closed.load()) std::this_thread::yield();
    EXPECT_EQ(recorder->Record(Allocation(0x1000, 512)), 0u);
  });
  while (recorded.load() < 8) std::this_thread::yield();
  recorder->Close();
  closed = true;
  JoinAll(&threads);
  EXPECT_EQ(ReadFile(recorder.File()).events.size(), 8u);
}

// The signal handlers below use these variables.
Recorder* g_recorder = nullptr;
std::atomic<uint64_t> g_recorded_by_handler{0};

void RecordInHandler(int) {
  g_recorder->Record(FreeOf(0x2000));
  g_recorded_by_handler.fetch_add(1, std::memory_order_relaxed);
}

TEST(ThreadsTest, ASignalHandlerThatRecordsLosesOnlyItsOwnEventsAndTheyAreCounted) {
  TestRecorder recorder;
  g_recorder = &*recorder;
  g_recorded_by_handler = 0;
  struct sigaction action = {};
  action.sa_handler = RecordInHandler;
  action.sa_flags = SA_RESTART;
  struct sigaction before;
  sigaction(SIGALRM, &action, &before);
  const itimerval often = {{0, 50}, {0, 50}};
  setitimer(ITIMER_REAL, &often, nullptr);
  uint64_t recorded = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(700);
  while (std::chrono::steady_clock::now() < end || g_recorded_by_handler.load() <= 100) {
    for (int i = 0; i < 1000; ++i, ++recorded) recorder->Record(Allocation(0x1000, 512));
  }
  const itimerval never = {};
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  recorder->Record(Allocation(0x3000, 512));  // reports the last gap
  ++recorded;
  recorder->Close();

  const ReadTrace trace = ReadFile(recorder.File());
  uint64_t mine = 0;
  uint64_t of_handler = 0;
  uint64_t reported = 0;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::kAllocate) ++mine;
    if (event.kind == EventKind::kFree) ++of_handler;
    if (event.kind == EventKind::kGap) reported += event.size;
  }
  EXPECT_EQ(mine, recorded) << "an event of the interrupted thread was lost";
  EXPECT_EQ(of_handler + reported, g_recorded_by_handler.load());
  EXPECT_GT(g_recorded_by_handler.load(), 100u);
  EXPECT_EQ(trace.report.dropped_events, reported);
  EXPECT_EQ(trace.report.missing_events, 0u);
  EXPECT_EQ(trace.report.damaged_bytes, 0u);
}

// Returns null, so that every thread is one without a slot (the thread's own pointer in which the
// recorder stores its state).
void** NoSlot() { return nullptr; }

TEST(ThreadsTest, AThreadWithoutASlotIsCountedNotRecorded) {
  TemporaryFolder folder;
  static constinit Recorder recorder;
  ASSERT_EQ(recorder.Open({folder.path().c_str(), "test", NoSlot}), RecorderError::kOk);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(recorder.Record(FreeOf(1)), 0u);
  recorder.Close();
  const ReadTrace trace = ReadFile(folder.path() + "/test.stow");
  ASSERT_EQ(trace.events.size(), 1u);
  EXPECT_EQ(trace.events[0].kind, EventKind::kGap);
  EXPECT_EQ(trace.events[0].size, 10u);
  EXPECT_EQ(trace.report.dropped_events, 10u);
  EXPECT_EQ(trace.report.missing_events, 0u);
}

// Writes to the file as a cancellation point, while a cancellation of the thread is pending.
std::atomic<int> g_cancelled{0};
ssize_t CancelledWrite(int fd, const iovec* parts, int count, off_t offset) {
  if (g_cancelled.fetch_add(1) == 0) pthread_cancel(pthread_self());
  pthread_testcancel();
  return RealSystemCalls().write_at(fd, parts, count, offset);
}

TEST(ThreadsTest, AThreadThatIsCancelledInAWriteLeavesNoLockBehind) {
  if (kIsSlow) GTEST_SKIP() << "The sanitizers take the end of a cancelled thread for an error.";
  TemporaryFolder folder;
  Recorder* const recorder = NewRecorder();
  RecorderConfig config = {folder.path().c_str(), "test", TestThreadSlot};
  config.ring_bytes = kLeastRingBytes;
  ASSERT_EQ(recorder->Open(config), RecorderError::kOk);
  SystemCalls cancelled = RealSystemCalls();
  cancelled.write_at = CancelledWrite;
  SetSystemCallsForTest(cancelled);
  const auto record = [](void* to) -> void* {
    for (uint64_t i = 0; g_cancelled == 0; ++i) {
      static_cast<Recorder*>(to)->Record(Allocation(i * 4096, i * 512));
    }
    pthread_testcancel();
    return nullptr;
  };
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, nullptr, record, recorder), 0);
  void* result = nullptr;
  pthread_join(thread, &result);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  SetSystemCallsForTest(RealSystemCalls());
  for (uint64_t i = 0; i < 40'000; ++i) recorder->Record(Allocation(i * 4096, i * 512));
  recorder->Close();
  const ReadTrace trace = ReadFile(folder.path() + "/test.stow");
  EXPECT_EQ(trace.error, ReadError::kOk);
  EXPECT_EQ(trace.report.missing_events, 0u);
}

}  // namespace
}  // namespace vramstow
