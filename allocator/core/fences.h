// Fences: which of the work that was submitted before a free is finished.
//
// Idea: every stream has a timeline of ticks. What is freed now is stamped with the timeline's open
// tick; no driver call happens then. When somebody needs to know, the open tick is closed: one
// event is recorded, and all frees of that tick share it. When the event has completed, so have
// this tick and all before it. Timeline 0 stands for all streams at once, for frees whose stream is
// unknown: one event of the whole context where the driver has that, else one on each stream seen.
//
// The tick is advanced before its event is recorded, so a free on another thread either has the old
// tick, and came before the event, or gets the new one.
//
// A stream that is destroyed ends with one more event, and nothing is recorded on it after that:
// whatever is freed later is finished when that event has completed. The driver may give the name
// to another stream, which goes on with the timeline. Where all timelines are taken, one whose
// stream has ended becomes another stream's; its ticks go on.
//
// Ownership: events belong to the fences until Close. Threads: OpenTick, Completed, FindTimeline,
// any_ended and captures from any thread; all else under the device's lock. Errors: a fence that
// cannot be recorded leaves its tick unfinished, so memory is kept back, never handed out early;
// Synchronize finishes it.
#ifndef VRAMSTOW_ALLOCATOR_CORE_FENCES_H_
#define VRAMSTOW_ALLOCATOR_CORE_FENCES_H_

#include <atomic>
#include <cstdint>

#include "allocator/core/device_lock.h"

#include "allocator/core/driver.h"

namespace vramstow {

class Fences {
 public:
  static constexpr uint32_t kEverything = 0;
  static constexpr uint32_t kMaxTimelines = 256;
  // No stream has this name; nor has one kUnknownStream, the number above it.
  static constexpr uint64_t kNoStream = ~uint64_t{1};

  void Open(const DriverTable* driver) { driver_ = driver; }
  // Destroys the events; `alive` false: the context is gone, and its events with it.
  void Close(bool alive) VRAMSTOW_REQUIRES(kDeviceLock);

  // The timeline of a stream, which lives; made at first sight. kMaxTimelines: all are taken
  // (FindFinished).
  uint32_t TimelineOf(uint64_t stream) VRAMSTOW_REQUIRES(kDeviceLock);
  // The same without making one; kMaxTimelines where there is none, or the stream has ended.
  uint32_t FindTimeline(uint64_t stream) const;
  // A stream has no timeline: only waiting for all work covers it.
  void NoteOverflow() VRAMSTOW_REQUIRES(kDeviceLock) { overflowed_ = true; }

  // --- Streams that end -------------------------------------------------------------------------
  // The stream of this timeline is about to be destroyed: its last event is recorded.
  void StreamEnds(uint32_t timeline) VRAMSTOW_REQUIRES(kDeviceLock);
  // There is a stream of this name: if one of the same name has ended, its timeline goes on.
  void StreamBegins(uint64_t stream) VRAMSTOW_REQUIRES(kDeviceLock);
  bool any_ended() const { return ended_count_.load(std::memory_order_relaxed) != 0; }
  bool HasEnded(uint32_t timeline) const VRAMSTOW_REQUIRES(kDeviceLock) {
    return timelines_[timeline].ended != 0;
  }
  // When this tick has completed, so has all work of the streams that had the timeline and ended.
  uint32_t EndTick(uint32_t timeline) const VRAMSTOW_REQUIRES(kDeviceLock) {
    return timelines_[timeline].end_tick;
  }
  // Of the timelines whose stream has ended and has no work left, the one that ended first;
  // kMaxTimelines: there is none.
  uint32_t FindFinished() VRAMSTOW_REQUIRES(kDeviceLock);
  // Such a timeline is another stream's from now on. All its ticks so far have completed.
  void Reuse(uint32_t timeline, uint64_t stream) VRAMSTOW_REQUIRES(kDeviceLock);

  // The tick for what is freed now.
  uint32_t OpenTick(uint32_t timeline) const {
    return timelines_[timeline].open.load(std::memory_order_seq_cst);
  }
  bool Completed(uint32_t timeline, uint32_t tick) const {
    return tick <= timelines_[timeline].completed.load(std::memory_order_acquire);
  }

