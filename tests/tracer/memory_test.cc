// Tests the recorder's own memory: at most 16 MiB, plus 1 MiB for each thread, when all its tables
// are full and each thread has recorded the deepest possible stack.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <fstream>

#include "tests/tracer/support.h"
#include "tracer/recorder.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

namespace vramstow {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

// Returns the resident memory of this process, including mapped files. The numbers of
// /proc/self/statm are only approximate.
uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string word; file >> word;) {
    uint64_t kib = 0;
    if (word == "Rss:" && file >> kib) return kib * 1024;
  }
  return 0;
}

// Records an event below more frames than a recorded stack may have.
__attribute__((noinline)) int RecordAtDepth(Recorder* recorder, int depth) {
  if (depth == 0) {
    recorder->Record(Allocation(4096, 512));
    return 1;
  }
  const int below = RecordAtDepth(recorder, depth - 1);
  asm volatile("");  // no tail call
  return below + 1;
}

// Fills the tables until there is no room for more names, libraries, annotations and stacks.
void FillTables(Recorder* recorder) {
  const std::string filler(120, 'x');
  for (int i = 0; i < 9000; ++i) {
    const std::string name = filler + std::to_string(i);
    recorder->InternCall(name);
    recorder->InternLibrary("/" + name, static_cast<uint64_t>(i) << 20, "0123");
  }
  for (int i = 0; i < 70'000; ++i) recorder->InternAnnotation("step " + std::to_string(i));
  const uint32_t stack = recorder->CaptureStack(EventKind::kAllocate);
  ASSERT_NE(stack, 0u);
  for (int i = 0; i < 30'000; ++i) {
    for (int k = 0; k < 14; ++k) {
      const std::string inner = "operator " + std::to_string(k);
      const std::string outer = "module " + std::to_string(i);
      const StackName names[] = {{inner, "<operator>"}, {outer, "<module>"}};
      recorder->NameStack(stack, names, 2);
    }
  }
}

void RecordAll(Recorder* recorder, int thread, std::barrier<>* all) {
  RecordAtDepth(recorder, 5000);  // nothing is recorded, but the thread's stack is in memory
  all->arrive_and_wait();         // the earlier memory has been measured
  all->arrive_and_wait();         // the recorder is open
  RecordAtDepth(recorder, 5000);
  // Several chunks are filled, so that both of the thread's slots (parts of the file for chunks)
  // are used.
  for (uint64_t i = 1; i <= 40'000; ++i) recorder->Record(Allocation(i * 4096, i * 512));
  if (thread == 0) FillTables(recorder);
  all->arrive_and_wait();  // everything was recorded
  all->arrive_and_wait();  // the memory has been measured
}

uint64_t BytesWith(int threads) {
  const TemporaryFolder folder;
  Recorder* const recorder = NewRecorder();
  std::barrier all(threads + 1);
  std::vector<std::thread> running =
      StartThreads(threads, [&](int thread) { RecordAll(recorder, thread, &all); });
  all.arrive_and_wait();
  const uint64_t before = ResidentBytes();
  RecorderConfig config = {folder.path().c_str(), "test", TestThreadSlot};
  config.background = true;
  config.compress = true;
  config.sample_ms = 10;
  config.stacks = StackMode::kAll;
  EXPECT_EQ(recorder->Open(config), RecorderError::kOk);
  all.arrive_and_wait();
  all.arrive_and_wait();
  const uint64_t after = ResidentBytes();
  all.arrive_and_wait();
  JoinAll(&running);
  recorder->Close();
  return after - before;
}

class RecorderMemory : public testing::TestWithParam<int> {};

TEST_P(RecorderMemory, StaysWithinItsBounds) {
#ifdef SANITIZED
  GTEST_SKIP() << "sanitizers keep memory of their own for ours";
#endif
  // Each case runs in a separate process, because a recorder's memory is never released.
  auto* const bytes = static_cast<std::atomic<uint64_t>*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const pid_t child = fork();
  if (child == 0) {
    bytes->store(BytesWith(GetParam()));
    _exit(HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  RecordProperty("kib", static_cast<int>(bytes->load() / 1024));
  EXPECT_GT(bytes->load(), 8 * kMiB) << "so much of the tables is in use";
  EXPECT_LE(bytes->load(), (16 + static_cast<uint64_t>(GetParam())) * kMiB);
  std::printf("%d threads: %.1f MiB\n", GetParam(), static_cast<double>(bytes->load()) / kMiB);
  munmap(bytes, 4096);
}

// Returns the memory of a process that is attached to again and again, with a new trace each time.
uint64_t BytesOfTraces(int count) {
  const TemporaryFolder folder;
  uint64_t before = 0;
  for (int i = 0; i <= count; ++i) {
    if (i == 1) before = ResidentBytes();
    Recorder* const recorder = NewRecorder();
    RecorderConfig config = {folder.path().c_str(), "test", TestThreadSlot};
    config.background = true;
    config.compress = true;
    config.stacks = StackMode::kAll;
    EXPECT_EQ(recorder->Open(config), RecorderError::kOk);
    for (int k = 0; k < 100; ++k) {
      recorder->InternAnnotation("step " + std::to_string(k));
      RecordAtDepth(recorder, k);
    }
    recorder->Close();
  }
  return ResidentBytes() - before;
}

TEST(RecorderMemoryTest, LittleStaysOfATraceThatWasClosed) {
#ifdef SANITIZED
  GTEST_SKIP() << "sanitizers keep memory of their own for ours";
#endif
  constexpr int kTraces = 50;
  const uint64_t each = BytesOfTraces(kTraces) / kTraces;
  std::printf("%.1f KiB each\n", static_cast<double>(each) / 1024);
  EXPECT_LE(each, 100 * 1024);
}

INSTANTIATE_TEST_SUITE_P(Threads, RecorderMemory, testing::Values(1, 8, 100));

}  // namespace
}  // namespace vramstow
