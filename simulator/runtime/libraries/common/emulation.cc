#include "simulator/runtime/libraries/common/emulation.h"

#include <dlfcn.h>

#include "simulator/runtime/libraries/common/device.h"

namespace vramstow::simulator {
namespace {

struct SimulatorFunctions {
  decltype(&vramstowSimulatorRegisterKernel) register_kernel = nullptr;
  decltype(&vramstowSimulatorTranslate) translate = nullptr;

  SimulatorFunctions() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    register_kernel = reinterpret_cast<decltype(register_kernel)>(
        dlsym(library, "vramstowSimulatorRegisterKernel"));
    translate = reinterpret_cast<decltype(translate)>(dlsym(library, "vramstowSimulatorTranslate"));
  }
};

const SimulatorFunctions& Simulator() {
  static const SimulatorFunctions* functions = new SimulatorFunctions;
  return *functions;
}

}  // namespace

bool RegisterEmulation(const char* kernel, Emulation emulation, uint64_t duration_ns) {
  const size_t bytes = kArgumentWords * sizeof(uint64_t);
  return Simulator().register_kernel != nullptr && Simulator().translate != nullptr &&
         Simulator().register_kernel(kernel, emulation, &bytes, 1, duration_ns, nullptr) == 0;
}

void* DeviceBytes(uint64_t address, size_t bytes, bool write) {
  return Simulator().translate == nullptr ? nullptr
                                          : Simulator().translate(address, bytes, write ? 1 : 0);
}

}  // namespace vramstow::simulator
