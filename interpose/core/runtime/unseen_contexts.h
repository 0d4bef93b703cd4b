// UnseenContexts: contexts that no hooked call made.
//
// Idea: a CUDA runtime may take a device's primary context through a private door of the driver,
// past every name that vramstow hooks. vramstow then meets the context where the program allocates
// in it. The context is a device's primary one if the driver, asked to retain that device's primary
// context, gives the same handle; vramstow gives its own reference back at once.
// The runtime may also end such a context through that door, and the driver may give the same
// handle to the next one. The number of a context (cuCtxGetId, since CUDA 12.0) tells the two
// apart.
//
// Ownership: static storage. Threads: any, without a lock. Errors: kNoDevice for a context that is
// no device's primary one (green contexts, for example); number 0 where the driver does not tell.
// Units: device numbers.
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

  // The device whose primary context this is, or kNoDevice. From then on `contexts` knows it.
  int16_t Recognise(CUcontext context);

  // Something showed that the program has contexts that no hooked call made. From then on any
  // context may end unseen.
  void Note() { any_.store(true, std::memory_order_relaxed); }
  bool any() const { return any_.load(std::memory_order_relaxed); }

  // The number that no other context of this process has or had; 0: the driver does not tell.
  uint64_t NumberOf(CUcontext context) const;
  // False: the context of this number has ended, though its handle may be another one's now.
  bool Lives(CUcontext context, uint64_t number) const;

  void AbandonAfterFork();

 private:
  bool IsPrimary(CUcontext context, CUdevice device) const;
  CUresult AskNumber(CUcontext context, uint64_t* number) const;

  const Driver& driver_;
  Contexts& contexts_;
  std::atomic<bool> any_{false};
  // The last one that was no primary context, so that each allocation in it need not ask again.
  std::atomic<CUcontext> stranger_{nullptr};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_UNSEEN_CONTEXTS_H_
