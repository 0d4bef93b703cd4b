// Tests that races become visible in the data, and that only races do.
//
// Idea: random programs of fills and copies on several streams, as a framework with a caching
// allocator makes them, run under many seeds. A program that orders its work always gives the same
// results as the same steps one after another. If one of the program's waits is left out, the
// results are wrong with some seeds and right with other seeds.
//
// VRAMSTOW_TEST_SEEDS is the number of seeds; the long suite uses 10,000.
#include <random>

#include "tests/simulator/own/child.h"

namespace vramstow::simulator {
namespace {

enum class Mistake {
  kNone,
  kNoEventWait,     // a stream reads another stream's data without waiting
  kNoRecordStream,  // a block is reused by its own stream while another still reads it
  kUseAfterReuse,   // a stream writes to a block that now belongs to another stream
};

constexpr size_t kBytes = 4096;
constexpr int kStreams = 3;
constexpr int kBlocks = 4;
constexpr int kSteps = 24;

int Seeds(int usual) {
  const char* wish = getenv("VRAMSTOW_TEST_SEEDS");
  return wish != nullptr ? atoi(wish) : usual;
}

// A block as an allocator tracks it: which stream wrote it last, and which streams have read it
// since.
struct TrackedBlock {
  CUdeviceptr address = 0;
  int owner = 0;  // the stream that it was allocated for
  int writer = -1;
  CUevent written = nullptr;
  std::vector<std::pair<int, CUevent>> readers;
  unsigned char value = 0;  // the value that it has if there is no race
};

class Program {
 public:
  Program(unsigned seed, Mistake mistake)
      : driver_(GetDriver()), choose_(seed), mistake_(mistake) {}

  // Returns 0 for the right results, 1 for other results, 9 if a call failed.
  int Run() {
    if (!StartDriver(driver_) || !Prepare()) return 9;
    for (int i = 0; i < kSteps; ++i) Step(i);
    if (failed_ || driver_.cuCtxSynchronize() != CUDA_SUCCESS) return 9;
    for (const TrackedBlock& block : blocks_) {
      unsigned char bytes[kBytes];
      if (driver_.cuMemcpyDtoH(bytes, block.address, kBytes) != CUDA_SUCCESS) return 9;
      for (const unsigned char byte : bytes) {
        if (byte != block.value) return 1;
      }
    }
    return 0;
  }

 private:
  void Must(CUresult result) { failed_ |= result != CUDA_SUCCESS; }
  int Pick(int bound) { return static_cast<int>(choose_() % static_cast<unsigned>(bound)); }

