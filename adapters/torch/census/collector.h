// Collector: Python's collector, switched off and on.
//
// Idea: since CPython 3.10 its C API has functions for this. Before, those of the module gc are
// called, which are Python's own: no code of the program runs.
//
// Ownership: keeps the functions for good. Threads: who calls holds the interpreter's lock. Errors:
// a collector that is not known is never off. Units: none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_COLLECTOR_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_COLLECTOR_H_

#include "adapters/torch/census/cpython.h"

namespace vramstow::torch_census {

class Collector {
 public:
  // Finds its functions once, where no error of Python's is pending. False: the program has
  // replaced them.
  static bool Look();

  static bool is_on();
  // True: it was on.
  static bool SwitchOff();
  static void SwitchOn();
};

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_COLLECTOR_H_
