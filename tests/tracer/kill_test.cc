// Tests that a second process which records and acknowledges events can be killed at a random
// moment, and that all acknowledged events are in the trace.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/tracer/support.h"
#include "tracer/recorder.h"

namespace vramstow {
namespace {

constexpr uint64_t kThreads = 3;
constexpr uint64_t kEnough = 1000;  // acknowledged events of all rounds

// The way in which full chunks are written to the file.
enum class Mode { kByItsThread, kCompressedInTheBackground, kRing };

struct Acknowledgement {
  uint64_t thread;
  uint64_t count;  // this many events of the thread are committed
};

// Runs in the child. Each event contains its thread and its running number. New threads sometimes
// replace old ones, and names and facts are recorded in between.
void RecordUntilKilled(Recorder* recorder, uint64_t thread, int pipe, uint64_t seed) {
  std::mt19937_64 random(seed);
  uint64_t count = 0;
  for (;;) {
    // One thread acknowledges each event at once. The other threads acknowledge late, so they fill
    // many chunks.
    const uint64_t burst = thread == 0 ? 1 : 1 + random() % 3000;
    for (uint64_t i = 0; i < burst; ++i) {
      Event event = random() % 2 == 0 ? Allocation(random(), random()) : FreeOf(random());
      event.object = thread + 1;
      event.offset = ++count;
      recorder->Record(event);
    }
    const Acknowledgement ack = {thread, count};
    if (write(pipe, &ack, sizeof ack) != sizeof ack) _exit(1);
    if (thread == 1 && random() % 8 == 0) {
      const std::string text = std::to_string(count);
      recorder->Describe("progress", text + std::string(random() % 3000, '.'));
      recorder->InternCall("call " + text);
      std::thread([recorder] { recorder->Record(FreeOf(1)); }).join();
    }
  }
}

[[noreturn]] void BeTheChild(const std::string& folder, int pipe, uint64_t seed, Mode mode) {
  auto* const recorder = new Recorder;
  RecorderConfig config = {folder.c_str(), "killed", TestThreadSlot};
  config.slot_is_static = true;
  config.background = config.compress = mode != Mode::kByItsThread;
  if (mode == Mode::kRing) config.ring_bytes = kLeastRingBytes;
  if (recorder->Open(config) != RecorderError::kOk) _exit(2);
  std::vector<std::thread> threads = StartThreads(kThreads, [=](int i) {
    const uint64_t thread = static_cast<uint64_t>(i);
    RecordUntilKilled(recorder, thread, pipe, seed * kThreads + thread);
  });
  threads[0].join();
  _exit(3);
}

// Reads acknowledgements until the other end is closed; kills the child after `delay_us`.
std::vector<uint64_t> KillAfter(pid_t child, int pipe, int delay_us) {
  std::vector<uint64_t> counts(kThreads, 0);
  timespec start;
  clock_gettime(CLOCK_MONOTONIC, &start);
  bool is_killed = false;
  for (;;) {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const int64_t elapsed_us =
        (now.tv_sec - start.tv_sec) * 1000000 + (now.tv_nsec - start.tv_nsec) / 1000;
    if (!is_killed && elapsed_us >= delay_us) {
      kill(child, SIGKILL);
      is_killed = true;
    }
    pollfd what = {pipe, POLLIN, 0};
    if (poll(&what, 1, is_killed ? 1000 : 0) == 0) continue;
    Acknowledgement acks[256];
    const ssize_t size = read(pipe, acks, sizeof acks);
    if (size <= 0) break;
    for (size_t i = 0; i < static_cast<size_t>(size) / sizeof acks[0]; ++i) {
      counts[acks[i].thread] = std::max(counts[acks[i].thread], acks[i].count);
    }
  }
  return counts;
}

// Compares the trace with the acknowledgements, and adds up how many events were overwritten.
void CheckTrace(const std::string& file, const std::vector<uint64_t>& acknowledged, Mode mode,
                uint64_t* overwritten) {
  const ReadTrace trace = ReadFile(file);
  ASSERT_EQ(trace.error, ReadError::kOk);
  EXPECT_FALSE(trace.report.closed);
  // In a ring, a kill may leave a chunk that was only partly written over an older chunk, so
  // damaged bytes are allowed.
  if (mode != Mode::kRing) {
    EXPECT_EQ(trace.report.damaged_chunks, 0u);
    EXPECT_EQ(trace.report.damaged_bytes, 0u);
    EXPECT_EQ(trace.report.overwritten_events, 0u);
  }
  *overwritten += trace.report.overwritten_events;
  EXPECT_EQ(trace.report.dropped_events, 0u);
  // A thread that was killed after it took a number leaves that number without an event.
  EXPECT_LE(trace.report.missing_events, kThreads + 1);
  std::vector<uint64_t> counts(kThreads, 0);
  uint64_t sequence = 0;
  for (const Event& event : trace.events) {
    ASSERT_GT(event.sequence, sequence);
    sequence = event.sequence;
    if (event.object == 0) continue;
    ASSERT_LE(event.object, kThreads);
    uint64_t& count = counts[event.object - 1];
    // In a ring, the first events of a thread may have been overwritten.
    if (mode == Mode::kRing && count == 0) count = event.offset - 1;
    ASSERT_EQ(event.offset, ++count) << "a hole in the thread's events";
  }
  for (uint64_t i = 0; i < kThreads; ++i) {
    if (mode == Mode::kRing && counts[i] == 0) {
      // The trace has no event of this thread, because the thread did not run while other threads
      // overwrote the whole ring.
      EXPECT_GE(trace.report.overwritten_events, acknowledged[i]);
      continue;
    }
    EXPECT_GE(counts[i], acknowledged[i]) << "an acknowledged event of thread " << i << " is lost";
  }
}

class KillTest : public testing::TestWithParam<Mode> {};

TEST_P(KillTest, NoAcknowledgedEventIsLost) {
  const char* const wanted = getenv("VRAMSTOW_TEST_KILLS");
  const int kills = wanted != nullptr ? atoi(wanted) : 40;
  std::mt19937_64 random(7);
  uint64_t acknowledged_in_all = 0;
  uint64_t overwritten = 0;
  int slowness = 1;  // a factor for the children's lifetime on slow machines
  for (int round = 0; round < kills && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE(round);
    TemporaryFolder folder;
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      close(ends[0]);
      BeTheChild(folder.path(), ends[1], static_cast<uint64_t>(round), GetParam());
    }
    close(ends[1]);
    // Three of four children may run until they have filled some chunks, and the fourth one is
    // killed soon.
    const bool proves =
        acknowledged_in_all > kEnough && (GetParam() != Mode::kRing || overwritten > 0);
    constexpr int kSlowest = 64;
    if (round > 8 && !proves) slowness = std::min(slowness * 2, kSlowest);
    const int delay_us =
        static_cast<int>(random() % (round % 4 == 0 ? 2000 : 60000)) * (proves ? 1 : slowness);
    const std::vector<uint64_t> acknowledged = KillAfter(child, ends[0], delay_us);
    close(ends[0]);
    int status;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    for (const uint64_t count : acknowledged) acknowledged_in_all += count;
    const std::string file = folder.path() + "/killed.stow";
    // There is either a valid trace or none at all, however early the kill came.
    if (!std::filesystem::exists(file)) {
      EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
      EXPECT_EQ(*std::max_element(acknowledged.begin(), acknowledged.end()), 0u);
      continue;
    }
    CheckTrace(file, acknowledged, GetParam(), &overwritten);
  }
  EXPECT_GT(acknowledged_in_all, kEnough) << "the kills came too early to prove anything";
  if (GetParam() == Mode::kRing) {
    EXPECT_GT(overwritten, 0u) << "the ring never went round";
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, KillTest,
                         testing::Values(Mode::kByItsThread, Mode::kCompressedInTheBackground,
                                         Mode::kRing),
                         [](const auto& mode) {
                           return std::string(mode.param == Mode::kByItsThread ? "ByItsThread"
                                              : mode.param == Mode::kRing      ? "Ring"
                                                                               : "Compressed");
                         });

}  // namespace
}  // namespace vramstow
