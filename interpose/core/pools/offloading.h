// Offloading reports which memory submitted work touches, and has that memory restored from the
// host.
//
// Idea: while memory is short, the memory that a submitting call names counts as touched. Touched
// memory is restored from the host if there is room. Parked memory was evicted to the host and
// cannot be accessed, so it is restored before the work is submitted.
//
// Ownership: static storage. Threads: any. Errors: a failed move is logged once. Units: bytes.
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

  // Asks a simulated driver to report which memory work uses, because the arguments of most of its
  // kernels are unknown, and to let its tasks pass the gate of submissions. Called when CUDA has
  // been initialised. A real driver reports nothing.
  void WatchUses();

  // Moves quiet memory (memory that the program promised not to use for a while) to the host.
  // Called by a thread that holds no lock and no GateTicket yet.
  void PrepareSubmission() {
    if (offloaders_.is_known_wanted() && offloaders_.AnyWantsToAdvance()) AdvanceQuiet();
  }

  // Restores parked memory (memory that was evicted to the host) before a capture begins, because
  // the graph may use it from then on.
  void PrepareCapture();

  // --- Touches: the following functions report which memory work uses. They are called while the
  // thread holds an Offloaders::GateTicket, before the work is submitted, and restore that memory
  // if it was evicted to the host.
  // Counts a submission. Returns true if the memory that it uses has to be reported.
  bool Watch();
  void Touch(uint64_t address) { TouchAll(&address, 1, UsedBy::kWork); }
  // Reports that later work may use this address although no call names it.
  void Expose(uint64_t address) { TouchAll(&address, 1, UsedBy::kLaterWork); }
  void TouchWords(const void* memory, uint64_t size) { NoteWords(memory, size, UsedBy::kWork); }
  // Reports the device addresses that host memory contains, before that memory is copied to the
  // device, where kernels may read the addresses. Large memory is assumed to contain data only.
  void ExposeWords(const void* memory, uint64_t size);
  // As ExposeWords, for the source of a copy whose address may belong to the host or to a device.
  // Memory that the host cannot read is ignored.
  void ExposeWordsAt(uint64_t address, uint64_t size);
  // Restores all memory that must be restored before work may use it. Called before work about
  // which it is unknown which memory it uses.
  void EndAllQuiet();
  // Reports the memory that the arguments of a kernel name. The arguments are those of
  // cuLaunchKernel; `arguments` or `extra` may be null.
  void TouchArguments(CUfunction function, void** arguments, void** extra);

  // --- Nodes of graphs: the following functions are called while the thread holds an
  // Offloaders::GateTicket, before the driver adds the node. Memory that a node names is not moved
  // from then on.
  bool MayMove() { return offloaders_.wanted(); }
  void Pin(uint64_t address) { TouchAll(&address, 1, UsedBy::kGraph); }
  void PinArguments(CUfunction function, void** arguments, void** extra) {
    NoteArguments(function, arguments, extra, UsedBy::kGraph);
  }

  // True if a graph must not be launched now, because memory that it may use is paused. The first
  // refused launch is logged.
  bool RefusesGraph();

  // Restores recently used memory if there is room. The service thread calls this from time to
  // time. Returns true if an offloader observes which memory work uses, so that the next call
  // should come soon.
  bool Maintain();
  // Called when the process ends; Maintain then stops waiting.
  void Stop() { offloaders_.StopBringingBack(); }

 private:
  // The user of a range. kWork is the submitted work. kGraph is a graph or captured work, which may
  // use the memory at any time from now on. kLaterWork is later work: it may use memory whose
  // address is now stored on the device, or given to a kernel whose arguments are unknown.
  enum class UsedBy : uint8_t { kWork, kGraph, kLaterWork };

  void TouchAll(const uint64_t* addresses, int count, UsedBy by);
  void NoteWords(const void* memory, uint64_t size, UsedBy by);
  void NoteArguments(CUfunction function, void** arguments, void** extra, UsedBy by);
  void AdvanceQuiet();
  template <typename Bring>
  void BringBack(Bring bring);
  void AskForArguments(CUfunction function, void** arguments, UsedBy by);
  void LogTrouble(const Offloader& offloader);

  bool Watches() const;
  static int OnTask(int (*append)(void* call), void* call, void* self);
  static void OnUses(const Driver::UsedRange* ranges, size_t count, void* self);

  const Driver& driver_;
  Pools& pools_;
  Offloaders& offloaders_;
  KernelArguments& kernel_arguments_;
  std::atomic<bool> logged_busy_{false};
  std::atomic<bool> logged_capture_{false};
  std::atomic<bool> logged_mappings_{false};
  std::atomic<bool> logged_graph_{false};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_OFFLOADING_H_
