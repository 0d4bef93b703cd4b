// Declares the functions by which the driver uses kernel emulation: for the effect of a launch, and
// for facts about a program that its image's tables do not have.
//
// Idea: the driver knows a kernel's name, its image and its arguments; simulator/kernels defines
// these functions and decides what the kernel does to memory. With VRAMSTOW_SIMULATOR_KERNELS off,
// no_kernels.cc defines them: every launch takes its time and does nothing, and variables begin
// with zeros.
//
// Ownership: programs and functions own the objects that emulation stores for them. Threads: the
// caller holds the driver's lock. Errors: documented at each function. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_KERNEL_EMULATION_H_
#define VRAMSTOW_SIMULATOR_DRIVER_KERNEL_EMULATION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simulator/driver/image.h"
#include "simulator/driver/state.h"

namespace vramstow::simulator {

struct Function;
struct Launch;
struct Program;

// The base classes of the data that emulation stores for a program and for each of its functions.
class EmulatedProgram {
 public:
  virtual ~EmulatedProgram() = default;
};
class EmulatedFunction {
 public:
  virtual ~EmulatedFunction() = default;
};

// Makes the work of a launch. Returns null if the launch only takes time and does nothing.
std::shared_ptr<Work> EmulateLaunch(State* state, Context* context, const Launch& launch);

// A variable as the program declares it.
struct DeclaredVariable {
  struct Address {
    uint64_t offset = 0;   // offset in the variable's value
    std::string variable;  // the variable whose address is stored there
    uint64_t addend = 0;
  };
  uint64_t bytes = 0;
  std::vector<char> initial;  // the rest is zeros
  std::vector<Address> addresses;
};

// Returns false if the program has no declaration of the variable.
bool FindDeclaredVariable(Program* program, const std::string& name, DeclaredVariable* variable);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_KERNEL_EMULATION_H_
