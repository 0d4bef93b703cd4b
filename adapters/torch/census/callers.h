// Callers: whose code stands between Python and a request for memory.
//
// Idea: a library in between may hold a lock that another thread wants with Python's lock in its
// hand. PyTorch's own functions hold none where they hold Python's. Only native frames up to the
// innermost of the interpreter count: what calls Python has to expect that its lock is given away.
//
// Ownership: none. Threads: each its own. Errors: what is not known is another library. Units:
// none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_CALLERS_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_CALLERS_H_

namespace vramstow::torch_census {

class Callers {
 public:
  // `own`: an address in the library that asked.
  static bool AreFrameworkOnly(const void* own);
};

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_CALLERS_H_
