// LiveStreams records which streams exist in the program, and the context of each.
//
// Idea: asking the driver about a destroyed stream is undefined behaviour. A pool may still use a
// stream's handle after the stream's end, in a free or at a fence. So this table stores what hooked
// calls show. The driver is asked about a stream only while the stream surely exists, that is,
// directly after it was made.
//
// Ownership: static storage. Threads: any. Errors: a stream is unknown if no hooked call made it,
// or if the table was full; streams that have ended are removed first. Units: none.
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

  // Records a stream that the driver has made. `context` is null if it is unknown.
  void Made(uint64_t stream, const void* context);
  // Records that the stream is about to be destroyed. From now on it counts as ended.
  void Ends(uint64_t stream);
  // Called after Ends if the driver did not destroy the stream. The stream counts as alive again,
  // unless it had already ended before Ends was called.
  void Stays(uint64_t stream);
  // Records that a context has ended, and with it all of its streams.
  void ContextGone(const void* context);
  StreamFate Find(uint64_t stream, const void** context) const;

  // Removes all streams; called in a forked child.
  void Clear() VRAMSTOW_NO_LOCK_ANALYSIS;

 private:
  static constexpr uint32_t kRoom = 4096;  // a power of two
  static constexpr uint32_t kMaxSteps = 64;
  enum class State : uint8_t { kLives, kEnds, kGone };
  struct Entry {
    uint64_t stream = 0;  // 0, which is no stream's handle, if the entry was never used
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
