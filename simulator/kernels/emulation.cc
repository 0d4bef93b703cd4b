// Implements kernel emulation as declared in simulator/driver/kernel_emulation.h: decides the
// effect of each launch.
#include "simulator/driver/idle_launches.h"
#include "simulator/driver/kernel_emulation.h"
#include "simulator/driver/module.h"
#include "simulator/kernels/named_kernel.h"
#include "simulator/kernels/ptx_kernel.h"

namespace vramstow::simulator {
namespace {

struct KnownProgram : EmulatedProgram {
  std::shared_ptr<ptx::Program> code;  // made of the image's PTX at its first use
};

struct KnownFunction : EmulatedFunction {
  bool emulation_sought = false;
  Emulation emulation = nullptr;
  bool routine_sought = false;
  const ptx::Routine* routine = nullptr;  // a part of `code`
};

KnownProgram& Known(Program* program) {
  if (program->emulated == nullptr) program->emulated = std::make_shared<KnownProgram>();
  return static_cast<KnownProgram&>(*program->emulated);
}

KnownFunction& Known(Function* function) {
  if (function->emulated == nullptr) function->emulated = std::make_shared<KnownFunction>();
  return static_cast<KnownFunction&>(*function->emulated);
}

// Returns the program as PTX, or null if its image has none.
const std::shared_ptr<ptx::Program>& FindCode(Program* program) {
  KnownProgram& known = Known(program);
  if (known.code == nullptr && !program->image.ptx.empty()) {
    known.code = std::make_shared<ptx::Program>(std::move(program->image.ptx));
    program->image.ptx.clear();
  }
  return known.code;
}

// Returns the emulation of the function's name, or null if the name is not known.
Emulation EmulationOf(Function* function) {
  KnownFunction& known = Known(function);
  if (!known.emulation_sought) {
    known.emulation_sought = true;
    known.emulation = FindEmulation(function->name);
  }
  return known.emulation;
}

// Returns the function's PTX routine, or null if there is none.
const ptx::Routine* FindRoutine(Function* function) {
  KnownFunction& known = Known(function);
  if (!known.routine_sought) {
    known.routine_sought = true;
    const auto& code = FindCode(function->program);
    if (code != nullptr) known.routine = code->FindKernel(function->name);
  }
  return known.routine;
}

}  // namespace

std::shared_ptr<Work> EmulateLaunch(State* state, Context* context, const Launch& launch) {
  const Spec& spec = state->machine->spec();
  Function* function = launch.function;
  std::string why;
  if (spec.keep_contents && spec.emulation_bytes > 0) {
    const Emulation emulation = EmulationOf(function);
    if (emulation != nullptr) return MakeKnownKernel(state, context, launch, emulation);
    const ptx::Routine* routine = spec.ptx_steps > 0 ? FindRoutine(function) : nullptr;
    if (routine != nullptr) {
      // A kernel that ends with its first instruction has no effect, so there is nothing to
      // emulate.
      if (routine->refusal.empty() && routine->idle) return nullptr;
      const auto& code = FindCode(function->program);
      if (auto work = MakePtxKernel(state, context, launch, code, *routine, &why)) return work;
    }
  }
  NoteIdleLaunch(*state, function->name, why.empty() ? "" : LastingName(why));
  return nullptr;
}

bool FindDeclaredVariable(Program* program, const std::string& name, DeclaredVariable* variable) {
  const auto& code = FindCode(program);
  const ptx::GlobalVariable* found = code == nullptr ? nullptr : code->FindVariable(name);
  if (found == nullptr) return false;
  *variable = {found->bytes, found->initial, {}};
  for (const ptx::GlobalVariable::Address& address : found->addresses) {
    variable->addresses.push_back(
        {address.offset, code->variables()[address.variable].name, address.addend});
  }
  return true;
}

}  // namespace vramstow::simulator
