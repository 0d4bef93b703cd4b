// UnseenContexts recognises contexts that no hooked call made.
//
// Idea: a CUDA runtime may get a device's primary context from a private table of the driver, past
// every name that vramstow hooks. vramstow then first sees the context when the program allocates
// in it. To find the context's device, vramstow asks the driver to retain the primary context of
// each device and compares the handles; it releases its own reference at once. The runtime may also
// end such a context by the private table, and the driver may reuse the handle for another context.
// The number of a context (cuCtxGetId, since CUDA 12.0) distinguishes the two.
//
// Ownership: static storage. Threads: any, without a lock. Errors: kNoDevice for a context that is
// no device's primary one (green contexts, for example); number 0 if the driver gives none. Units:
// device numbers.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_UNSEEN_CONTEXTS_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_UNSEEN_CONTEXTS_H_

#include <atomic>
#include <cstdint>

#include "interpose/core/runtime/contexts.h"
#include "interpose/core/runtime/core.h"
#include "interpose/core/runtime/cuda_abi.h"

namespace vramstow {

class UnseenContexts {
 public:
  constexpr UnseenContexts(const Driver& driver, Contexts& contexts)
      : driver_(driver), contexts_(contexts) {}
  UnseenContexts(const UnseenContexts&) = delete;
  UnseenContexts& operator=(const UnseenContexts&) = delete;

  // Returns the device whose primary context this is, or kNoDevice, and adds the context to
  // `contexts`.
  int16_t Recognise(CUcontext context);

  // Records that the program has contexts that no hooked call made. From then on any context may
  // end without a hooked call.
  void Note() { any_.store(true, std::memory_order_relaxed); }
  bool any() const { return any_.load(std::memory_order_relaxed); }

  // Returns the context's number, which no other context of this process has or had; 0 if the
  // driver gives none.
  uint64_t NumberOf(CUcontext context) const;
  // Returns false if the context with this number has ended, even if another context has its handle
  // now.
  bool Lives(CUcontext context, uint64_t number) const;

  void AbandonAfterFork();

 private:
  bool IsPrimary(CUcontext context, CUdevice device) const;
  CUresult AskNumber(CUcontext context, uint64_t* number) const;

  const Driver& driver_;
  Contexts& contexts_;
  std::atomic<bool> any_{false};
  // The last context that was found to be no device's primary context. It is stored so that the
  // driver is not asked again at each allocation in this context.
  std::atomic<CUcontext> stranger_{nullptr};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_UNSEEN_CONTEXTS_H_
