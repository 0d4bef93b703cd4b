#include "simulator/kernels/ptx/thread.h"

#include <algorithm>
#include <cstring>

#include "base/rounding.h"

namespace vramstow::simulator::ptx {
namespace {

constexpr size_t kCallDepthMax = 64;
constexpr uint32_t kThreadRegistersMax = 1u << 17;  // for all routines of a thread together
constexpr uint32_t kMemoryMax = 512u << 10;         // memory of a thread, limited as on a GPU
constexpr uint32_t kFrameUnit = 64;

constexpr uint64_t kThreadHostBytesMax = 256ull << 20;

}  // namespace

void Thread::Begin(BlockState* block, unsigned number) {
  block_ = block;
  number_ = number;
  const unsigned* size = block->launch->block;
  position_[0] = number % size[0];
  position_[1] = number / size[0] % size[1];
  position_[2] = number / size[0] / size[1];
  state_ = State::kReady;
  ending_ = Ending::kDone;
  carry_ = false;
  callers_.clear();
  if (!Enter(*block->launch->entry, 0, 0)) return;
  const std::vector<char>& parameters = block->launch->parameters;
  if (!parameters.empty()) {
    memcpy(memory_.data(), parameters.data(), std::min(parameters.size(), memory_.size()));
  }
}

// Memory and registers of a routine begin as zeros, so that no launch depends on an earlier one.
bool Thread::Enter(const Routine& routine, uint32_t first_register, uint32_t memory) {
  if (routine.registers > kThreadRegistersMax - first_register || memory > kMemoryMax ||
      routine.frame_bytes > kMemoryMax - memory) {
    return Fail(Ending::kTooLarge);
  }
  routine_ = &routine;
  next_ = 0;
  first_register_ = first_register;
  frame_ = memory;
  const size_t registers = first_register + routine.registers;
  const size_t bytes = memory + routine.frame_bytes;
  if (!Grow(registers, bytes)) return Fail(Ending::kTooLarge);
  registers_ = all_registers_.data() + first_register;
  std::fill_n(registers_, routine.registers, 0);
  if (routine.frame_bytes > 0) memset(memory_.data() + memory, 0, routine.frame_bytes);
  return true;
}

// Enlarges the registers and the memory of a thread, within the limit that this machine has for all
// threads of a block. Registers and memory never shrink.
bool Thread::Grow(size_t registers, size_t bytes) {
  registers = std::max(registers, all_registers_.size());
  bytes = std::max(bytes, memory_.size());
  const uint64_t more =
      (registers - all_registers_.size()) * sizeof(uint64_t) + (bytes - memory_.size());
  if (more > kThreadHostBytesMax - std::min(kThreadHostBytesMax, block_->host_bytes)) return false;
  block_->host_bytes += more;
  all_registers_.resize(registers);
  memory_.resize(bytes);
  return true;
}

bool Thread::Call(const CallSite& site) {
  if (callers_.size() >= kCallDepthMax) return Fail(Ending::kTooLarge);
  callers_.push_back({routine_, &site, next_, first_register_, frame_});
  const uint32_t from = frame_;
  const uint32_t end = static_cast<uint32_t>(RoundUp(frame_ + routine_->frame_bytes, kFrameUnit));
  if (!Enter(*site.routine, first_register_ + routine_->registers, end)) return false;
  for (size_t i = 0; i < site.arguments.size(); ++i) {
    const FramePart& to = site.routine->parameters[i];
    memcpy(memory_.data() + frame_ + to.offset, memory_.data() + from + site.arguments[i].offset,
           std::min(to.bytes, site.arguments[i].bytes));
  }
  return true;
}

bool Thread::Return() {
  if (callers_.empty()) return Exit();
  const Frame caller = callers_.back();
  callers_.pop_back();
  const size_t results = std::min(caller.site->results.size(), routine_->results.size());
  for (size_t i = 0; i < results; ++i) {
    const FramePart& from = routine_->results[i];
    const FramePart& to = caller.site->results[i];
    memcpy(memory_.data() + caller.memory + to.offset, memory_.data() + frame_ + from.offset,
           std::min(to.bytes, from.bytes));
  }
  routine_ = caller.routine;
  next_ = caller.next;
  first_register_ = caller.first_register;
  frame_ = caller.memory;
  registers_ = all_registers_.data() + first_register_;
  return true;
}

void Thread::Run() {
  while (state_ == State::kReady) {
    if (block_->steps_left == 0) {
      Fail(Ending::kTooLong);
      return;
    }
    --block_->steps_left;
    if (next_ >= routine_->code.size()) {  // the end of a body returns
      if (!Return()) return;
      continue;
    }
    const Instruction& i = routine_->code[next_++];
    if (i.guard.kind != Operand::kNone && !Get<bool>(i.guard)) continue;
    if (!i.run(i, *this)) return;
  }
}

char* Thread::At(Space space, uint64_t address, uint64_t bytes, bool write) {
  if (address % bytes != 0) {
    Fail(Ending::kMisalignedAddress);
    return nullptr;
  }
  if (space == Space::kGeneric) {
    if (address - kSharedWindow < kWindowBytes) {
      space = Space::kShared;
      address -= kSharedWindow;
    } else if (address - kLocalWindow < kWindowBytes) {
      space = Space::kLocal;
      address -= kLocalWindow;
    }
  }
  if (space == Space::kShared || space == Space::kLocal) {
    std::vector<char>& own = space == Space::kShared ? block_->shared : memory_;
    // All routines of a thread share its memory, which never shrinks.
    if (address <= own.size() && bytes <= own.size() - address) return own.data() + address;
    Fail(Ending::kIllegalAddress);
    return nullptr;
  }
  char* found = block_->memory->At(address, bytes, write);
  if (found == nullptr) {
    Fail(block_->memory->refused() ? Ending::kRefused : Ending::kIllegalAddress);
  }
  return found;
}

uint64_t Thread::Slow(const Operand& operand) const {
  switch (operand.kind) {
    case Operand::kNone:
      return 0;
    case Operand::kRegister:
      return registers_[operand.index];
    case Operand::kImmediate:
      return operand.value;
    case Operand::kSpecial:
      return Read(static_cast<Special>(operand.index));
    case Operand::kFrame:
      return frame_ + operand.value;
    case Operand::kDynamicShared:
      return block_->launch->static_shared + operand.value;
    case Operand::kVariable:
      return block_->launch->variables[operand.index] + operand.value;
  }
  return 0;
}

uint64_t Thread::Read(Special special) const {
  const GridLaunch& launch = *block_->launch;
  const uint64_t below = (1ull << lane()) - 1;
  const uint64_t up_to = below * 2 + 1;
  switch (special) {
    case Special::kTidX:
    case Special::kTidY:
    case Special::kTidZ:
      return position_[static_cast<int>(special)];
    case Special::kNtidX:
    case Special::kNtidY:
    case Special::kNtidZ:
      return launch.block[static_cast<int>(special) - static_cast<int>(Special::kNtidX)];
    case Special::kCtaidX:
    case Special::kCtaidY:
    case Special::kCtaidZ:
      return block_->block[static_cast<int>(special) - static_cast<int>(Special::kCtaidX)];
    case Special::kNctaidX:
    case Special::kNctaidY:
    case Special::kNctaidZ:
      return launch.grid[static_cast<int>(special) - static_cast<int>(Special::kNctaidX)];
    case Special::kLaneId:
      return lane();
    case Special::kWarpId:
      return number_ / kWarpThreads;
    case Special::kWarpCount:
      return (launch.block[0] * launch.block[1] * launch.block[2] + kWarpThreads - 1) /
             kWarpThreads;
    case Special::kLanesEqual:
      return 1ull << lane();
    case Special::kLanesLess:
      return below;
    case Special::kLanesLessEqual:
      return up_to;
    case Special::kLanesGreater:
      return UINT32_MAX & ~up_to;
    case Special::kLanesGreaterEqual:
      return UINT32_MAX & ~below;
    case Special::kClock:
      return launch.steps - block_->steps_left;
    case Special::kClockHigh:
      return (launch.steps - block_->steps_left) >> 32;
    case Special::kDynamicShared:
      return launch.dynamic_shared;
    case Special::kTotalShared:
      return launch.static_shared + launch.dynamic_shared;
    case Special::kOne:
      return 1;
    case Special::kWarpSize:
      return kWarpThreads;
    case Special::kZero:
      break;
  }
  return 0;
}

}  // namespace vramstow::simulator::ptx
