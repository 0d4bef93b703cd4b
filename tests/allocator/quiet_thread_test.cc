// Tests quiet memory (memory that no work uses for a while) with several threads. One thread
// allocates, frees, moves and pauses. One thread calls Maintain. All other threads submit work that
// uses random blocks, as the hooks do. No byte may be wrong, and ThreadSanitizer reports accesses
// without a lock.
// VRAMSTOW_STEPS sets how many steps the first thread makes, and VRAMSTOW_SEED sets the seed of the
// first program.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tests/allocator/offload_fixture.h"

namespace vramstow {
namespace {

constexpr uint64_t kStateBytes = 6 * kMiB;
constexpr uint64_t kWordStep = kMiB / 2;
constexpr uint32_t kPausedTag = 3;
constexpr int kStepsOfAProgram = 2'000;
constexpr int kStepsOfARound = 20;

class QuietThreadTest : public OffloadTest {
 protected:
  // A block, and the word that was written to it last. Only the thread that holds it uses it.
  struct Held {
    uint64_t address;
    uint64_t bytes;
    uint64_t word;
  };
  // A set of blocks. Any thread may remove a block, use it alone, and put it back.
  class Blocks {
   public:
    void Put(const Held& block) {
      const std::lock_guard lock(mutex_);
      blocks_.push_back(block);
    }
    std::optional<Held> RemoveAny(uint64_t random) {
      const std::lock_guard lock(mutex_);
      if (blocks_.empty()) return std::nullopt;
      std::swap(blocks_[random % blocks_.size()], blocks_.back());
      const Held block = blocks_.back();
      blocks_.pop_back();
      return block;
    }

   private:
    std::mutex mutex_;
    std::vector<Held> blocks_;
  };

  // A block that several threads read at once.
  struct Shared {
    std::shared_mutex mutex;
    std::optional<Held> block;
  };
  static constexpr int kShared = 3;

  void RunProgram(uint64_t seed);
  uint64_t parked_uses() const { return parked_uses_; }

 private:
  // Submits work that has the block's address as an argument. Before the submission it calls the
  // same functions of the offloader as the interposer's hooks do.
  template <typename Work>
  void Submit(const Held& block, uint32_t lane, uint64_t random, Work work) {
    if (offloader_.wants_to_advance()) offloader_.AdvanceQuiet();
    gate_.Enter(lane);
    offloader_.Tick();
    Name(block.address + random % block.bytes);
    work();
    gate_.Leave(lane);
  }
  // Reads the block and writes a new word to it.
  void Use(Held* block, uint32_t lane, uint64_t random) {
    Submit(*block, lane, random, [&] {
      if (block->word != 0) ExpectContentsOf(*block);
      Write(block, random | 1);
    });
  }
  void ExpectContentsOf(const Held& block) {
    for (uint64_t at = 0; at < block.bytes; at += kWordStep) {
      EXPECT_EQ(device_->Read(block.address + at), block.word + at);
    }
  }
  void Name(uint64_t address) {
    offloader_.Touch(address);
    if (!offloader_.IsAway(address)) return;
    ++parked_uses_;
    gate_.BeginWait();
    offloader_.Need(address);
    gate_.EndWait();
    EXPECT_FALSE(offloader_.IsAway(address));
  }
  void Write(Held* block, uint64_t word) {
    block->word = word;
    for (uint64_t at = 0; at < block->bytes; at += kWordStep) {
      device_->Write(block->address + at, word + at);
    }
  }

  std::optional<Held> Allocate(uint64_t bytes, uint32_t tag) {
    Block block{};
    const BlockRequest request{.size = bytes, .stream = 1 + random_() % 3, .tag = tag};
    if (pool_->Allocate(request, &block) != PoolError::kOk) return std::nullopt;
    Held held{block.address, bytes, 0};
    Use(&held, 0, random_());
    return held;
  }
  void AllocateAny() {
    const uint64_t bytes = (kMiB / 4) << random_() % 6;
    const auto block = Allocate(bytes + random_() % bytes, 0);
    if (block) blocks_.Put(*block);
  }
  void FreeAny() {
    const auto block = blocks_.RemoveAny(random_());
    if (!block) return;
    EXPECT_EQ(pool_->Free(block->address), PoolError::kOk);
  }
  void AllocateState() {
    const std::lock_guard lock(states_mutex_);
    if (states_.size() == 4) return;
    const auto block = Allocate(kStateBytes, 0);
    if (block) states_.push_back(*block);
  }
  void FreeState() {
    const std::lock_guard lock(states_mutex_);
    if (states_.empty()) return;
    EXPECT_EQ(pool_->Free(states_.back().address), PoolError::kOk);
    states_.pop_back();
  }
  // Declares the blocks in states_ quiet while no thread uses them. Later work has their addresses
  // as arguments.
  void BeginQuiet() {
    const std::lock_guard lock(states_mutex_);
    std::vector<QuietRange> ranges;
    for (const Held& state : states_) ranges.push_back({state.address, state.bytes});
    offloader_.BeginQuiet(ranges.data(), ranges.size());
  }
  void UseState(uint32_t lane, uint64_t random) {
    const std::lock_guard lock(states_mutex_);
    if (!states_.empty()) Use(&states_[random % states_.size()], lane, random);
  }
  void RenewShared() {
    Shared& shared = shared_blocks_[random_() % kShared];
    const std::unique_lock lock(shared.mutex, std::try_to_lock);
    if (!lock) return;
    if (!shared.block) {
      shared.block = Allocate(kStateBytes, 0);
      return;
    }
    EXPECT_EQ(pool_->Free(shared.block->address), PoolError::kOk);
    shared.block.reset();
  }
  void ReadShared(uint32_t lane, uint64_t random) {
    Shared& shared = shared_blocks_[random % kShared];
    const std::shared_lock lock(shared.mutex);
    if (!shared.block) return;
    Submit(*shared.block, lane, random, [&] { ExpectContentsOf(*shared.block); });
  }
  // Pauses or resumes a tag. Only the first thread uses the blocks of this tag.
  void PauseAndResume() {
    if (!paused_) {
      paused_ = Allocate(4 * kMiB, kPausedTag);
      if (paused_) Pause(kPausedTag);
      return;
    }
    Resume(kPausedTag, ~uint64_t{0});
    if (last_ != OffloadResult::kDone) return;
    Use(&*paused_, 0, random_());
    EXPECT_EQ(pool_->Free(paused_->address), PoolError::kOk);
    paused_.reset();
  }

