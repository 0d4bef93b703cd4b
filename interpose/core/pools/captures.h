// Captures records which streams are being captured into CUDA graphs, as far as the program's calls
// show it.
//
// Idea: a pool makes no fence while any stream is captured, because a fence would end the capture.
// So a capture is recorded before the driver begins it. It is removed when the program ends the
// capture, or when its stream or its context is destroyed.
//
// Ownership: static storage. Threads: any. Errors: if more streams are captured than fit into the
// list, the count does not reach 0 before all captures have ended. Pools make no fences meanwhile,
// which costs memory but loses no data. Units: none.
//
// Lock: mutex_ guards the list, for a few steps only; nothing is taken while it is held.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_CAPTURES_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_CAPTURES_H_

#include <atomic>
#include <cstdint>

#include "base/mutex.h"
#include "base/thread_annotations.h"

namespace vramstow {

class Captures {
 public:
  constexpr Captures() = default;
  Captures(const Captures&) = delete;
  Captures& operator=(const Captures&) = delete;

  // Returns true if this stream was not recorded as captured before.
  bool Begin(uint64_t stream, const void* context);
  // Returns true if this stream was recorded as captured.
  bool End(uint64_t stream);
  // Removes the captures of a context that has ended. Returns their number.
  int EndAll(const void* context);
  int count() const { return count_.load(std::memory_order_relaxed); }

  // Removes all captures; called in a forked child.
  void Clear();

 private:
  static constexpr int kRoom = 256;
  struct Capture {
    uint64_t stream;
    const void* context;
  };

  FastMutex mutex_;
  std::atomic<int> count_{0};  // written with the lock only
  Capture captures_[kRoom] VRAMSTOW_GUARDED_BY(mutex_) = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_CAPTURES_H_
