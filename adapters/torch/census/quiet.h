// While a Quiet exists, Python's collector does not run automatically, and Python's pending error
// is preserved.
//
// Ownership: owns the error meanwhile. Threads: the caller holds the interpreter's lock. Errors,
// units: none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_QUIET_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_QUIET_H_

#include "adapters/torch/census/collector.h"
#include "adapters/torch/census/cpython.h"

namespace vramstow::torch_census {

class Quiet {
 public:
  Quiet() {
    PyErr_Fetch(&type_, &value_, &traceback_);
    was_on_ = Collector::SwitchOff();
  }
  ~Quiet() {
    if (was_on_) Collector::SwitchOn();
    PyErr_Restore(type_, value_, traceback_);
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  bool was_on_ = false;
  Object* type_ = nullptr;
  Object* value_ = nullptr;
  Object* traceback_ = nullptr;
};

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_QUIET_H_
