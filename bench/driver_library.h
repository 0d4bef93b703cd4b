// Opens the driver by name and looks up its functions, for benchmarks.
#ifndef VRAMSTOW_BENCH_DRIVER_LIBRARY_H_
#define VRAMSTOW_BENCH_DRIVER_LIBRARY_H_

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

namespace vramstow {

// Returns the function of this name; the program ends if the driver does not have it.
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
