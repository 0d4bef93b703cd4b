// HookGuard is what every wrapper of a hooked function begins with. Call is the object that a
// wrapper passes to its handler.
//
// Idea: a wrapper checks the guard, calls the handler and returns. The guard passes a call straight
// to the driver in two cases: this thread is inside another wrapper already, because the driver
// calls its own exported functions, or vramstow is not active in this process. All other calls go
// to their handlers, in the headers of this folder.
//
// Ownership: objects on the wrapper's stack. Threads: each thread has its own. Errors: the caller
// always gets the driver's result. errno is as the driver left it. No heap. Units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_HOOK_GUARD_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_HOOK_GUARD_H_

#include "interpose/core/handlers/context.h"
#include "interpose/core/record/activity.h"
#include "interpose/core/record/interception_report.h"
#include "interpose/core/runtime/call_site.h"
#include "interpose/core/runtime/cuda_abi.h"
#include "interpose/core/runtime/driver.h"
#include "interpose/core/runtime/process.h"
#include "interpose/core/runtime/this_thread.h"

namespace vramstow {

class HookGuard {
 public:
  HookGuard(const HandlerContext& context, Hook hook, const void* return_address)
      : context_(context), site_{ThisThread(), return_address, hook} {
    active_ = site_.thread->depth++ == 0 && context_.process.Admits(hook);
    if (active_) context_.report.NoteCall(site_);
  }
  ~HookGuard() {
    --site_.thread->depth;
    if (site_.thread->correlation != 0) [[unlikely]] {
      if (active_) context_.activity.Join(site_.thread);
    }
  }
  HookGuard(const HookGuard&) = delete;
  HookGuard& operator=(const HookGuard&) = delete;

  bool active() const { return active_; }
  const CallSite& site() const { return site_; }
  const HandlerContext& context() const { return context_; }

 private:
  const HandlerContext& context_;
  const CallSite site_;
  bool active_;
};

// One call of one hooked function, as its handler receives it.
template <typename Real>
class Call {
 public:
  explicit Call(const HookGuard& guard)
      : guard_(guard),
        real_(reinterpret_cast<Real>(guard.context().driver.real(guard.site().hook))) {}

  // Calls the driver.
  template <typename... Arguments>
  CUresult Forward(Arguments... arguments) const {
    return real_(arguments...);
  }

  const CallSite& site() const { return guard_.site(); }
  const HandlerContext& context() const { return guard_.context(); }
  const PoolService& pools() const { return guard_.context().pools; }

 private:
  const HookGuard& guard_;
  const Real real_;
};

// Returns the wrapper of a hook. Defined in wrappers.cc.
void* WrapperOf(Hook hook);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_HOOK_GUARD_H_