  // Makes sure that an event for this tick is on its way. Result of the record, if one was needed.
  DriverResult Ensure(uint32_t timeline, uint32_t tick) VRAMSTOW_REQUIRES(kDeviceLock);
  // Looks which events have completed. No wait.
  void Poll() VRAMSTOW_REQUIRES(kDeviceLock);
  // Makes sure that an event for all that was freed so far is on its way, and polls, without
  // disturbing a capture that nobody knows of.
  void Hasten(uint32_t timeline) VRAMSTOW_REQUIRES(kDeviceLock);
  // Whether Poll would ask the driver.
  bool AnyInFlight() const VRAMSTOW_REQUIRES(kDeviceLock) { return in_flight_ != 0; }
  // Ensure and poll until the tick has completed; false: not by the deadline (of the driver's
  // clock), or it cannot.
  bool WaitFor(uint32_t timeline, uint32_t tick, uint64_t deadline_ns)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // Waits for all work of the context: all ticks complete. From any thread, without the lock.
  DriverResult Synchronize();

  // While a stream is captured, no fence is made and none is asked for.
  void CaptureBegins() { captures_.fetch_add(1, std::memory_order_relaxed); }
  void CaptureEnds() { captures_.fetch_sub(1, std::memory_order_relaxed); }
  // The driver cannot say whether events have completed, other than by waiting for all work.
  bool broken() const { return broken_; }
  bool capturing() const { return captures_.load(std::memory_order_relaxed) > 0; }

  uint32_t timelines() const { return count_.load(std::memory_order_acquire); }

 private:
  static constexpr int kInFlight = 4;

  struct Fence {
    uint32_t tick;
    uint64_t event;  // 0, of timeline 0: completes when all `stream_ticks` have
  };
  struct Timeline {
    std::atomic<uint64_t> stream{kNoStream};  // kNoStream: it has ended, or there never was one
    uint64_t ended_stream = kNoStream;        // the name of the one that has ended
    uint64_t ended = 0;                       // as which of all; 0: the stream lives
    uint32_t end_tick = 0;                    // of the last that ended; 0: none did
    std::atomic<uint32_t> open{1};
    std::atomic<uint32_t> completed{0};
    uint32_t recorded = 0;  // the last tick with an event
    int in_flight = 0;
    Fence fences[kInFlight + 1] = {};  // one more for the last event of a stream
  };

  DriverResult NewEvent(uint64_t* event) VRAMSTOW_REQUIRES(kDeviceLock);
  void DropEvent(uint64_t event) VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult Record(uint32_t timeline, uint64_t event) VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult CloseTick(uint32_t timeline) VRAMSTOW_REQUIRES(kDeviceLock);
  bool EndIsCovered(uint32_t timeline) const VRAMSTOW_REQUIRES(kDeviceLock);
  void CloseEndedTick(uint32_t timeline) VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult EnsureEverything() VRAMSTOW_REQUIRES(kDeviceLock);
  void PollTimeline(uint32_t timeline) VRAMSTOW_REQUIRES(kDeviceLock);
  void PollEverything() VRAMSTOW_REQUIRES(kDeviceLock);
  void Complete(Timeline* timeline, uint32_t tick);

  const DriverTable* driver_ = nullptr;
  std::atomic<uint32_t> count_{1};
  std::atomic<int> captures_{0};
  std::atomic<uint32_t> ended_count_{0};  // timelines
  uint64_t ends_ = 0;                     // of streams, so far
  bool context_events_ = true;            // until the driver says it has none
  bool broken_ = false;
  bool overflowed_ = false;  // there were more streams than timelines
  int in_flight_ = 0;        // of all timelines
  static constexpr int kKept = 32;
  uint64_t kept_[kKept] = {};
  int kept_count_ = 0;
  Timeline timelines_[kMaxTimelines];
  // Of timeline 0 without context events: what each stream has to reach. One such fence at a time.
  uint32_t stream_ticks_[kMaxTimelines] = {};
  uint32_t stream_ticks_count_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_CORE_FENCES_H_
