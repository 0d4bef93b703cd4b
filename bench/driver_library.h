// The driver as benchmarks call it: opened by name, its functions looked up.
#ifndef VRAMSTOW_BENCH_DRIVER_LIBRARY_H_
#define VRAMSTOW_BENCH_DRIVER_LIBRARY_H_

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

namespace vramstow {

// The function of this name; the program ends where the driver has none.
template <typename Function>
Function* Find(void* library, const char* name) {
  auto* function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function == nullptr) {
    fprintf(stderr, "the driver has no %s\n", name);
    exit(1);
  }
  return function;
}

}  // namespace vramstow

#endif  // VRAMSTOW_BENCH_DRIVER_LIBRARY_H_
