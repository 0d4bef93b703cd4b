#include "simulator/kernels/ptx_kernel.h"

#include <string.h>

#include <algorithm>

#include "simulator/driver/arguments.h"
#include "simulator/driver/host_reads.h"
#include "simulator/driver/idle_launches.h"
#include "simulator/driver/variable.h"
#include "simulator/kernels/grid_memory.h"
#include "simulator/kernels/ptx/grid.h"
#include "simulator/kernels/written_spans.h"

namespace vramstow::simulator {
namespace {

// The number of steps that a launch may always execute, even if all launches together have used
// their allowance.
constexpr uint64_t kStepsAlways = 1ull << 20;
constexpr uint64_t kLaunchesInAllowance = 16;
// It is assumed that each thread executes at least 1 / kLeastPart of the routine's instructions. A
// launch that would exceed its limit with so few instructions is not started.
constexpr uint64_t kLeastPart = 2;

// Steps of all launches so far. Guarded by the driver's lock.
uint64_t* SpentSteps() {
  static uint64_t spent = 0;
  return &spent;
}

uint64_t StepsAllowed(const Spec& spec) {
  const uint64_t each = spec.ptx_steps;
  const uint64_t all =
      each > UINT64_MAX / kLaunchesInAllowance ? UINT64_MAX : each * kLaunchesInAllowance;
  const uint64_t left = all - std::min(all, *SpentSteps());
  return std::min(each, std::max(left, kStepsAlways));
}

std::string TextOfRefusal(const ptx::Routine& routine) {
  return " (not known here: " + routine.refusal + ")";
}

class PtxKernel : public Work {
 public:
  PtxKernel(State* state, Context* context, const Launch& launch,
            std::shared_ptr<ptx::Program> code, const ptx::Routine& routine,
            std::vector<uint64_t> variables)
      : state_(state), context_(context), name_(launch.function->name), code_(std::move(code)) {
    launch_.entry = &routine;
    std::copy_n(launch.grid, 3, launch_.grid);
    std::copy_n(launch.block, 3, launch_.block);
    launch_.dynamic_shared = launch.shared_bytes;
    launch_.variables = std::move(variables);
    CopiedArguments arguments;
    for (size_t i = 0; i < routine.parameters.size(); ++i) {
      arguments.Add(routine.parameters[i].bytes, routine.alignments[i]);
    }
    arguments.Copy(launch.parameters, launch.extra);
    complete_ = arguments.complete();
    launch_.parameters.resize(routine.frame_bytes);
    for (size_t i = 0; complete_ && i < routine.parameters.size(); ++i) {
      memcpy(launch_.parameters.data() + routine.parameters[i].offset, arguments.places()[i],
             routine.parameters[i].bytes);
    }
  }

  void Run(uint64_t /*time_ns*/) override {
    if (context_->sticky != CUDA_SUCCESS) return;
    if (launch_.entry->examinable) return LeaveOut();
    if (!complete_) return NoteIdleLaunch(*state_, name_, " (arguments not as expected)");
    launch_.static_shared = code_->shared_bytes();
    launch_.steps = StepsAllowed(state_->machine->spec());
    GridMemory memory(state_, context_);
    ptx::Ending ending = ptx::Ending::kTooLong;
    if (LeastSteps() <= launch_.steps) {
      uint64_t steps = 0;
      ending = ptx::Run(launch_, &memory, &steps);
      *SpentSteps() += steps;
    }
    if (ending == ptx::Ending::kTooLong) AddWrittenSpans(*state_, launch_, &memory);
    Conclude(ending, &memory);
  }

  uint64_t DurationNs() const override { return state_->machine->KernelNs(); }

 private:
  unsigned __int128 LeastSteps() const {
    unsigned __int128 threads = 1;
    for (int k = 0; k < 3; ++k) threads *= uint64_t{launch_.grid[k]} * launch_.block[k];
    return threads * (launch_.entry->code.size() / kLeastPart);
  }

  // Marks what the kernel would have written, and counts the launch.
  void LeaveOut() {
    launch_.static_shared = code_->shared_bytes();
    CopiedMemory memory(state_, context_);
    if (complete_) AddWrittenSpans(*state_, launch_, &memory);
    // No setting computes these results, so the name says what is missing (uncomputed_reads.cc).
    const std::string whose = name_.starts_with("_Z") ? "a kernel" : name_;
    memory.Conclude(memory.origin() != nullptr ? memory.origin()
                                               : LastingName("an unknown instruction of " + whose));
    NoteIdleLaunch(*state_, name_, LastingName(TextOfRefusal(*launch_.entry)));
    HostReads::Global().NoteIdleLaunch();  // what bulk copies write is not known
  }

  void Conclude(ptx::Ending ending, GridMemory* memory) {
    const CUresult error = ErrorOf(ending);
    if (error != CUDA_SUCCESS && memory->origin() == nullptr) {
      memory->Conclude(nullptr);
      context_->sticky = error;
      return;
    }
    const char* reason = ending == ptx::Ending::kDone ? nullptr : ReasonOf(ending);
    const char* by = memory->origin();
    if (by == nullptr && reason != nullptr) by = LastingName(name_);
    memory->Conclude(by);
    if (reason != nullptr) NoteIdleLaunch(*state_, name_, reason);
  }

  // Returns the error that a GPU would report, or CUDA_SUCCESS for none.
  static CUresult ErrorOf(ptx::Ending ending) {
    switch (ending) {
      case ptx::Ending::kIllegalAddress:
        return CUDA_ERROR_ILLEGAL_ADDRESS;
      case ptx::Ending::kMisalignedAddress:
        return CUDA_ERROR_MISALIGNED_ADDRESS;
      case ptx::Ending::kTrap:
        return CUDA_ERROR_LAUNCH_FAILED;
      case ptx::Ending::kAssertion:
        return CUDA_ERROR_ASSERT;
      default:
        return CUDA_SUCCESS;
    }
  }

  static const char* ReasonOf(ptx::Ending ending) {
    switch (ending) {
      case ptx::Ending::kTooLong:
        return " (more instructions than ptx= allows)";
      case ptx::Ending::kTooLarge:
        return " (its threads need too much memory of this machine)";
      case ptx::Ending::kStuck:
        return " (stopped: its threads wait for each other for ever)";
      case ptx::Ending::kRefused:
        return " (memory of this machine)";
      default:
        return " (of what was left out)";  // such an error does not come from the program
    }
  }

  State* state_;
  Context* context_;
  std::string name_;
  std::shared_ptr<ptx::Program> code_;
  ptx::GridLaunch launch_;
  bool complete_ = false;
};

}  // namespace

std::shared_ptr<Work> MakePtxKernel(State* state, Context* context, const Launch& launch,
                                    const std::shared_ptr<ptx::Program>& code,
                                    const ptx::Routine& routine, std::string* why) {
  if (!routine.refusal.empty() && !routine.examinable) {
    *why = TextOfRefusal(routine);
    return nullptr;
  }
  const auto& declared = code->variables();
  std::vector<uint64_t> variables(declared.size());
  for (const uint32_t index : routine.variables) {
    Global global;
    if (FindGlobal(state, context, launch.function->program, declared[index].name, &global) !=
        CUDA_SUCCESS) {
      *why = " (no device memory for its variables)";
      return nullptr;
    }
    variables[index] = global.address;
  }
  return std::make_shared<PtxKernel>(state, context, launch, code, routine, std::move(variables));
}

}  // namespace vramstow::simulator
