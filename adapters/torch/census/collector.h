// Collector switches Python's garbage collector off and on.
//
// Idea: since CPython 3.10 its C API has functions for this. In older releases the functions of the
// module gc are called. They are Python's own functions, so no code of the program runs.
//
// Ownership: retains the functions for good. Threads: the caller holds the interpreter's lock.
// Errors: an unsupported collector is never switched off. Units: none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_COLLECTOR_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_COLLECTOR_H_

#include "adapters/torch/census/cpython.h"

namespace vramstow::torch_census {

class Collector {
 public:
  // Finds the functions that this class calls. It does so only once, while no Python exception is
  // pending. Returns false if the program has replaced the functions.
  static bool Look();

  static bool is_on();
  // Returns true if the collector was on.
  static bool SwitchOff();
  static void SwitchOn();
};

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_COLLECTOR_H_
