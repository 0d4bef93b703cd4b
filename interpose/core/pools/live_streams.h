// LiveStreams: which streams the program has, and in which context each was made.
//
// Idea: to ask the driver about a stream that was destroyed is undefined, and handles of streams
// come back later than their streams end: with a free, or at a fence. So what the hooked calls tell
// is kept here, and the driver is asked about a stream only while it is surely there: when it was
// just made.
//
// Ownership: static storage. Threads: any. Errors: a stream that no hooked call made is unknown,
// and so is one for which there was no room; where room is short, those that are gone are forgotten
// first. Units: none.
//
// Lock: mutex_ guards the table, for a few steps only; nothing is taken while it is held.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_LIVE_STREAMS_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_LIVE_STREAMS_H_

#include <cstdint>

#include "allocator/core/stream_record.h"
#include "base/mutex.h"
#include "base/thread_annotations.h"

namespace vramstow {

class LiveStreams {
 public:
  constexpr LiveStreams() = default;
  LiveStreams(const LiveStreams&) = delete;
  LiveStreams& operator=(const LiveStreams&) = delete;

  // The driver has just made it. `context` null: nobody knows in which.
  void Made(uint64_t stream, const void* context);
  // It is about to be destroyed: from now on it counts as gone…
  void Ends(uint64_t stream);
  // …but the driver did not destroy it. One that was gone before stays so.
  void Stays(uint64_t stream);
  // A context is gone, and its streams with it.
  void ContextGone(const void* context);
  StreamFate Find(uint64_t stream, const void** context) const;

  // In a forked child.
  void Clear() VRAMSTOW_NO_LOCK_ANALYSIS;

 private:
  static constexpr uint32_t kRoom = 4096;  // a power of two
  static constexpr uint32_t kMaxSteps = 64;
  enum class State : uint8_t { kLives, kEnds, kGone };
  struct Entry {
    uint64_t stream = 0;  // 0, which no stream that was made has: the entry was never used
    const void* context = nullptr;
    State state = State::kGone;
  };

  static uint32_t PlaceOf(uint64_t stream, uint32_t step);
  Entry* Look(uint64_t stream) VRAMSTOW_REQUIRES(mutex_);

  mutable FastMutex mutex_;
  Entry entries_[kRoom] VRAMSTOW_GUARDED_BY(mutex_) = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_LIVE_STREAMS_H_
