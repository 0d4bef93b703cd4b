// FindDriverFunction finds the simulated driver's own functions (simulator_api.h) by name.
//
// Idea: a stand-in for a library uses these functions if they exist. NVIDIA's driver has none of
// them.
//
// Ownership: the driver's library stays open. Threads: any. Errors: `function` becomes null if the
// library, or the function in it, does not exist. Units: none.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_DRIVER_FUNCTION_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_DRIVER_FUNCTION_H_

#include <dlfcn.h>

namespace vramstow::simulator {

template <typename Function>
void FindDriverFunction(const char* name, Function** function) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  *function = library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_DRIVER_FUNCTION_H_
