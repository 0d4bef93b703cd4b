// Kernel emulation as the driver sees it: what a launch computes, and what is known of a program
// beyond its image's tables.
//
// Idea: the driver knows a kernel's name, its image and its arguments; what the kernel does to
// memory is the matter of simulator/kernels, which defines these functions. With
// VRAMSTOW_SIMULATOR_KERNELS off, no_kernels.cc defines them: every launch takes its time and does
// nothing, and variables begin with zeros.
//
// Ownership: programs and functions own what is kept for them. Threads: the driver's lock. Errors:
// as said with each function. Units: bytes.
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

// What emulation keeps for a program, and for one of its functions.
class EmulatedProgram {
 public:
  virtual ~EmulatedProgram() = default;
};
class EmulatedFunction {
 public:
  virtual ~EmulatedFunction() = default;
};

// A program was loaded from the image at this address. Null: nothing is kept for it.
std::shared_ptr<EmulatedProgram> EmulateProgram(const void* image);

// The work of a launch. Null: it takes its time and does nothing.
std::shared_ptr<Work> EmulateLaunch(State* state, Context* context, const Launch& launch);

// The parameters of a kernel whose image does not say them. False: nothing is known of them.
bool FindEmulatedParameters(Function* function, std::vector<KernelParameter>* parameters);

// A variable as the program declares it.
struct DeclaredVariable {
  struct Address {
    uint64_t offset = 0;   // where in its value
    std::string variable;  // whose address stands there
    uint64_t addend = 0;
  };
  uint64_t bytes = 0;
  std::vector<char> initial;  // zeros follow
  std::vector<Address> addresses;
};

// False: the program does not say.
bool FindDeclaredVariable(Program* program, const std::string& name, DeclaredVariable* variable);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_KERNEL_EMULATION_H_
