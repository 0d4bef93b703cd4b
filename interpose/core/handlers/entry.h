// The guard that every wrapper begins with, and the call that it hands to its delegate.
//
// Idea: a wrapper guards, delegates, returns. The guard lets a call in unless this thread is inside
// another wrapper already (the driver's own use of its exported functions is not the program's), or
// vramstow has no part in this process now; such calls go straight to the driver. What is done with
// calls that are let in is in delegate/.
//
// Ownership: objects on the wrapper's stack. Threads: each its own. Errors: the driver's result is
// always what the caller gets. errno is as the driver left it. No heap. Units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_ENTRY_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_ENTRY_H_

#include "base/event.h"
#include "interpose/core/core.h"
#include "interpose/core/runtime/cuda_abi.h"

namespace vramstow {

class Entry {
 public:
  Entry(Hook hook, const void* return_address)
      : thread_(TheCore().shim->thread()), return_address_(return_address), hook_(hook) {
    active_ = thread_->depth++ == 0 && TheCore().process.Admits(hook);
    if (active_) Count();
  }
  ~Entry() {
    --thread_->depth;
    if (thread_->correlation != 0) [[unlikely]] {
      if (active_) TheCore().activity.Join(thread_);
    }
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  bool active() const { return active_; }
  Hook hook() const { return hook_; }
  const void* return_address() const { return return_address_; }
  // What is joined to CUPTI's number for this call, if that is known at its end.
  void NoteRecorded(uint64_t sequence) const { thread_->recorded = sequence; }

 private:
  void Count() const {
    Core& core = TheCore();
    core.coverage.Count(hook_);
    if (core.process.options().coverage) core.coverage.NoteCall(hook_, return_address_);
  }

  VramstowThread* const thread_;
  const void* const return_address_;
  const Hook hook_;
  bool active_;
};

// One call of one hooked function, as a delegate sees it.
template <typename Real>
class Call {
 public:
  Call(const Entry& entry, void* real) : entry_(entry), real_(reinterpret_cast<Real>(real)) {}

  // Asks the driver.
  template <typename... Arguments>
  CUresult Forward(Arguments... arguments) const {
    return real_(arguments...);
  }

  const Entry& entry() const { return entry_; }

 private:
  const Entry& entry_;
  const Real real_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_ENTRY_H_
