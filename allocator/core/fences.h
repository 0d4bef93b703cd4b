// Fences: finds out which work that was submitted before a free has finished.
//
// Idea: every stream has a timeline of ticks (numbers that grow). A free is stamped with the
// timeline's open tick, without a driver call. When the state of a free is needed, the open tick is
// closed: one event is recorded, and all frees of that tick share it. When the event has completed,
// this tick and all before it are complete. Timeline 0 stands for all streams at once, for frees
// whose stream is unknown. It uses one event of the whole context if the driver supports that, else
// one event on each known stream.
//
// A tick is closed before its event is recorded. So a free on another thread either has the closed
// tick, and came before the event, or gets the next tick.
//
// When a stream is destroyed, one last event is recorded on it. Memory of this stream that is freed
// later may be reused when that event has completed. The driver may give the same handle to a new
// stream, which continues the timeline. If all timelines are in use, the timeline of an ended
// stream is reused for another stream; its ticks continue.
//
// Ownership: the class owns its events until Close. Threads: OpenTick, Completed, FindTimeline,
// any_ended and captures may be called from any thread, all else under the device's lock. Errors:
// if a fence cannot be recorded, its tick stays unfinished, so the memory is retained and never
// reused early; Synchronize finishes the tick. Units: nanoseconds.
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
  // A value that is no stream's handle. The next number, kUnknownStream, is no handle either.
  static constexpr uint64_t kNoStream = ~uint64_t{1};

  void Open(const DriverTable* driver) { driver_ = driver; }
  // Destroys the events. `alive` is false if the context was destroyed, and its events with it.
  void Close(bool alive) VRAMSTOW_REQUIRES(kDeviceLock);

  // Returns the timeline of an existing stream and creates it if needed. Returns kMaxTimelines if
  // all timelines are in use (see FindFinished).
  uint32_t TimelineOf(uint64_t stream) VRAMSTOW_REQUIRES(kDeviceLock);
  // Returns the timeline of a stream but creates none. Returns kMaxTimelines if the stream has no
  // timeline or has ended.
  uint32_t FindTimeline(uint64_t stream) const;
  // Notes that some stream has no timeline. From then on only waiting for all work of the context
  // covers that stream's work.
  void NoteOverflow() VRAMSTOW_REQUIRES(kDeviceLock) { overflowed_ = true; }

  // --- Streams that end -------------------------------------------------------------------------
  // Records the last event of a stream that is about to be destroyed.
  void StreamEnds(uint32_t timeline) VRAMSTOW_REQUIRES(kDeviceLock);
  // Notes that a stream of this handle exists. It continues the timeline of an ended stream that
  // had the same handle.
  void StreamBegins(uint64_t stream) VRAMSTOW_REQUIRES(kDeviceLock);
  bool any_ended() const { return ended_count_.load(std::memory_order_relaxed) != 0; }
  bool HasEnded(uint32_t timeline) const VRAMSTOW_REQUIRES(kDeviceLock) {
    return timelines_[timeline].ended != 0;
  }
  // The tick that completes when all work of the timeline's ended streams has finished.
  uint32_t EndTick(uint32_t timeline) const VRAMSTOW_REQUIRES(kDeviceLock) {
    return timelines_[timeline].end_tick;
  }
  // Returns a timeline whose streams have ended and have no unfinished work: the one whose stream
  // ended first. Returns kMaxTimelines if there is none.
  uint32_t FindFinished() VRAMSTOW_REQUIRES(kDeviceLock);
  // Assigns a timeline of FindFinished to another stream. All ticks of the timeline have completed.
  void Reuse(uint32_t timeline, uint64_t stream) VRAMSTOW_REQUIRES(kDeviceLock);

  // The tick to stamp on memory that is freed now.
  uint32_t OpenTick(uint32_t timeline) const {
    return timelines_[timeline].open.load(std::memory_order_seq_cst);
  }
  bool Completed(uint32_t timeline, uint32_t tick) const {
    return tick <= timelines_[timeline].completed.load(std::memory_order_acquire);
  }

  // Makes sure that an event that covers this tick was recorded. Returns the driver's result if a
  // new event was needed, else success.
  DriverResult Ensure(uint32_t timeline, uint32_t tick) VRAMSTOW_REQUIRES(kDeviceLock);
  // Asks the driver, without waiting, which events have completed.
  void Poll() VRAMSTOW_REQUIRES(kDeviceLock);
  // Makes sure that an event covers all frees so far, and asks which events have completed. It does
  // not disturb captures, not even those that the pool does not know.
  void Hasten(uint32_t timeline) VRAMSTOW_REQUIRES(kDeviceLock);
  // True if Poll would call the driver.
  bool AnyInFlight() const VRAMSTOW_REQUIRES(kDeviceLock) { return in_flight_ != 0; }
  // Calls Ensure and Poll until the tick has completed. Returns false if it has not by the deadline
  // (of the wait clock), or if no event can be recorded.
  bool WaitFor(uint32_t timeline, uint32_t tick, uint64_t deadline_ns)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // Waits for all work of the context, which completes all ticks but those of streams of other
  // contexts; these complete, too, if the work of the other contexts has finished. May be called
  // from any thread, without the lock.
  DriverResult Synchronize();

  // While a stream is being captured, no event is recorded or queried.
  // This write and the read of capturing() are in one order with those of other atomics, such as
  // the gate that a thread closes before it asks for captures.
  void CaptureBegins() { captures_.fetch_add(1, std::memory_order_seq_cst); }
  void CaptureEnds() { captures_.fetch_sub(1, std::memory_order_relaxed); }
  // True if the driver can report the completion of events only by waiting for all work.
  bool broken() const { return broken_; }
  bool capturing() const { return captures_.load(std::memory_order_seq_cst) > 0; }

  uint32_t timelines() const { return count_.load(std::memory_order_acquire); }

 private:
  static constexpr int kInFlight = 4;

  struct Fence {
    uint32_t tick;
    uint64_t event;  // 0 for timeline 0: it completes when all stream_ticks_ have
  };
  struct Timeline {
    std::atomic<uint64_t> stream{kNoStream};  // kNoStream if it has ended or never existed
    uint64_t ended_stream = kNoStream;        // handle of the stream that has ended
    uint64_t ended = 0;     // number of the end among all ends; 0 while the stream exists
    uint32_t end_tick = 0;  // end tick of the last stream that ended; 0 if none did
    std::atomic<bool> is_foreign{false};  // true if a stream belongs to another context
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
  bool IsForeign(uint64_t stream) const;
  bool AnyForeign(uint32_t count) const;

  const DriverTable* driver_ = nullptr;
  std::atomic<uint32_t> count_{1};
  std::atomic<int> captures_{0};
  std::atomic<uint32_t> ended_count_{0};  // how many timelines have ended
  uint64_t ends_ = 0;                     // how many streams have ended so far
  bool context_events_ = true;            // false once the driver has refused such an event
  bool broken_ = false;
  bool overflowed_ = false;  // there were more streams than timelines
  int in_flight_ = 0;        // events in flight of all timelines
  static constexpr int kMaxSpareEvents = 32;
  uint64_t spare_events_[kMaxSpareEvents] = {};
  int spare_event_count_ = 0;
  Timeline timelines_[kMaxTimelines];
  // For each stream, the tick that must complete before the fence of timeline 0 does. The ticks are
  // used only if the driver has no events of a whole context; there is at most one such fence at a
  // time.
  uint32_t stream_ticks_[kMaxTimelines] = {};
  uint32_t stream_ticks_count_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_CORE_FENCES_H_
