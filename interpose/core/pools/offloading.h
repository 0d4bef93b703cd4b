// Offloading: what of this process lets live memory move to the host (--offload).
//
// Idea: one gate for the whole process, which every call that submits work passes; an offloader for
// each pool. While memory is short, what these calls name counts as touched.
//
// Ownership: static storage; offloaders in pages of their own, kept like the pools'. Threads: any.
// Errors: why nothing can move is told on stderr, once. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_OFFLOADING_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_OFFLOADING_H_

#include <atomic>
#include <cstdint>

#include "allocator/offload/gate.h"
#include "allocator/offload/offloader.h"
#include "interpose/core/pools/pools.h"
#include "interpose/core/runtime/cuda_abi.h"
#include "interpose/core/runtime/kernel_arguments.h"

namespace vramstow {

class Offloading {
 public:
  constexpr Offloading() = default;
  Offloading(const Offloading&) = delete;
  Offloading& operator=(const Offloading&) = delete;

  // Whether the user wants it, in a process that has read its settings.
  bool wanted();
  // Whether memory is to move by itself, when the device is full; where it is wanted at all.
  static bool automatic();

  // An offloader in pages of its own, not opened; null: not wanted, or no memory. Under the pools'
  // lock, once for each place of a pool.
  Offloader* Make();
  // For a pool that was opened with the offloader as its relief.
  void Open(Offloader* offloader, Pool* pool);

  // While it lives, this thread may submit work.
  class Pass {
   public:
    explicit Pass(Offloading* offloading);
    ~Pass() {
      if (gate_ != nullptr) gate_->Leave(lane_);
    }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    SubmissionGate* const gate_;  // null: without --offload nothing moves
    uint32_t lane_ = 0;
  };

  // --- Touches, between Pass and submission
  // One submission more. Whether somebody wants to know what it touches.
  bool Watch();
  void Touch(uint64_t address) { TouchAll(&address, 1); }
  void TouchWords(const void* memory, uint64_t size);
  // What a kernel is launched with, as cuLaunchKernel takes it; either may be null.
  void TouchArguments(CUfunction function, void** arguments, void** extra);
  // Before a module or a context goes: its functions' handles may become others'.
  void ForgetFunctions() { kernel_arguments_.Forget(); }

  // The service thread, now and then: brings back what was touched, where there is room. True:
  // somebody watches, so come again soon.
  bool Maintain();

  // In a forked child, async-signal-safe.
  void AbandonAfterFork();

 private:
  void TouchAll(const uint64_t* addresses, int count);
  void AskForArguments(CUfunction function, void** arguments);
  void TellBusy(const Offloader& offloader);

  enum class Wish : uint8_t { kUnknown, kYes, kNo };

  SubmissionGate gate_;
  KernelArguments kernel_arguments_;
  std::atomic<int> count_{0};
  std::atomic<Offloader*> offloaders_[Pools::kMaxPools] = {};
  std::atomic<Wish> wish_{Wish::kUnknown};
  std::atomic<uint32_t> lanes_{0};
  std::atomic<bool> told_{false};
  std::atomic<bool> told_busy_{false};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_OFFLOADING_H_
