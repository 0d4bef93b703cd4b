// The way of an event: the fast path first, then what is done when something is unusual.
#include <algorithm>

#include "tracer/recorder.h"
#include "tracer/recorder_state.h"
#include "tracer/thread_pointer.h"

namespace vramstow {
namespace {

// What is known without the time is worked out before the counter has been read: a compiler that
// mixes the two keeps the processor waiting.
inline void DoFirst(EventEncoder::Short* encoded) {
  asm volatile(""
               : "+r"(encoded->bytes), "+r"(encoded->size), "+r"(encoded->is_unusual),
                 "+r"(encoded->place));
}

}  // namespace

uint64_t Recorder::Record(const Event& event) {
  RecorderState* const state = state_.load(std::memory_order_acquire);
  return state == nullptr ? 0 : state->Record(event);
}

uint64_t Recorder::RecordWithStack(const Event& event) {
  RecorderState* const state = state_.load(std::memory_order_acquire);
  return state == nullptr ? 0 : state->RecordWithStack(event);
}

// What is in this thread's slot, found without a call.
inline ThreadBuffer* RecorderState::StaticBuffer() const {
  return *reinterpret_cast<ThreadBuffer* const*>(ThreadPointer() + slot_distance_);
}

// Whatever is unusual is done by a call at the very end, so that nothing has to be kept for it.
inline uint64_t RecorderState::Record(const Event& event) {
  if (way_.load(std::memory_order_relaxed) != Way::kShort) [[unlikely]]
    return RecordAnyhow(event);
  ThreadBuffer* const buffer = StaticBuffer();
  uint64_t now;
  if (kHasQuickCounter && sole_.load(std::memory_order_relaxed) == buffer) [[likely]] {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    now = clock_.QuickTicks();
  } else {
    // The processor waits here until it is done with all that came before. What follows it does
    // while it reads the counter.
    now = clock_.Ticks();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (sole_.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
      return RecordAnyhow(event);
  }
  if (buffer == nullptr || buffer->owner != this || buffer->busy.load(std::memory_order_relaxed))
      [[unlikely]] {
    return RecordAnyhow(event);
  }
  buffer->busy.store(true, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  ChunkWriter& chunk = buffer->chunk;
  if (condition() != kRecording || chunk.room() < kMaxEncodedBytes + kEncodeSlack) [[unlikely]]
    return RecordInBuffer(buffer, event);
  EventEncoder::Short encoded = buffer->encoder.ShortOf(event);
  DoFirst(&encoded);
  uint8_t* const end =
      now < buffer->anchor_ends ? buffer->encoder.WriteShort(chunk.next(), encoded, now) : nullptr;
  if (end == nullptr) [[unlikely]]
    return RecordUnusual(buffer, event, now);
  chunk.Commit(end);
  buffer->busy.store(false, std::memory_order_release);
  return OrderOf(now, buffer->number);
}

// On the short way, where the chunk has room.
[[gnu::noinline]] uint64_t RecorderState::RecordUnusual(ThreadBuffer* buffer, const Event& event,
                                                        uint64_t now) {
  EventEncoder& encoder = buffer->encoder;
  // A thread that moved to another core may find the same tick there, and a signal handler may have
  // come between.
  const uint64_t ticks = std::max(now, encoder.last_time() + 1);
  if (ticks >= buffer->anchor_ends) return RecordInBuffer(buffer, event);
  buffer->chunk.Commit(
      encoder.Encode(buffer->chunk.next(), event, encoder.last_sequence() + 1, ticks));
  buffer->busy.store(false, std::memory_order_release);
  return OrderOf(ticks, buffer->number);
}

// This thread's buffer, marked busy. Null: it has none, or it is busy already, because a signal
// handler interrupted Record, whose half-written bytes must stay as they are. Then one more event
// is counted as dropped.
ThreadBuffer* RecorderState::OwnBuffer() {
  void** const slot = thread_slot_();
  ThreadBuffer* buffer = slot == nullptr ? nullptr : static_cast<ThreadBuffer*>(*slot);
  if (buffer == nullptr || buffer->owner != this) [[unlikely]]
    buffer = Attach(slot);
  if (buffer == nullptr || buffer->busy.load(std::memory_order_relaxed)) [[unlikely]] {
    Drop();
    return nullptr;
  }
  MarkBusy(buffer);
  return buffer;
}

// With stacks, where no counter can be trusted, and after latching off.
[[gnu::noinline]] uint64_t RecorderState::RecordAnyhow(const Event& event) {
  if (way_.load(std::memory_order_relaxed) == Way::kCounted) return RecordNothing();
  ThreadBuffer* const buffer = OwnBuffer();
  if (buffer == nullptr) return 0;
  if (stack_mode_ != StackMode::kOff && event.stack == 0 && IsRecording() &&
      WantsStack(event.kind)) {
    Event with_stack = event;
    with_stack.stack = TakeStack(buffer);
    return RecordInBuffer(buffer, with_stack);
  }
  return RecordInBuffer(buffer, event);
}

// With the stack that the event names, be it none.
uint64_t RecorderState::RecordWithStack(const Event& event) {
  if (way_.load(std::memory_order_relaxed) != Way::kAny) return Record(event);
  ThreadBuffer* const buffer = OwnBuffer();
  return buffer == nullptr ? 0 : RecordInBuffer(buffer, event);
}

// After latching off an event is only counted: by its thread in its chunk, if it has one. Close may
// miss the last of them; it does not matter whose memory they are then counted in (SealAll).
uint64_t RecorderState::RecordNothing() {
  if (condition() != kLatched) return 0;
  void** const slot = thread_slot_();
  ThreadBuffer* const buffer = slot == nullptr ? nullptr : static_cast<ThreadBuffer*>(*slot);
  const bool is_own = buffer != nullptr && buffer->owner == this;
  if (!is_own || buffer->busy.load(std::memory_order_relaxed)) {
    Drop();
    return 0;
  }
  // A signal handler that comes now counts elsewhere.
  buffer->busy.store(true, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  CountLost(buffer);
  buffer->busy.store(false, std::memory_order_release);
  return 0;
}

// The calling thread's stack before it takes locks of its own, for events that it tells under them.
uint32_t RecorderState::CaptureStack(EventKind kind) {
  if (stack_mode_ == StackMode::kOff || !IsRecording() || !WantsStack(kind)) return 0;
  ThreadBuffer* const buffer = OwnBuffer();
  if (buffer == nullptr) return 0;
  const uint32_t stack = TakeStack(buffer);
  buffer->busy.store(false, std::memory_order_release);
  return stack;
}

// In a buffer that was marked busy; afterwards it is not.
[[gnu::noinline]] uint64_t RecorderState::RecordInBuffer(ThreadBuffer* buffer, const Event& event) {
  const uint64_t sequence = RecordSlowly(buffer, event);
  buffer->busy.store(false, std::memory_order_release);
  return sequence;
}

// Whatever the condition; the buffer is busy.
uint64_t RecorderState::RecordSlowly(ThreadBuffer* buffer, const Event& event) {
  switch (condition()) {
    case kRecording:
      return Append(buffer, event);
    case kGapPending: {
      const uint64_t sequence = Append(buffer, event);
      if (sequence != 0) TellGap(buffer);
      return sequence;
    }
    case kLatched:
      CountLost(buffer);
      return 0;
    default:  // forked or closed
      return 0;
  }
}

// Stores the event where there is room for it. Its place in the order is taken last. 0: latched
// off.
uint64_t RecorderState::Append(ThreadBuffer* buffer, const Event& event) {
  ChunkWriter& chunk = buffer->chunk;
  EventEncoder& encoder = buffer->encoder;
  if (!by_ticks_) {
    if (!PrepareChunk(buffer, false)) return 0;
    // The time comes before the number: otherwise a thread that is interrupted between the two
    // makes all that others do meanwhile seem to be earlier.
    const uint64_t time_ns = clock_.Nanoseconds();
    const uint64_t sequence = sequence_.fetch_add(1, std::memory_order_acq_rel) + 1;
    chunk.Commit(encoder.Encode(chunk.next(), event, sequence, time_ns));
    return sequence;
  }
  uint64_t ticks = std::max(OrderedTicks(buffer), encoder.last_time() + 1);
  const bool is_late = ticks >= buffer->anchor_ends;
  if (is_late || chunk.room() < kMaxEncodedBytes + kEncodeSlack) [[unlikely]] {
    if (!PrepareChunk(buffer, is_late)) return 0;
    ticks = std::max(OrderedTicks(buffer), encoder.last_time() + 1);
  }
  chunk.Commit(encoder.Encode(chunk.next(), event, encoder.last_sequence() + 1, ticks));
  return OrderOf(ticks, buffer->number);
}

// Sees to it that the buffer has a chunk with room for one event, and, if it `is_late`, that the
// chunk is told the time. False: latched off, and the event is counted as lost.
bool RecorderState::PrepareChunk(ThreadBuffer* buffer, bool is_late) {
  constexpr size_t kNeeded = kMaxEncodedBytes + kEncodeSlack;
  if (buffer->chunk.room() < kNeeded + (is_late ? kMaxClockBytes : 0)) {
    if (NextChunk(buffer)) return true;
    CountLost(buffer);
    return false;
  }
  if (is_late) TellClock(buffer);
  return true;
}

bool RecorderState::NextChunk(ThreadBuffer* buffer) {
  bool hands_over = false;
  if (buffer->chunk.has_chunk()) {
    hands_over = TakeOtherSlot(buffer);
    // Where the recorder's thread cannot keep up, this one writes for itself.
    const int error = hands_over ? 0 : buffer->chunk.Append();
    if (error != 0) {
      Latch(error);
      return false;
    }
    buffer->recorded = buffer->encoder.last_sequence();
  }
  const uint32_t number = chunks_.fetch_add(1, std::memory_order_relaxed) + 1;
  ChunkKind kind = ChunkKind::kTickedEvents;
  uint64_t base_sequence = buffer->recorded;
  uint64_t base_time;
  if (by_ticks_) {
    base_time = std::max(clock_.Ticks(), buffer->encoder.last_time());
  } else {
    kind = ChunkKind::kEvents;
    base_sequence = sequence_.load(std::memory_order_acquire);
    base_time = clock_.Nanoseconds();
  }
  buffer->chunk.Begin(
      {number, buffer->thread, kind, base_sequence, base_time, buffer->number, ++buffer->chunks});
  buffer->chunk_thread = buffer->thread;
  buffer->encoder.Begin(base_sequence, base_time);
  if (hands_over) HandOver(buffer);
  if (by_ticks_) TellClock(buffer);
  return true;
}

void RecorderState::TellClock(ThreadBuffer* buffer) {
  const TraceClock::Reading now = clock_.Read();
  buffer->chunk.Commit(EventEncoder::EncodeClock(buffer->chunk.next(), now.ticks, now.time_ns,
                                                 TraceClock::Scale(now)));
  buffer->anchor_ends = now.ticks + TraceClock::ValidTicks(now);
  ConsiderSole(buffer, now);
}

void RecorderState::TellGap(ThreadBuffer* buffer) {
  uint32_t expected = kGapPending;
  condition_->compare_exchange_strong(expected, kRecording, std::memory_order_acq_rel);
  const GapEvent gap = {gap_events_.exchange(0, std::memory_order_acq_rel)};
  if (gap.lost_events != 0) Append(buffer, gap.ToEvent());
}

// The event of a thread that cannot record just now.
void RecorderState::Drop() {
  switch (condition()) {
    case kLatched:
      std::atomic_ref<uint64_t>(header()->lost_events).fetch_add(1, std::memory_order_relaxed);
      return;
    case kForked:
    case kClosed:
      return;
    default:
      break;
  }
  std::atomic_ref<uint64_t>(header()->dropped_events).fetch_add(1, std::memory_order_relaxed);
  gap_events_.fetch_add(1, std::memory_order_acq_rel);
  uint32_t expected = kRecording;
  condition_->compare_exchange_strong(expected, kGapPending, std::memory_order_acq_rel);
}

// After latching off. Each thread counts for itself, if it can.
void RecorderState::CountLost(ThreadBuffer* buffer) {
  if (!buffer->chunk.CountLost()) {
    std::atomic_ref<uint64_t>(header()->lost_events).fetch_add(1, std::memory_order_relaxed);
  }
}

// No more is recorded: the disk is full, or worse. Trying again with each event would make the job
// slower for nothing.
void RecorderState::Latch(int error) {
  uint32_t before = condition();
  do {
    if (before != kRecording && before != kGapPending) return;
  } while (!condition_->compare_exchange_weak(before, kLatched, std::memory_order_acq_rel));
  way_.store(Way::kCounted, std::memory_order_relaxed);
  FileHeader* const to = header();
  std::atomic_ref<uint64_t>(to->latch_time_ns)
      .store(clock_.Nanoseconds(), std::memory_order_relaxed);
  const uint64_t sequence = by_ticks_ ? OrderOf(clock_.Ticks(), 0) : sequence_.load() + 1;
  std::atomic_ref<uint64_t>(to->latch_sequence).store(sequence, std::memory_order_relaxed);
  std::atomic_ref<uint32_t>(to->latch_error)
      .store(static_cast<uint32_t>(error), std::memory_order_relaxed);
}

}  // namespace vramstow
