// Wraps functions of libraries other than the driver (library_hooks.def).
//
// Idea: a process may contain several copies of a library, and one copy may contain several
// versions of a function. Each function that is looked up gets a separate wrapper, which stores its
// target. The libraries themselves call the driver, so a thread in such a wrapper does not count as
// inside vramstow. If a thread is inside a wrapper of the driver already, the call goes straight to
// the library.
//
// Ownership: static storage. Threads: any, without a lock. Errors: the library's own function is
// returned if all wrappers of a row are in use, or if no pool is wanted. Units: rows of the table.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_LIBRARY_CALL_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_LIBRARY_CALL_H_

#include "interpose/core/handlers/context.h"
#include "interpose/core/pools/registrations.h"
#include "interpose/core/runtime/process.h"
#include "interpose/core/runtime/this_thread.h"

namespace vramstow {

// One call of one function of a library, as its handler receives it.
template <typename Real>
class LibraryCall {
 public:
  LibraryCall(const HandlerContext& context, void* real)
      : context_(context), real_(reinterpret_cast<Real>(real)) {}

  bool active() const { return ThisThread()->depth == 0 && context_.process.Admits(kNoHook); }

  // Calls the library.
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

// Returns the wrapper that a caller gets for `real`, a function of row `row`.
void* ReplaceInLibrary(unsigned row, void* real);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_LIBRARY_CALL_H_
