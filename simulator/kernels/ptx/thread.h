// Thread is one thread of a launch: its registers, its memory and its position.
//
// Ownership: borrows the block's shared memory and the launch. Threads: not a thread of the host.
// Errors: state() and ending(). Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_PTX_THREAD_H_
#define VRAMSTOW_SIMULATOR_KERNELS_PTX_THREAD_H_

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "simulator/kernels/ptx/code.h"
#include "simulator/kernels/ptx/grid.h"
#include "simulator/kernels/ptx/memory.h"

namespace vramstow::simulator::ptx {

// Generic addresses of shared memory and of a thread's own memory. They are far from all addresses
// of real memory.
inline constexpr uint64_t kSharedWindow = 1ull << 60;
inline constexpr uint64_t kLocalWindow = 2ull << 60;
inline constexpr uint64_t kWindowBytes = 1ull << 32;

// Data that the threads of a block share.
struct BlockState {
  const GridLaunch* launch = nullptr;
  Memory* memory = nullptr;
  std::vector<char> shared;
  unsigned block[3] = {0, 0, 0};
  uint64_t steps_left = 0;
  uint64_t host_bytes = 0;  // host memory of the block's threads
};

class Thread {
 public:
  enum class State : uint8_t { kReady, kExited, kWaiting, kFailed };

  void Begin(BlockState* block, unsigned number);
  // Runs until the thread exits, waits or fails. The executed steps are subtracted from the steps
  // that the block has left.
  void Run();

  State state() const { return state_; }
  Ending ending() const { return ending_; }
  unsigned number() const { return number_; }
  unsigned lane() const { return number_ % kWarpThreads; }
  // The instruction at which the thread waits.
  const Instruction& waiting_at() const { return *waiting_; }
  void Release() { state_ = State::kReady; }

  // The functions below serve the instructions.
  template <typename T>
  T Get(const Operand& operand) const {
    const uint64_t bits =
        operand.kind == Operand::kRegister ? registers_[operand.index] : Slow(operand);
    if constexpr (std::is_same_v<T, bool>) {
      return (bits != 0) != operand.negated;
    } else if constexpr (std::is_same_v<T, float>) {
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    } else if constexpr (std::is_same_v<T, double>) {
      return std::bit_cast<double>(bits);
    } else {
      return static_cast<T>(bits);
    }
  }

  template <typename T>
  void Set(const Operand& operand, T value) {
    registers_[operand.index] = Bits(value);
  }

  template <typename T>
  static uint64_t Bits(T value) {
    if constexpr (std::is_same_v<T, float>) {
      return std::bit_cast<uint32_t>(value);
    } else if constexpr (std::is_same_v<T, double>) {
      return std::bit_cast<uint64_t>(value);
    } else if constexpr (std::is_signed_v<T>) {
      return static_cast<uint64_t>(static_cast<int64_t>(value));
    } else {
      return static_cast<uint64_t>(value);
    }
  }

  // Subtracts steps for an instruction that costs more than one step.
  void Spend(uint64_t steps) { block_->steps_left -= std::min(steps, block_->steps_left); }

  // Returns null if the thread has failed.
  char* At(Space space, uint64_t address, uint64_t bytes, bool write);
  uint64_t AddressOf(const Instruction& i) const { return Get<uint64_t>(i.in[0]) + i.offset; }

  // The functions below stop the thread and return false.
  bool Exit() {
    state_ = State::kExited;
    return false;
  }
  bool Fail(Ending ending) {
    state_ = State::kFailed;
    ending_ = ending;
    return false;
  }
  bool Wait(const Instruction& i) {
    state_ = State::kWaiting;
    waiting_ = &i;
    return false;
  }
  // The functions below return true if the thread continues.
  bool Jump(uint32_t target) {
    next_ = target;
    return true;
  }
  bool Call(const CallSite& site);
  bool Return();
  const Routine& routine() const { return *routine_; }
  // The carry of instructions with .cc.
  bool carry() const { return carry_; }
  void set_carry(bool carry) { carry_ = carry; }

 private:
  struct Frame {
    const Routine* routine = nullptr;
    const CallSite* site = nullptr;  // the call in progress
    uint32_t next = 0;
    uint32_t first_register = 0;
    uint32_t memory = 0;
  };

  bool Enter(const Routine& routine, uint32_t first_register, uint32_t memory);
  bool Grow(size_t registers, size_t bytes);
  uint64_t Slow(const Operand& operand) const;
  uint64_t Read(Special special) const;

  BlockState* block_ = nullptr;
  State state_ = State::kExited;
  Ending ending_ = Ending::kDone;
  unsigned number_ = 0;
  unsigned position_[3] = {0, 0, 0};
  const Instruction* waiting_ = nullptr;
  bool carry_ = false;

  const Routine* routine_ = nullptr;
  uint32_t next_ = 0;
  uint32_t first_register_ = 0;
  uint32_t frame_ = 0;  // offset in memory_ of the routine's frame
  uint64_t* registers_ = nullptr;
  std::vector<uint64_t> all_registers_;
  std::vector<char> memory_;
  std::vector<Frame> callers_;
};

}  // namespace vramstow::simulator::ptx

#endif  // VRAMSTOW_SIMULATOR_KERNELS_PTX_THREAD_H_
