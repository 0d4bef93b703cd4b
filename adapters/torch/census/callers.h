// Callers finds out which libraries' code is on the stack between Python and a request for memory.
//
// Idea: code of another library than PyTorch may hold a lock for which a second thread waits while
// the second thread holds Python's lock. PyTorch's own functions never hold such a lock while they
// hold Python's lock. Only native frames up to the innermost frame of the interpreter count,
// because code that calls Python has to expect that Python's lock is released.
//
// Ownership: none. Threads: each thread examines its own stack. Errors: an unknown library counts
// as another library. Units: none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_CALLERS_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_CALLERS_H_

namespace vramstow::torch_census {

class Callers {
 public:
  // True if only PyTorch's own code is between Python and the request. `own` is an address in the
  // library that calls this function.
  static bool AreFrameworkOnly(const void* own);
};

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_CALLERS_H_
