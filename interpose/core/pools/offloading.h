// Offloading: what submitted work touches, and what comes back from the host.
//
// Idea: while memory is short, the memory that a submitting call names counts as touched. What was
// touched comes back from the host where there is room.
//
// Ownership: static storage. Threads: any. Errors: that something could not move is logged once.
// Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_OFFLOADING_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_OFFLOADING_H_

#include <atomic>
#include <cstdint>

#include "interpose/core/pools/offloaders.h"
#include "interpose/core/runtime/core.h"
#include "interpose/core/runtime/cuda_abi.h"
#include "interpose/core/runtime/driver.h"

namespace vramstow {

class Offloading {
 public:
  constexpr Offloading(const Driver& driver, Pools& pools, Offloaders& offloaders,
                       KernelArguments& kernel_arguments)
      : driver_(driver),
        pools_(pools),
        offloaders_(offloaders),
        kernel_arguments_(kernel_arguments) {}
  Offloading(const Offloading&) = delete;
  Offloading& operator=(const Offloading&) = delete;

  // Asks a simulated driver to say what work touches, because the arguments of most of its kernels
  // are not known. Called when CUDA has been initialised. A real driver says nothing.
  void WatchUses();

  // Before Offloaders::GateTicket, by a thread that holds no lock: lets quiet memory move.
  void PrepareSubmission() {
    if (offloaders_.is_known_wanted() && offloaders_.AnyWantsToAdvance()) AdvanceQuiet();
  }

  // Before a capture begins: parked memory comes back, because a graph may use it from now on.
  void PrepareCapture();

  // --- Touches, between Offloaders::GateTicket and submission: what was parked of it is back
  // afterwards Counts a submission. True: what it touches has to be passed on.
  bool Watch();
  void Touch(uint64_t address) { TouchAll(&address, 1, UsedBy::kWork); }
  // Later work may use this address without naming it.
  void Expose(uint64_t address) { TouchAll(&address, 1, UsedBy::kLaterWork); }
  void TouchWords(const void* memory, uint64_t size) { NoteWords(memory, size, UsedBy::kWork); }
  // Host memory is copied to the device, where kernels find the addresses that it holds. Large
  // memory is taken for data.
  void ExposeWords(const void* memory, uint64_t size);
  // The arguments of a kernel, as cuLaunchKernel takes them; either may be null.
  void TouchArguments(CUfunction function, void** arguments, void** extra);

  // --- What a node of a graph names, between Offloaders::GateTicket and the driver: it stays where
  // it is
  bool MayMove() { return offloaders_.wanted(); }
  void Pin(uint64_t address) { TouchAll(&address, 1, UsedBy::kGraph); }
  void PinArguments(CUfunction function, void** arguments, void** extra) {
    NoteArguments(function, arguments, extra, UsedBy::kGraph);
  }

  // Whether a graph must not be launched now. That it was tried is logged once.
  bool RefusesGraph();

  // Called by the service thread from time to time: brings back what was touched, where there is
  // room. True: an offloader observes touches, so call again soon.
  bool Maintain();
  // The process ends: Maintain gives up what it waits for.
  void Stop() { offloaders_.StopBringingBack(); }

 private:
  // A graph or captured work may use the memory that it names at any time from now on. Later work
  // may use the memory that is given to it now, or to a kernel that is not known.
  enum class UsedBy : uint8_t { kWork, kGraph, kLaterWork };

  void TouchAll(const uint64_t* addresses, int count, UsedBy by);
  void NoteWords(const void* memory, uint64_t size, UsedBy by);
  void NoteArguments(CUfunction function, void** arguments, void** extra, UsedBy by);
  void AdvanceQuiet();
  template <typename Bring>
  void BringBack(Bring bring);
  void EndAllQuiet();
  void AskForArguments(CUfunction function, void** arguments, UsedBy by);
  void LogTrouble(const Offloader& offloader);

  bool Watches() const;
  static void OnUses(const Driver::UsedRange* ranges, size_t count, void* self);

  const Driver& driver_;
  Pools& pools_;
  Offloaders& offloaders_;
  KernelArguments& kernel_arguments_;
  std::atomic<bool> logged_busy_{false};
  std::atomic<bool> logged_mappings_{false};
  std::atomic<bool> logged_graph_{false};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_OFFLOADING_H_
