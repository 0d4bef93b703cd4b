// Captures: which streams are being captured, as far as the program's calls show it.
//
// Idea: a pool makes no fence while anything is captured, because a fence would end the capture. So
// a capture is noted before the driver begins it. It is forgotten when it has ended: by the call
// for that, with its stream, or with its context.
//
// Ownership: static storage. Threads: any. Errors: where more streams are captured than there is
// room for, the count stays up until all are forgotten: pools then make no fences, which costs
// memory, never data. Units: none.
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

  // True: this stream was not known as captured before.
  bool Begin(uint64_t stream, const void* context);
  // True: this stream was known as captured.
  bool End(uint64_t stream);
  // The context is gone, and its captures with it. Returns how many there were.
  int EndAll(const void* context);
  int count() const { return count_.load(std::memory_order_relaxed); }

  // In a forked child.
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
