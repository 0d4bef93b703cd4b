// Quiet: while it lives Python's collector does not run by itself, and Python's error stays as it
// is.
//
// Ownership: keeps the error meanwhile. Threads: who calls holds the interpreter's lock. Errors,
// units: none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_QUIET_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_QUIET_H_

#include "adapters/torch/census/cpython.h"

namespace vramstow::torch_census {

class Quiet {
 public:
  Quiet() : collects_(PyGC_Disable != nullptr && PyGC_Disable() != 0) {
    PyErr_Fetch(&type_, &value_, &traceback_);
  }
  ~Quiet() {
    PyErr_Restore(type_, value_, traceback_);
    if (collects_) PyGC_Enable();
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  const bool collects_;
  Object* type_ = nullptr;
  Object* value_ = nullptr;
  Object* traceback_ = nullptr;
};

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_QUIET_H_
