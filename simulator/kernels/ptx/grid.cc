#include "simulator/kernels/ptx/grid.h"

#include <algorithm>
#include <memory>

#include "simulator/kernels/ptx/thread.h"

namespace vramstow::simulator::ptx {
namespace {

constexpr uint64_t kHostBytesMax = 256ull << 20;  // host memory for all threads of a block
constexpr uint64_t kSharedMax = 16ull << 20;
constexpr uint64_t kBytesPerStep = 64;   // bytes of shared memory cleared in one step
constexpr uint64_t kStepsPerThread = 4;  // cost of a thread that does nothing

class BlockRun {
 public:
  BlockRun(const GridLaunch& launch, Memory* memory) {
    state_.launch = &launch;
    state_.memory = memory;
    state_.steps_left = launch.steps;
    state_.shared.resize(launch.static_shared + launch.dynamic_shared);
    count_ = launch.block[0] * launch.block[1] * launch.block[2];
    threads_.resize(launch.entry->waits ? count_ : 1);
  }

  uint64_t steps_left() const { return state_.steps_left; }

  Ending Run(unsigned x, unsigned y, unsigned z) {
    state_.block[0] = x;
    state_.block[1] = y;
    state_.block[2] = z;
    const uint64_t price = kStepsPerThread * count_ + state_.shared.size() / kBytesPerStep;
    if (price > state_.steps_left) return Ending::kTooLong;
    state_.steps_left -= price;
    std::fill(state_.shared.begin(), state_.shared.end(), 0);
    return state_.launch->entry->waits ? RunTogether() : RunApart();
  }

 private:
  // Runs the threads one after the other, because the kernel has no instruction that waits.
  Ending RunApart() {
    Thread& thread = threads_[0];
    for (unsigned number = 0; number < count_; ++number) {
      thread.Begin(&state_, number);
      thread.Run();
      if (thread.state() == Thread::State::kFailed) return thread.ending();
    }
    return Ending::kDone;
  }

  Ending RunTogether() {
    for (unsigned number = 0; number < count_; ++number) threads_[number].Begin(&state_, number);
    while (true) {
      if (count_ > state_.steps_left) return Ending::kTooLong;
      state_.steps_left -= count_;
      bool waiting = false;
      for (Thread& thread : threads_) {
        thread.Run();
        if (thread.state() == Thread::State::kFailed) return thread.ending();
        waiting |= thread.state() == Thread::State::kWaiting;
      }
      if (!waiting) return Ending::kDone;
      bool released = false;
      for (unsigned first = 0; first < count_; first += kWarpThreads) released |= Exchange(first);
      if (!released && !ReleaseBarriers()) return Ending::kStuck;
    }
  }

  // Executes the exchanges (instructions that lanes of a warp execute together) for which all lanes
  // have arrived, and releases these lanes. Returns false if there was no such exchange.
  bool Exchange(unsigned first) {
    const unsigned end = std::min(first + kWarpThreads, count_);
    bool released = false;
    for (unsigned number = first; number < end; ++number) {
      Thread& thread = threads_[number];
      if (thread.state() != Thread::State::kWaiting) continue;
      const Instruction& at = thread.waiting_at();
      if (at.exchange == nullptr) continue;
      Thread* lanes[kWarpThreads] = {};
      if (!Gather(first, end, at, thread.Get<uint32_t>(at.in[3]), &lanes)) continue;
      at.exchange(at, lanes);
      for (Thread* lane : lanes) {
        if (lane != nullptr && lane->state() == Thread::State::kWaiting) lane->Release();
      }
      released = true;
    }
    return released;
  }

  // Collects the running lanes that the mask names, if all of them wait at this instruction.
  bool Gather(unsigned first, unsigned end, const Instruction& at, uint32_t mask,
              Thread* (*lanes)[kWarpThreads]) {
    for (unsigned number = first; number < end; ++number) {
      Thread& thread = threads_[number];
      const bool is_here = thread.state() == Thread::State::kWaiting && &thread.waiting_at() == &at;
      if (at.flag) {
        if (is_here) (*lanes)[thread.lane()] = &thread;
        continue;
      }
      if ((mask >> thread.lane() & 1) == 0 || thread.state() == Thread::State::kExited) continue;
      if (!is_here || thread.Get<uint32_t>(at.in[3]) != mask) return false;
      (*lanes)[thread.lane()] = &thread;
    }
    // A thread that is not in its own mask waits forever.
    return std::any_of(std::begin(*lanes), std::end(*lanes),
                       [](const Thread* lane) { return lane != nullptr; });
  }

