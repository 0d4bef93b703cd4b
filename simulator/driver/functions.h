// Lists the public functions of the driver: name, exported symbol, and the CUDA version that
// introduced it.
//
// Ownership: a constant table, sorted by name and then by version. Threads: immutable. Errors:
// returns null for an unknown name. Units: versions as 1000 × major + 10 × minor.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_FUNCTIONS_H_
#define VRAMSTOW_SIMULATOR_DRIVER_FUNCTIONS_H_

#include <cstddef>

namespace vramstow::simulator {

enum class DefaultStream : unsigned char { kLegacy, kPerThread };

struct DriverFunction {
  const char* name;  // the documented name, which cuGetProcAddress takes
  void (*symbol)();
  int version;  // 12030 is CUDA 12.3
  DefaultStream stream;
};

struct DriverFunctions {
  const DriverFunction* rows;
  size_t count;
};
DriverFunctions AllDriverFunctions();

// Returns the result with which the driver refuses all calls now: before cuInit, after the driver's
// shutdown, or in a forked child. Returns 0 if calls are served.
int RefusalOfAllCalls();

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_FUNCTIONS_H_
