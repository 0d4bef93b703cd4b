// Implements modules, libraries, kernels, and kernels registered by tests.
//
// Idea: the simulator runs no machine code. An image lists its kernels and variables (image.h); in
// a compressed image a kernel of any name exists. A launch takes time and does nothing, unless a
// host function was registered under the kernel's name or kernel emulation (kernel_emulation.h) can
// compute its effect. A module and a library are the same thing here.
//
// A kernel of a library (CUkernel) and a function of a context (CUfunction) are handles of two
// kinds that refer to one Function. As documented, launches, kernel nodes and occupancy queries
// accept both kinds of handle; each other call accepts only one kind. If it gets the wrong kind, a
// real driver may crash, but this driver returns an error.
//
// Ownership: a program owns its functions and variables; launches share what they need of it.
// Threads: the caller holds the driver's lock. Errors: returns null for unknown names and handles.
// Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_MODULE_H_
#define VRAMSTOW_SIMULATOR_DRIVER_MODULE_H_

#include <map>
#include <string>

#include "simulator/driver/call.h"
#include "simulator/driver/image.h"
#include "simulator/driver/kernel_emulation.h"
#include "simulator/simulator_api.h"

namespace vramstow::simulator {

struct Program;

struct Function;

// The object that a CUkernel points to.
struct Kernel {
  Function* function = nullptr;
};

// The object that a CUfunction points to.
struct Function {
  std::string name;
  Program* program = nullptr;
  Kernel kernel;  // its handle as a kernel, valid for functions of a library
  std::shared_ptr<EmulatedFunction> emulated;  // made by emulation at its first use
  std::vector<KernelParameter> parameters;
  bool parameters_known = false;
  int attributes[CU_FUNC_ATTRIBUTE_MAX] = {};

  // Sets the fields that the image specifies.
  void SetKnown(const KernelImage& known);
};

struct Global {
  uint64_t address = 0;
  uint64_t bytes = 0;
};

struct Program {
  Context* context = nullptr;  // null for a library
  bool library = false;
  Image image;
  std::shared_ptr<EmulatedProgram> emulated;
  std::map<std::string, Function*> functions;
  std::map<std::pair<std::string, Context*>, Global> globals;
};

// A host function that replaces a kernel.
struct RegisteredKernel {
  vramstowSimulatorKernel function = nullptr;
  std::vector<size_t> parameter_sizes;
  uint64_t duration_ns = 0;
  void* user = nullptr;
};

// One launch, ready to be enqueued or put into a graph.
struct Launch {
  Function* function = nullptr;
  bool by_kernel = false;  // launched by its CUkernel
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  void** parameters = nullptr;  // the caller's pointer; copied when the work is made
  void** extra = nullptr;
};

// Returns which images the devices can run; all devices are alike.
ImageTarget TargetOf(const Machine& machine);
// Return the function that a handle refers to, or null if the handle is not of the named kind.
Function* FindFunctionHandle(CUfunction handle);
Function* FindKernelHandle(CUkernel handle);
// Returns the function of a handle of either kind (CUfunction or CUkernel), as a launch accepts
// both.
Function* FindLaunched(CUfunction handle);
CUresult CheckLaunch(Call& call, const Launch& launch);
std::shared_ptr<Work> MakeLaunchWork(State* state, Context* context, const Launch& launch);

// Unloads the modules of a context that ends.
void UnloadModules(State* state, Context* context);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_MODULE_H_