  // A block has 16 barriers.
  static constexpr uint32_t kBarriers = 16;
  static uint32_t Barrier(const Thread& thread) {
    return thread.Get<uint32_t>(thread.waiting_at().in[0]) % kBarriers;
  }
  static bool IsAtBarrier(const Thread& thread) {
    return thread.state() == Thread::State::kWaiting && thread.waiting_at().exchange == nullptr;
  }

  // Releases the threads at barriers where enough threads have arrived: the number in the
  // instruction, or all threads that still run. Returns false if no barrier was released.
  bool ReleaseBarriers() {
    uint32_t running = 0;
    uint32_t arrived[kBarriers] = {};
    uint32_t agreed[kBarriers] = {};
    for (const Thread& thread : threads_) {
      if (thread.state() != Thread::State::kExited) ++running;
      if (!IsAtBarrier(thread)) continue;
      ++arrived[Barrier(thread)];
      if (thread.Get<bool>(thread.waiting_at().in[2])) ++agreed[Barrier(thread)];
    }
    bool released = false;
    for (Thread& thread : threads_) {
      if (!IsAtBarrier(thread)) continue;
      const auto wanted = thread.Get<uint32_t>(thread.waiting_at().in[1]);
      const uint32_t barrier = Barrier(thread);
      if (arrived[barrier] < (wanted == 0 ? running : wanted)) continue;
      FinishBarrier(thread.waiting_at(), arrived[barrier], agreed[barrier], &thread);
      thread.Release();
      released = true;
    }
    return released;
  }

  // Writes the result of bar.red for a thread.
  static void FinishBarrier(const Instruction& at, uint32_t arrived, uint32_t agreed,
                            Thread* thread) {
    switch (static_cast<BarrierResult>(at.target)) {
      case BarrierResult::kNone:
        return;
      case BarrierResult::kCount:
        return thread->Set<uint32_t>(at.out, agreed);
      case BarrierResult::kAll:
        return thread->Set<bool>(at.out, agreed == arrived);
      case BarrierResult::kAny:
        return thread->Set<bool>(at.out, agreed > 0);
    }
  }

  BlockState state_;
  unsigned count_ = 0;
  std::vector<Thread> threads_;
};

bool IsTooLarge(const GridLaunch& launch) {
  const uint64_t threads = uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  const Routine& entry = *launch.entry;
  const uint64_t each = entry.registers * sizeof(uint64_t) + entry.frame_bytes;
  return launch.static_shared > kSharedMax || launch.dynamic_shared > kSharedMax ||
         (entry.waits && each > kHostBytesMax / threads);
}

// Returns the first and the last index in one dimension of the grid.
std::vector<unsigned> Ends(unsigned count) {
  return count > 1 ? std::vector<unsigned>{0, count - 1} : std::vector<unsigned>{0};
}

}  // namespace

Ending Run(const GridLaunch& launch, Memory* memory, uint64_t* steps) {
  *steps = 0;
  if (IsTooLarge(launch)) return Ending::kTooLarge;
  BlockRun run(launch, memory);
  Ending ending = Ending::kDone;
  for (unsigned z = 0; ending == Ending::kDone && z < launch.grid[2]; ++z) {
    for (unsigned y = 0; ending == Ending::kDone && y < launch.grid[1]; ++y) {
      for (unsigned x = 0; ending == Ending::kDone && x < launch.grid[0]; ++x) {
        ending = run.Run(x, y, z);
      }
    }
  }
  *steps = launch.steps - run.steps_left();
  return ending;
}

void RunCorners(const GridLaunch& launch, Memory* memory) {
  if (IsTooLarge(launch)) return;
  const std::vector<unsigned> xs = Ends(launch.grid[0]);
  const std::vector<unsigned> ys = Ends(launch.grid[1]);
  const std::vector<unsigned> zs = Ends(launch.grid[2]);
  GridLaunch corner = launch;
  corner.steps = launch.steps / (xs.size() * ys.size() * zs.size());
  for (const unsigned z : zs) {
    for (const unsigned y : ys) {
      for (const unsigned x : xs) BlockRun(corner, memory).Run(x, y, z);
    }
  }
}

}  // namespace vramstow::simulator::ptx