  bool Prepare() {
    for (CUstream& stream : streams_) {
      Must(driver_.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    }
    for (TrackedBlock& block : blocks_) {
      Must(driver_.cuMemAlloc(&block.address, kBytes));
      Must(driver_.cuMemsetD8(block.address, 0, kBytes));
      block.owner = Pick(kStreams);
    }
    Must(driver_.cuCtxSynchronize());
    return !failed_;
  }

  CUevent Record(int stream) {
    CUevent event = nullptr;
    Must(driver_.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    Must(driver_.cuEventRecord(event, streams_[stream]));
    return event;
  }
  void Wait(int stream, CUevent event) {
    Must(driver_.cuStreamWaitEvent(streams_[stream], event, 0));
  }

  // Makes a stream wait for the events that must precede a read of the block, or a write to it.
  void BeforeRead(int stream, const TrackedBlock& block) {
    const bool wait = block.writer >= 0 && block.writer != stream;
    if (wait && mistake_ != Mistake::kNoEventWait) Wait(stream, block.written);
  }
  void BeforeWrite(int stream, const TrackedBlock& block) {
    const bool other = block.writer >= 0 && block.writer != stream;
    if (other && mistake_ != Mistake::kUseAfterReuse) Wait(stream, block.written);
    if (mistake_ == Mistake::kNoRecordStream || mistake_ == Mistake::kUseAfterReuse) return;
    for (const auto& [reader, event] : block.readers) {
      if (reader != stream) Wait(stream, event);
    }
  }
  void Wrote(int stream, TrackedBlock* block, unsigned char value) {
    block->writer = stream;
    block->written = Record(stream);
    block->readers.clear();
    block->value = value;
  }

  void Fill(TrackedBlock* block, unsigned char value) {
    // As in a caching allocator, the block is freed and reused in its own stream, unless the test
    // makes a mistake on purpose.
    if (mistake_ == Mistake::kUseAfterReuse) block->owner = Pick(kStreams);
    BeforeWrite(block->owner, *block);
    Must(driver_.cuMemsetD8Async(block->address, value, kBytes, streams_[block->owner]));
    Wrote(block->owner, block, value);
  }

  void Copy(int stream, TrackedBlock* to, TrackedBlock* from) {
    BeforeRead(stream, *from);
    BeforeWrite(stream, *to);
    Must(driver_.cuMemcpyDtoDAsync(to->address, from->address, kBytes, streams_[stream]));
    Wrote(stream, to, from->value);
    from->readers.emplace_back(stream, to->written);
  }

  void Step(int number) {
    TrackedBlock& first = blocks_[Pick(kBlocks)];
    TrackedBlock& second = blocks_[Pick(kBlocks)];
    if (Pick(2) == 0 || &first == &second) {
      Fill(&first, static_cast<unsigned char>(number + 1));
    } else {
      Copy(Pick(kStreams), &first, &second);
    }
  }

  const Driver& driver_;
  std::mt19937 choose_;
  Mistake mistake_;
  bool failed_ = false;
  CUstream streams_[kStreams] = {};
  TrackedBlock blocks_[kBlocks];
};

// Runs the same kind of random program with the driver's own pools. A consumer stream copies out a
// producer stream's data. Then the block is freed in the consumer's stream, or in the producer's
// stream after a wait (or, as a mistake, without a wait).
int RunPooled(unsigned seed, bool wait_for_reader, int rounds) {
  const Driver& driver = GetDriver();
  if (!StartDriver(driver)) return 9;
  bool failed = false;
  const auto must = [&](CUresult result) { failed |= result != CUDA_SUCCESS; };
  std::mt19937 choose(seed);
  CUstream maker = nullptr;
  CUstream reader = nullptr;
  CUdeviceptr out = 0;
  must(driver.cuStreamCreate(&maker, CU_STREAM_NON_BLOCKING));
  must(driver.cuStreamCreate(&reader, CU_STREAM_NON_BLOCKING));
  must(driver.cuMemAlloc(&out, rounds * kBytes));
  for (int i = 0; i < rounds; ++i) {
    CUdeviceptr block = 0;
    CUevent made = nullptr;
    CUevent read = nullptr;
    must(driver.cuEventCreate(&made, CU_EVENT_DISABLE_TIMING));
    must(driver.cuEventCreate(&read, CU_EVENT_DISABLE_TIMING));
    must(driver.cuMemAllocAsync(&block, kBytes, maker));
    must(driver.cuMemsetD8Async(block, static_cast<unsigned char>(i + 1), kBytes, maker));
    must(driver.cuEventRecord(made, maker));
    must(driver.cuStreamWaitEvent(reader, made, 0));
    must(driver.cuMemcpyDtoDAsync(out + i * kBytes, block, kBytes, reader));
    must(driver.cuEventRecord(read, reader));
    if (wait_for_reader && choose() % 2 == 0) {
      must(driver.cuMemFreeAsync(block, reader));
      continue;
    }
    if (wait_for_reader) must(driver.cuStreamWaitEvent(maker, read, 0));
    must(driver.cuMemFreeAsync(block, maker));
  }
  must(driver.cuCtxSynchronize());
  std::vector<unsigned char> bytes(rounds * kBytes);
  must(driver.cuMemcpyDtoH(bytes.data(), out, bytes.size()));
  if (failed) return 9;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != i / kBytes + 1) return 1;
  }
  return 0;
}

std::string SpecOf(int seed) { return "a100,memory=1GiB,seed=" + std::to_string(seed); }

void ExpectBothOutcomes(const std::function<int(unsigned)>& run) {
  int right = 0;
  int wrong = 0;
  constexpr int kMax = 600;
  constexpr unsigned kPrograms = 20;  // each under many seeds
  for (int seed = 1; seed <= kMax && (right == 0 || wrong == 0); ++seed) {
    const int seen =
        InChild(SpecOf(seed), [&] { return run(static_cast<unsigned>(seed) % kPrograms); });
    ASSERT_NE(9, seen) << "a call failed under seed " << seed;
    right += seen == 0;
    wrong += seen == 1;
  }
  EXPECT_GT(wrong, 0) << "the race must show";
  EXPECT_GT(right, 0) << "and is a race: under other seeds it goes well";
}

TEST(RacePropertyTest, MissingEventWaitShows) {
  ExpectBothOutcomes([](unsigned seed) { return Program(seed, Mistake::kNoEventWait).Run(); });
}

TEST(RacePropertyTest, MissingRecordStreamShows) {
  ExpectBothOutcomes([](unsigned seed) { return Program(seed, Mistake::kNoRecordStream).Run(); });
}

TEST(RacePropertyTest, UseAfterReuseShows) {
  ExpectBothOutcomes([](unsigned seed) { return Program(seed, Mistake::kUseAfterReuse).Run(); });
}

TEST(RacePropertyTest, FreeingUnderAReaderShowsInPoolsToo) {
  ExpectBothOutcomes([](unsigned seed) { return RunPooled(seed, false, 2); });
}

TEST(RacePropertyTest, OrderedProgramsAreRightUnderEverySeed) {
  for (int seed = 1; seed <= Seeds(150); ++seed) {
    ASSERT_EQ(0,
              InChild(SpecOf(seed),
                      [&] { return Program(static_cast<unsigned>(seed), Mistake::kNone).Run(); }))
        << "seed " << seed;
  }
}

TEST(RacePropertyTest, OrderedProgramsAreRightInAdversarialOrder) {
  for (int seed = 1; seed <= Seeds(150) / 10; ++seed) {
    ASSERT_EQ(0,
              InChild(SpecOf(seed) + ",order=adversarial",
                      [&] { return Program(static_cast<unsigned>(seed), Mistake::kNone).Run(); }))
        << "seed " << seed;
  }
}

TEST(RacePropertyTest, OrderedPoolsAreRightUnderEverySeed) {
  for (int seed = 1; seed <= Seeds(150); ++seed) {
    ASSERT_EQ(0, InChild(SpecOf(seed),
                         [&] { return RunPooled(static_cast<unsigned>(seed), true, kSteps); }))
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace vramstow::simulator
