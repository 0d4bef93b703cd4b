// The wrappers of functions of other libraries than the driver (library_hooks.def).
//
// Idea: a process may have several copies of a library, and a copy several versions of a function.
// Each that is looked up gets a wrapper of its own, which knows what it stands for. The libraries
// themselves call the driver, so a wrapper does not count as a place inside vramstow: only where a
// thread is in one already does a call go straight to the library.
//
// Ownership: static storage. Threads: any, without a lock. Errors: where all wrappers of a row are
// taken, or no pool is wanted, the library's own function. Units: rows of the table.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_LIBRARY_ENTRY_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_LIBRARY_ENTRY_H_

#include "interpose/core/handlers/context.h"
#include "interpose/core/pools/registrations.h"
#include "interpose/core/runtime/process.h"
#include "interpose/core/runtime/this_thread.h"

namespace vramstow {

// One call of one function of a library, as a handler sees it.
template <typename Real>
class LibraryCall {
 public:
  LibraryCall(const HandlerContext& context, void* real)
      : context_(context), real_(reinterpret_cast<Real>(real)) {}

  bool active() const { return ThisThread()->depth == 0 && context_.process.Admits(kNoHook); }

  // Asks the library.
  template <typename... Arguments>
  auto Forward(Arguments... arguments) const {
    return real_(arguments...);
  }

  Registrations& registrations() const { return context_.registrations; }
  OpenCollectives& open_collectives() const { return context_.open_collectives; }
  const PoolService& pools() const { return context_.pools; }

 private:
  const HandlerContext& context_;
  const Real real_;
};

// The wrapper that a caller gets for `real`, a function of row `row`.
void* ReplaceInLibrary(unsigned row, void* real);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_LIBRARY_ENTRY_H_
