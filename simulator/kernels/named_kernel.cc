#include "simulator/kernels/named_kernel.h"

#include <algorithm>

#include "simulator/driver/arguments.h"
#include "simulator/driver/computing_budget.h"
#include "simulator/driver/host_budget.h"
#include "simulator/driver/host_memory.h"
#include "simulator/driver/idle_launches.h"

namespace vramstow::simulator {
namespace {

// Gives one launch of a kernel access to memory, and decides whether the launch is computed.
//
// A small launch is always computed. A large one is computed if all memory that it reads was
// computed, and as long as the budget lasts. Memory that a launch would have written is marked as
// not computed if the launch is left out, or if it reads memory with such a mark.
class LaunchMemory : public KernelMemory {
 public:
  LaunchMemory(State* state, const Context* context, const std::string& kernel)
      : state_(state), context_(context), kernel_(kernel) {}

  // Records that the launch is large. Its time is measured from this call on.
  void SetLarge() {
    large_ = true;
    began_ns_ = RealNanoseconds();
    Forget();
  }
  // Charges the budget when the launch has ended.
  void Finish() const {
    if (spent_ == 0) return;
    ComputingBudget::Global().Spend(EffortOf(spent_), RealNanoseconds() - began_ns_);
  }

  // The reason why some work was left out, as text for users; null if all work was done.
  const char* reason() const { return reason_; }
  bool read_uncomputed() const { return any_origin_ || origin_ != nullptr; }

  char* At(uint64_t address, uint64_t bytes, bool write) override {
    Contents& contents = state_->machine->contents;
    if (bytes == 0 || address + bytes < address) return nullptr;
    if (!contents.IsDevice(address)) return HostMemory(address, bytes);
    if (contents.Check(address, bytes, context_->device, write, HasPeers()) != Result::kSuccess) {
      return nullptr;
    }
    touched_ += bytes;
    if (write) {
      written_ += bytes;
      writes_.push_back({address, bytes});
    } else if (origin_ == nullptr) {
      origin_ = contents.uncomputed().Find(address, bytes);
    }
    return static_cast<char*>(contents.Translate(address, bytes, write));
  }

  bool Begin() override {
    const char* reason = Refuse();
    if (reason != nullptr) {
      reason_ = reason;
      MarkUncomputed();
    } else {
      if (large_) spent_ += touched_;
      MarkWrites(origin_);
    }
    Forget();
    return reason == nullptr;
  }

  // Marks as not computed the memory that was requested for writing since the last call of Begin,
  // because it is not written.
  void MarkUncomputed() { MarkWrites(origin_ != nullptr ? origin_ : LastingName(kernel_)); }

 private:
  Effort EffortOf(uint64_t bytes) const {
    return {.name = LastingName(kernel_), .bytes = bytes, .operations = 0};
  }

  const char* Refuse() const {
    if (large_ && origin_ != nullptr) return " (of what was left out)";
    if (large_ &&
        !ComputingBudget::Global().Allows(state_->machine->spec(), EffortOf(spent_ + touched_))) {
      return " (too large)";
    }
    if (large_ && !state_->machine->contents.HasRoom(writes_)) return " (beyond contents=)";
    if (written_ > 0 && !HostBudget::Global().Allows(*state_, writes_, written_)) {
      return " (memory of this machine)";
    }
    return nullptr;
  }

  void MarkWrites(const char* by) {
    UncomputedRanges& uncomputed = state_->machine->contents.uncomputed();
    if (by == nullptr && uncomputed.empty()) return;
    for (const Contents::Piece& write : writes_) {
      if (by == nullptr) {
        uncomputed.Clear(write.address, write.size);
      } else {
        uncomputed.Mark(write.address, write.size, by);
      }
    }
  }

  void Forget() {
    any_origin_ |= origin_ != nullptr;
    writes_.clear();
    touched_ = written_ = 0;
    origin_ = nullptr;
  }

  bool HasPeers() const { return !context_->peers.empty(); }

  // Returns the pointer to host memory that a kernel may access because the driver pinned or
  // registered it; null for other memory.
  char* HostMemory(uint64_t address, uint64_t bytes) const {
    const Block* block = state_->machine->memory.FindAround(address);
    if (!IsPinned(block) || bytes > block->size - (address - block->address)) return nullptr;
    return reinterpret_cast<char*>(static_cast<uintptr_t>(address));
  }

  State* state_;
  const Context* context_;
  const std::string& kernel_;
  bool large_ = false;
  uint64_t began_ns_ = 0;  // set for a large launch
  uint64_t spent_ = 0;     // in bytes
  bool any_origin_ = false;
  const char* reason_ = nullptr;
  // The fields below describe the memory requested since the last Begin.
  std::vector<Contents::Piece> writes_;
  uint64_t touched_ = 0;
  uint64_t written_ = 0;
  const char* origin_ = nullptr;  // the kernel that did not compute an input, or null
};

class KnownKernel : public Work {
 public:
  KnownKernel(State* state, Context* context, const Launch& launch, Emulation emulation)
      : state_(state), context_(context), name_(launch.function->name), emulation_(emulation) {
    arguments_.Add(kLaunchWords * sizeof(uint64_t), alignof(uint64_t));
    arguments_.Copy(launch.parameters, launch.extra);
  }

  void Run(uint64_t /*time_ns*/) override {
    if (context_->sticky != CUDA_SUCCESS) return;
    if (!arguments_.complete()) return NoteIdleLaunch(*state_, name_, kStrange);
    const Spec& spec = state_->machine->spec();
    LaunchMemory memory(state_, context_, name_);
    launch_.words = arguments_.places()[0];
    launch_.limits = {spec.emulation_bytes, spec.gemm_operations};
    Outcome outcome = emulation_(launch_, &memory);
    if (outcome == Outcome::kTooLarge) {
      memory.SetLarge();
      launch_.limits.bytes = kLargest;
      outcome = emulation_(launch_, &memory);
      memory.Finish();
    }
    Conclude(outcome, &memory);
  }

  uint64_t DurationNs() const override { return state_->machine->KernelNs(); }

 private:
  static constexpr const char* kStrange = " (arguments not as expected)";
  static constexpr uint64_t kLargest = 1ull << 44;  // more than any GPU has

  void Conclude(Outcome outcome, LaunchMemory* memory) {
    if (memory->reason() != nullptr) NoteIdleLaunch(*state_, name_, memory->reason());
    switch (outcome) {
      case Outcome::kDone:
      case Outcome::kUncomputed:
        return;
      case Outcome::kNotUnderstood:
        return NoteIdleLaunch(*state_, name_, kStrange);
      case Outcome::kTooLarge:
        memory->MarkUncomputed();
        return NoteIdleLaunch(*state_, name_, " (too large)");
      case Outcome::kIllegalAddress:
        // An invalid address is not an error of the program if the address itself was never
        // computed.
        if (memory->read_uncomputed()) {
          return NoteIdleLaunch(*state_, name_, " (of what was left out)");
        }
        context_->sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
        return;
    }
  }

  State* state_;
  Context* context_;
  const std::string name_;
  const Emulation emulation_;
  CopiedArguments arguments_;
  KernelLaunch launch_;
};

}  // namespace

std::shared_ptr<Work> MakeKnownKernel(State* state, Context* context, const Launch& launch,
                                      Emulation emulation) {
  return std::make_shared<KnownKernel>(state, context, launch, emulation);
}

}  // namespace vramstow::simulator