  void Step();
  void SubmitWork(uint32_t lane, uint64_t seed);
  void Maintain();
  void End();

  Blocks blocks_;
  std::mutex states_mutex_;
  std::vector<Held> states_;
  Shared shared_blocks_[kShared];
  std::optional<Held> paused_;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> round_{0};  // in each, shared blocks are read once by each thread
  std::atomic<uint64_t> parked_uses_{0};
};

void QuietThreadTest::Step() {
  const uint64_t what = random_() % 100;
  if (what < 34) return AllocateAny();
  if (what < 36) return RenewShared();
  if (what < 66) return FreeAny();
  if (what < 72) return AllocateState();
  if (what < 73) return FreeState();
  if (what < 81) return BeginQuiet();
  if (what < 85) return offloader_.EndQuiet();
  if (what < 93) return UseState(0, random_());
  if (what < 96) return PauseAndResume();
  if (what == 96) offloader_.MoveOut(random_() % (16 * kMiB), OffloadReason::kAsked);
  if (what == 97) pool_->Trim({});
  if (what >= 98) offloader_.BringBack(0);
}

void QuietThreadTest::SubmitWork(uint32_t lane, uint64_t seed) {
  std::mt19937_64 random(seed);
  uint64_t seen = 0;
  while (!stop_ && !HasFailure()) {
    if (random() % 16 == 0) UseState(lane, random());
    // In each round all threads read the shared blocks at once, after no thread has used these for
    // a while.
    if (const uint64_t round = round_; std::exchange(seen, round) != round) {
      for (uint64_t i = 0; i < kShared; ++i) ReadShared(lane, i);
    }
    auto block = blocks_.RemoveAny(random());
    if (block) {
      Use(&*block, lane, random());
      blocks_.Put(*block);
    }
    std::this_thread::yield();
  }
}

void QuietThreadTest::Maintain() {
  while (!stop_) {
    device_->Advance(1'000'000);
    offloader_.BringBack(32 * kMiB);
    offloader_.DecayHost();
    offloader_.Stats();
    std::this_thread::yield();
  }
}

// Paused blocks can be restored once the device has memory for them.
void QuietThreadTest::End() {
  offloader_.EndQuiet();
  offloader_.BringBack(0);
  for (const Held& state : states_) blocks_.Put(state);
  states_.clear();
  for (Shared& shared : shared_blocks_) {
    if (shared.block) blocks_.Put(*shared.block);
    shared.block.reset();
  }
  while (auto block = blocks_.RemoveAny(0)) {
    Use(&*block, 0, 1);
    EXPECT_EQ(pool_->Free(block->address), PoolError::kOk);
  }
  if (paused_) PauseAndResume();
  EXPECT_FALSE(paused_.has_value());
  TearDown();
}

void QuietThreadTest::RunProgram(uint64_t seed) {
  random_.seed(seed);
  device_options_ = {};
  device_options_.copies_at_start = random_() % 2 == 0;
  device_options_.guards_copies = true;
  device_options_.unmaps_runs = random_() % 2 == 0;
  Start((40 + random_() % 40) * kMiB);
  stop_ = false;
  std::vector<std::thread> threads;
  for (uint32_t lane = 1; lane <= 2; ++lane) {
    threads.emplace_back([this, lane, seed] { SubmitWork(lane, seed * 100 + lane); });
  }
  threads.emplace_back([this] { Maintain(); });
  for (int step = 0; step < kStepsOfAProgram && !HasFailure(); ++step) {
    Step();
    if (step % kStepsOfARound == 0) ++round_;
  }
  stop_ = true;
  for (std::thread& thread : threads) thread.join();
  End();
}

TEST_F(QuietThreadTest, NoByteIsWrongWhileOthersUseBlocks) {
  const uint64_t steps = NumberOr("VRAMSTOW_STEPS", 20'000);
  const uint64_t first = NumberOr("VRAMSTOW_SEED", 1);
  const uint64_t programs = steps / kStepsOfAProgram;
  for (uint64_t seed = first; seed < first + programs && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RunProgram(seed);
  }
  // On a busy machine the other threads may hardly run while a program lasts.
  for (uint64_t seed = first + programs;
       parked_uses() <= programs && seed < first + 50 * programs && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RunProgram(seed);
  }
  RecordProperty("parked_uses", static_cast<int>(parked_uses()));
  EXPECT_GT(parked_uses(), programs) << "enough parked blocks were used";
}

}  // namespace
}  // namespace vramstow
