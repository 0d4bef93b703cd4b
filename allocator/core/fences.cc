#include "allocator/core/fences.h"

#include "allocator/core/relaxed_capture.h"

namespace vramstow {
namespace {

// The first pause is short because most work finishes soon. Later pauses grow to a length that the
// operating system's scheduler can measure.
constexpr uint64_t kFirstPauseNs = 2'000;
constexpr uint64_t kLongestPauseNs = 200'000;

}  // namespace

void Fences::Close(bool alive) {
  const uint32_t count = timelines();
  for (uint32_t t = 0; t < count; ++t) {
    Timeline& timeline = timelines_[t];
    for (int i = 0; i < timeline.in_flight; ++i) {
      if (alive && timeline.fences[i].event != 0) {
        driver_->event_destroy(driver_->self, timeline.fences[i].event);
      }
    }
    in_flight_ -= timeline.in_flight;
    timeline.in_flight = 0;
    timeline.recorded = 0;
    // No work of a destroyed context is still running.
    timeline.completed.store(timeline.open.fetch_add(1), std::memory_order_release);
  }
  for (int i = 0; alive && i < spare_event_count_; ++i)
    driver_->event_destroy(driver_->self, spare_events_[i]);
  spare_event_count_ = 0;
  stream_ticks_count_ = 0;
}

uint32_t Fences::FindTimeline(uint64_t stream) const {
  const uint32_t count = timelines();
  for (uint32_t t = 1; t < count; ++t) {
    if (timelines_[t].stream.load(std::memory_order_relaxed) == stream) return t;
  }
  return kMaxTimelines;
}

uint32_t Fences::TimelineOf(uint64_t stream) {
  StreamBegins(stream);
  const uint32_t found = FindTimeline(stream);
  if (found != kMaxTimelines) return found;
  const uint32_t count = timelines();
  // The last timeline is reserved for the default stream, because a fence for all streams needs it.
  const uint32_t kept = stream != 0 && FindTimeline(0) == kMaxTimelines ? 1 : 0;
  if (count + kept >= kMaxTimelines) return kMaxTimelines;
  timelines_[count].stream.store(stream, std::memory_order_relaxed);
  timelines_[count].is_foreign.store(IsForeign(stream), std::memory_order_relaxed);
  count_.store(count + 1, std::memory_order_release);
  return count;
}

// --- Streams that end ----------------------------------------------------------------------------

void Fences::StreamEnds(uint32_t t) {
  Timeline& timeline = timelines_[t];
  const uint32_t end_tick = OpenTick(t);
  if (!capturing()) {
    if (timeline.in_flight > kInFlight) PollTimeline(t);
    if (timeline.in_flight <= kInFlight) CloseTick(t);
  }
  timeline.end_tick = end_tick;
  timeline.ended = ++ends_;
  timeline.ended_stream = timeline.stream.load(std::memory_order_relaxed);
  timeline.stream.store(kNoStream, std::memory_order_relaxed);
  ended_count_.fetch_add(1, std::memory_order_relaxed);
}

void Fences::StreamBegins(uint64_t stream) {
  if (!any_ended()) return;
  const uint32_t count = timelines();
  for (uint32_t t = 1; t < count; ++t) {
    Timeline& timeline = timelines_[t];
    if (timeline.ended == 0 || timeline.ended_stream != stream) continue;
    timeline.ended = 0;
    timeline.stream.store(stream, std::memory_order_relaxed);
    // Work of the stream that had this handle before may be unfinished.
    if (IsForeign(stream)) timeline.is_foreign.store(true, std::memory_order_relaxed);
    ended_count_.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
}

uint32_t Fences::FindFinished() {
  if (!any_ended()) return kMaxTimelines;
  RelaxedCapture relaxed(driver_);
  relaxed.Begin();
  Poll();
  uint32_t first = kMaxTimelines;
  uint32_t uncovered = kMaxTimelines;
  const uint32_t count = timelines();
  for (uint32_t t = 1; t < count; ++t) {
    if (!HasEnded(t)) continue;
    if (!EndIsCovered(t)) uncovered = t;
    if (!Completed(t, EndTick(t))) continue;
    if (first == kMaxTimelines || timelines_[t].ended < timelines_[first].ended) first = t;
  }
  // If no timeline has finished, an event is recorded for a timeline that got none when its stream
  // ended. A later call can then find that timeline finished.
  if (first == kMaxTimelines && uncovered != kMaxTimelines) Ensure(uncovered, EndTick(uncovered));
  return first;
}

void Fences::Reuse(uint32_t t, uint64_t stream) {
  Timeline& timeline = timelines_[t];
  CloseEndedTick(t);
  PollTimeline(t);  // all events in flight have completed with that tick
  timeline.ended = 0;
  timeline.end_tick = 0;
  timeline.stream.store(stream, std::memory_order_relaxed);
  timeline.is_foreign.store(IsForeign(stream), std::memory_order_relaxed);
  ended_count_.fetch_sub(1, std::memory_order_relaxed);
}

// True if all work of the timeline's ended streams is done, or an event that covers it was
// recorded.
bool Fences::EndIsCovered(uint32_t t) const {
  const Timeline& timeline = timelines_[t];
  return timeline.recorded >= timeline.end_tick || Completed(t, timeline.end_tick);
}

// Closes the open tick of a timeline whose stream has ended. The stream has no later work, so its
// last event also covers all work that can touch memory freed in this tick.
void Fences::CloseEndedTick(uint32_t t) {
  Timeline& timeline = timelines_[t];
  const uint32_t closed = timeline.open.fetch_add(1, std::memory_order_seq_cst);
  timeline.recorded = closed;
  if (Completed(t, timeline.end_tick)) {
    Complete(&timeline, closed);
  } else {
    timeline.fences[timeline.in_flight - 1].tick = closed;
  }
}

// --- Events --------------------------------------------------------------------------------------

DriverResult Fences::NewEvent(uint64_t* event) {
  if (spare_event_count_ > 0) {
    *event = spare_events_[--spare_event_count_];
    return kDriverSuccess;
  }
  return driver_->event_create(driver_->self, event);
}

void Fences::DropEvent(uint64_t event) {
  if (spare_event_count_ < kMaxSpareEvents) {
    spare_events_[spare_event_count_++] = event;
  } else {
    driver_->event_destroy(driver_->self, event);
  }
}

DriverResult Fences::Record(uint32_t timeline, uint64_t event) {
  // A stream that got no event when it ended cannot be passed to the driver any more, so only an
  // event of the whole context covers its work.
  if (timeline != kEverything && EndIsCovered(timeline)) {
    const uint64_t stream = timelines_[timeline].stream.load(std::memory_order_relaxed);
    const DriverResult result = driver_->event_record(driver_->self, event, stream);
    // An event of the whole context is also needed for a stream that was destroyed without a hooked
    // call.
    if (!IsStreamGone(result)) return result;
  }
  if (!context_events_) return kDriverNotSupported;
  return driver_->event_record_all(driver_->self, event);
}

DriverResult Fences::Ensure(uint32_t t, uint32_t tick) {
  Timeline& timeline = timelines_[t];
  if (timeline.recorded >= tick || Completed(t, tick)) return kDriverSuccess;
  if (HasEnded(t) && EndIsCovered(t)) {
    CloseEndedTick(t);
    return kDriverSuccess;
  }
  if (capturing()) return kDriverCaptureUnsupported;
  if (t == kEverything && !context_events_) return EnsureEverything();
  if (timeline.in_flight >= kInFlight) {
    PollTimeline(t);
    if (timeline.in_flight >= kInFlight) return kDriverNotReady;
  }
  const DriverResult result = CloseTick(t);
  const bool nameless = t != kEverything && !EndIsCovered(t);
  return nameless && result == kDriverNotSupported ? Synchronize() : result;
}

// Records an event that covers the open tick and all ticks before it. The caller has made sure that
// the timeline has room for one more event.
DriverResult Fences::CloseTick(uint32_t t) {
  Timeline& timeline = timelines_[t];
  uint64_t event = 0;
  DriverResult result = NewEvent(&event);
  if (result != kDriverSuccess) return result;
  const uint32_t closed = timeline.open.fetch_add(1, std::memory_order_seq_cst);
  result = Record(t, event);
  if (result != kDriverSuccess) {
    DropEvent(event);
    if (t == kEverything && result == kDriverNotSupported) {
      context_events_ = false;
      return EnsureEverything();
    }
    return result;
  }
  timeline.recorded = closed;
  timeline.fences[timeline.in_flight++] = {closed, event};
  ++in_flight_;
  return kDriverSuccess;
}

DriverResult Fences::EnsureEverything() {
  Timeline& everything = timelines_[kEverything];
  if (everything.in_flight > 0) {
    Poll();
    if (everything.in_flight > 0) return kDriverNotReady;
  }
  TimelineOf(0);  // the default stream takes part even if it was never named
  // Some streams have no timeline. Only waiting for all work of the context covers their work.
  if (overflowed_) return Synchronize();
  const uint32_t count = timelines();
  const uint32_t closed = everything.open.fetch_add(1, std::memory_order_seq_cst);
  for (uint32_t t = 1; t < count; ++t) {
    stream_ticks_[t] = OpenTick(t);
    const DriverResult result = Ensure(t, stream_ticks_[t]);
    if (result != kDriverSuccess) return result;
  }
  stream_ticks_count_ = count;
  everything.recorded = closed;
  everything.fences[everything.in_flight++] = {closed, 0};
  ++in_flight_;
  return kDriverSuccess;
}

void Fences::Complete(Timeline* timeline, uint32_t tick) {
  uint32_t completed = timeline->completed.load(std::memory_order_relaxed);
  while (tick > completed &&
         !timeline->completed.compare_exchange_weak(completed, tick, std::memory_order_release)) {
  }
}

void Fences::PollTimeline(uint32_t t) {
  Timeline& timeline = timelines_[t];
  int done = 0;
  while (done < timeline.in_flight) {
    const Fence& fence = timeline.fences[done];
    if (!Completed(t, fence.tick)) {
      const DriverResult result = driver_->event_query(driver_->self, fence.event);
      if (result != kDriverSuccess && result != kDriverNotReady) broken_ = true;
      if (result != kDriverSuccess) break;
    }
    Complete(&timeline, fence.tick);
    DropEvent(fence.event);
    ++done;
  }
  for (int i = done; i < timeline.in_flight; ++i) timeline.fences[i - done] = timeline.fences[i];
  timeline.in_flight -= done;
  in_flight_ -= done;
}

void Fences::PollEverything() {
  Timeline& everything = timelines_[kEverything];
  if (everything.in_flight == 0) return;
  if (everything.fences[0].event != 0) {
    PollTimeline(kEverything);
    return;
  }
  for (uint32_t t = 1; t < stream_ticks_count_; ++t) {
    if (!Completed(t, stream_ticks_[t])) return;
  }
  Complete(&everything, everything.fences[0].tick);
  everything.in_flight = 0;
  --in_flight_;
}

void Fences::Poll() {
  if (capturing() || in_flight_ == 0) return;
  const uint32_t count = timelines();
  for (uint32_t t = 1; t < count; ++t) PollTimeline(t);
  PollEverything();
}

void Fences::Hasten(uint32_t timeline) {
  RelaxedCapture relaxed(driver_);
  relaxed.Begin();
  Ensure(timeline, OpenTick(timeline));
  Poll();
}

bool Fences::WaitFor(uint32_t timeline, uint32_t tick, uint64_t deadline_ns) {
  uint64_t pause = kFirstPauseNs;
  for (;;) {
    const DriverResult result = Ensure(timeline, tick);
    Poll();
    if (Completed(timeline, tick)) return true;
    if (result != kDriverSuccess && result != kDriverNotReady) return false;
    if (broken()) return false;
    if (capturing() || WaitClock(driver_) >= deadline_ns) return false;
    driver_->pause(driver_->self, pause);
    if (pause < kLongestPauseNs) pause *= 2;
  }
}

DriverResult Fences::Synchronize() {
  if (capturing()) return kDriverCaptureUnsupported;
  const uint32_t count = timelines();
  uint32_t closed[kMaxTimelines];
  for (uint32_t t = 0; t < count; ++t) {
    closed[t] = timelines_[t].open.fetch_add(1, std::memory_order_seq_cst);
  }
  const DriverResult result = driver_->synchronize(driver_->self);
  if (result != kDriverSuccess) return result;
  // Work of other contexts is not waited for, because it may last long; only its state is asked.
  const bool others_done =
      AnyForeign(count) && driver_->finish_others != nullptr &&
      driver_->finish_others(driver_->self, WaitClock(driver_)) == kDriverSuccess;
  for (uint32_t t = 0; t < count; ++t) {
    const bool is_foreign = timelines_[t].is_foreign.load(std::memory_order_relaxed);
    if (!is_foreign || others_done) Complete(&timelines_[t], closed[t]);
  }
  return kDriverSuccess;
}

bool Fences::IsForeign(uint64_t stream) const {
  return driver_->is_foreign != nullptr && driver_->is_foreign(driver_->self, stream);
}

bool Fences::AnyForeign(uint32_t count) const {
  for (uint32_t t = 1; t < count; ++t) {
    if (timelines_[t].is_foreign.load(std::memory_order_relaxed)) return true;
  }
  return false;
}

}  // namespace vramstow
