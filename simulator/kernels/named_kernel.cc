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
  // `effort` is the cost of a byte (Emulation::Effort).
  LaunchMemory(State* state, const Context* context, const std::string& kernel, uint64_t effort)
      : state_(state), context_(context), kernel_(kernel), effort_(effort) {}

  // Declares the launch large; its time is measured from here on.
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

  // The reason why some work was left out, as text for users; null if all was done.
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
      if (large_) spent_ += touched_ * effort_;
      MarkWrites(origin_);
    }
    Forget();
    return reason == nullptr;
  }

  // Marks the memory requested for writing since the last Begin, because it is not written.
  void MarkUncomputed() { MarkWrites(origin_ != nullptr ? origin_ : LastingName(kernel_)); }

 private:
  Effort EffortOf(uint64_t bytes) const {
    return {
        .name = LastingName(kernel_), .bytes = bytes, .operations = 0, .is_random = effort_ > 1};
  }

  const char* Refuse() const {
    if (large_ && origin_ != nullptr) return " (of what was left out)";
    if (large_ && !ComputingBudget::Global().Allows(state_->machine->spec(),
                                                    EffortOf(spent_ + touched_ * effort_))) {
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
  const uint64_t effort_;
  bool large_ = false;
  uint64_t began_ns_ = 0;  // set for a large launch
  uint64_t spent_ = 0;     // bytes, weighted by effort
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
  KnownKernel(State* state, Context* context, const Launch& launch,
              std::shared_ptr<const NamedEmulation> known)
      : state_(state), context_(context), known_(std::move(known)) {
    std::copy_n(launch.grid, 3, launch_.grid);
    std::copy_n(launch.block, 3, launch_.block);
    for (const Argument& argument : known_->emulation->arguments()) {
      arguments_.Add(argument.bytes, argument.alignment);
    }
    arguments_.Copy(launch.parameters, launch.extra);
    launch_.arguments = &arguments_.places();
  }

  void Run(uint64_t /*time_ns*/) override {
    if (context_->sticky != CUDA_SUCCESS) return;
    if (!arguments_.complete()) return NoteIdleLaunch(*state_, known_->name, kStrange);
    const Spec& spec = state_->machine->spec();
    LaunchMemory memory(state_, context_, known_->name, known_->emulation->Effort());
    launch_.limits = {spec.emulation_bytes, spec.gemm_operations};
    Outcome outcome = known_->emulation->Run(launch_, &memory);
    if (outcome == Outcome::kTooLarge) {
      memory.SetLarge();
      launch_.limits.bytes = kLargest;
      outcome = known_->emulation->Run(launch_, &memory);
      memory.Finish();
    }
    Conclude(outcome, &memory);
  }

  uint64_t DurationNs() const override { return state_->machine->KernelNs(); }

 private:
  static constexpr const char* kStrange = " (arguments not as expected)";
  static constexpr uint64_t kLargest = 1ull << 44;  // more than any GPU has

  void Conclude(Outcome outcome, LaunchMemory* memory) {
    if (memory->reason() != nullptr) NoteIdleLaunch(*state_, known_->name, memory->reason());
    switch (outcome) {
      case Outcome::kDone:
      case Outcome::kUncomputed:
        return;
      case Outcome::kNotUnderstood:
        return NoteIdleLaunch(*state_, known_->name, kStrange);
      case Outcome::kTooLarge:
        memory->MarkUncomputed();
        return NoteIdleLaunch(*state_, known_->name, " (too large)");
      case Outcome::kAssertion:
      case Outcome::kIllegalAddress:
        // Indices that were never computed do not show an error of the program.
        if (memory->read_uncomputed()) {
          return NoteIdleLaunch(*state_, known_->name, " (of what was left out)");
        }
        context_->sticky =
            outcome == Outcome::kAssertion ? CUDA_ERROR_ASSERT : CUDA_ERROR_ILLEGAL_ADDRESS;
        return;
    }
  }

  State* state_;
  Context* context_;
  std::shared_ptr<const NamedEmulation> known_;
  CopiedArguments arguments_;
  KernelLaunch launch_;
};

}  // namespace

std::shared_ptr<const NamedEmulation> FindEmulation(const std::string& kernel) {
  auto emulation = MakeEmulation(kernel);
  if (emulation == nullptr) return nullptr;
  return std::make_shared<NamedEmulation>(NamedEmulation{kernel, std::move(emulation)});
}

std::shared_ptr<Work> MakeKnownKernel(State* state, Context* context, const Launch& launch,
                                      const std::shared_ptr<const NamedEmulation>& known) {
  return std::make_shared<KnownKernel>(state, context, launch, known);
}

}  // namespace vramstow::simulator
