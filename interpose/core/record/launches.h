// Launches counts how often each kernel is launched, on request (--launches).
//
// Idea: a job launches kernels far more often than it allocates, so by default launches are not
// counted. A counted launch costs one look-up by handle and one addition. The counts are written to
// the trace before each mark, range and iteration, once a second by the recorder's thread, before
// the trace is copied, and at its end. So the trace shows how many launches there were between any
// two marks. If launches are sampled, each thread records every Nth one with its stream, caller and
// stack.
//
// Ownership: static storage. Threads: any. Errors: kernels that do not fit into the table are
// counted together. A kill loses the counts of the last second. Units: launches.
//
// Lock: mutex_ guards the list of kernels, and lets one thread at a time write counts to the trace.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_LAUNCHES_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_LAUNCHES_H_

#include <atomic>
#include <cstdint>

#include "base/options.h"
#include "interpose/core/runtime/call_site.h"
#include "interpose/core/runtime/core.h"
#include "interpose/core/runtime/cuda_abi.h"
#include "interpose/core/runtime/hook_table.h"
#include "interpose/shim/seam.h"
#include "tracer/owner_mutex.h"

namespace vramstow {

class Launches {
 public:
  constexpr Launches(const Process& process, const Driver& driver, const HandleKinds& kinds,
                     Trace& trace)
      : process_(process), driver_(driver), kinds_(kinds), trace_(trace) {}
  Launches(const Launches&) = delete;
  Launches& operator=(const Launches&) = delete;

  // True if the user asked for launches to be counted, in a process that has read its settings.
  bool wanted();

  // Counts a launch that the driver accepted. `function` is null if the call launches no single
  // kernel; the launch is then counted under the name of the hooked function. `stream` is the
  // stream's number in events.
  void Note(const CallSite& site, CUfunction function, uint64_t stream);
  // Writes the launches that were counted since the last call to the trace.
  void Emit();

  // Forgets the handles of all functions. Called before modules are unloaded and after a context
  // has ended, because handles may then be reused.
  void ForgetFunctions();
  // Forgets the parent's counts. Called in a forked child; async-signal-safe.
  void AbandonAfterFork();

 private:
  enum class Mode : uint8_t { kUnknown, kOff, kCounted, kSampled };

  // The number of entries. The first entry counts all kernels that do not fit into the table.
  static constexpr uint32_t kMaxKernels = 4096;
  static constexpr uint32_t kPlaces = 8192;
  static constexpr unsigned kPlaceBits = 13;
  static constexpr uint32_t kLooks = 8;
  static constexpr unsigned kNumberBits = 16;  // the rest of a slot is the handle

  struct Kernel {
    std::atomic<uint64_t> launches{0};  // not written yet
    std::atomic<uint64_t> annotation{0};
  };

  Kernel* Find(Hook hook, CUfunction function);
  Kernel* Add(uint64_t handle, const char* name);
  Kernel* KernelNamed(uint64_t annotation) VRAMSTOW_REQUIRES(mutex_);
  void Keep(uint64_t handle, const Kernel* kernel) VRAMSTOW_REQUIRES(mutex_);

  const Process& process_;
  const Driver& driver_;
  const HandleKinds& kinds_;
  Trace& trace_;
  std::atomic<Mode> mode_{Mode::kUnknown};
  std::atomic<uint32_t> every_{0};
  OwnerMutex mutex_;
  std::atomic<uint32_t> count_{0};
  Kernel kernels_[kMaxKernels] = {};
  std::atomic<uint64_t> places_[kPlaces] = {};  // a handle and the number of its kernel
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_LAUNCHES_H_
