// Defines a weak version of every function of the driver, which returns that it is not supported.
// If another file defines the function, that definition is used. simulator/generate makes the table
// from CUDA's headers:
//
//   VRAMSTOW_DRIVER_FUNCTION(name, symbol, version, stream)
//
// `name` is the documented name, which cuGetProcAddress takes. `symbol` is the exported symbol.
// `version` is the version of CUDA that introduced this form. `stream` says what stream 0 means in
// this form. The table is sorted by name, then by version.
//
// cuda.h is not included, because the weak functions have no parameters.
#include "simulator/driver/functions.h"

#include <stdio.h>

#include <atomic>

namespace vramstow::simulator {
namespace {

constexpr int kNotSupported = 801;

int RefuseUnsupported(const char* name, std::atomic<bool>* said) {
  if (const int refusal = RefusalOfAllCalls(); refusal != 0) return refusal;
  if (!said->exchange(true)) {
    fprintf(stderr, "vramstow: the simulated card does not support %s.\n", name);
  }
  return kNotSupported;
}

}  // namespace
}  // namespace vramstow::simulator

#define VRAMSTOW_DRIVER_FUNCTION(name, symbol, version, stream)    \
  extern "C" __attribute__((weak)) int symbol() {                  \
    static std::atomic<bool> said{false};                          \
    return vramstow::simulator::RefuseUnsupported(#symbol, &said); \
  }
#include <driver_functions.def>
#undef VRAMSTOW_DRIVER_FUNCTION

namespace vramstow::simulator {
namespace {

using Symbol = void (*)();

const DriverFunction kFunctions[] = {
#define VRAMSTOW_DRIVER_FUNCTION(name, symbol, version, stream) \
  {#name, reinterpret_cast<Symbol>(&::symbol), version, DefaultStream::stream},
#include <driver_functions.def>
#undef VRAMSTOW_DRIVER_FUNCTION
};

}  // namespace

DriverFunctions AllDriverFunctions() {
  return {kFunctions, sizeof(kFunctions) / sizeof(kFunctions[0])};
}

}  // namespace vramstow::simulator
