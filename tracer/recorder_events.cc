// Implements the functions that record an event: the fast path first, then all other cases.
#include "base/keep_errno.h"
#include "tracer/capture/find_object.h"
#include "tracer/recorder.h"
#include "tracer/recorder_state.h"
#include "tracer/thread_pointer.h"

namespace vramstow {
namespace {

// Forces the compiler to compute, before the counter is read, the part that does not depend on
// time. If it were computed later, the processor would have to wait for the counter first.
inline void ComputeBeforeClock(EventEncoder::Short* encoded) {
  asm volatile(""
               : "+r"(encoded->bytes), "+r"(encoded->size), "+r"(encoded->is_general),
                 "+r"(encoded->place));
}

}  // namespace

// Returns this thread's buffer, or null, by reading the thread's slot without a function call.
inline ThreadBuffer* RecorderState::StaticBuffer() const {
  return *reinterpret_cast<ThreadBuffer* const*>(ThreadPointer() + slot_distance_);
}

inline uint64_t RecorderState::Record(const Event& event) {
  if (trace_.status.mode() != RecordMode::kFast) [[unlikely]]
    return RecordGeneral(event);
  return RecordFast<&RecorderState::RecordGeneral>(event);
}

// Records the event. If the event has a stack number, that stack is stored.
uint64_t RecorderState::RecordWithStack(const Event& event) {
  if (!IsFast(trace_.status.mode())) [[unlikely]]
    return RecordWithoutCapture(event);
  return RecordFast<&RecorderState::RecordWithoutCapture>(event);
}

// Handles the fast case. In all other cases it ends with a tail call of kOther, so that it need not
// save registers for those cases.
template <uint64_t (RecorderState::*kOther)(const Event&)>
inline uint64_t RecorderState::RecordFast(const Event& event) {
  ThreadBuffer* const buffer = StaticBuffer();
  const TraceClock& clock = trace_.order.clock();
  uint64_t now;
  if (kHasQuickCounter && single_.buffer() == buffer) [[likely]] {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    now = clock.QuickTicks();
  } else {
    // The processor waits here until all earlier instructions have finished. It executes later
    // instructions while it reads the counter.
    now = clock.Ticks();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (single_.buffer() != nullptr) [[unlikely]]
      return (this->*kOther)(event);
  }
  if (buffer == nullptr || buffer->owner != this || buffer->busy.load(std::memory_order_relaxed))
      [[unlikely]] {
    return (this->*kOther)(event);
  }
  buffer->busy.store(true, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  ChunkWriter& chunk = buffer->chunk;
  if (trace_.status.condition() != RecordingStatus::kRecording || chunk.room() < kEventRoom)
      [[unlikely]]
    return events_.Record(buffer, event);
  EventEncoder::Short encoded = buffer->encoder.ShortOf(event);
  ComputeBeforeClock(&encoded);
  uint8_t* const end =
      now < buffer->anchor_ends ? buffer->encoder.WriteShort(chunk.next(), encoded, now) : nullptr;
  if (end == nullptr) [[unlikely]]
    return events_.RecordUnshaped(buffer, event, now);
  chunk.Commit(end);
  buffer->busy.store(false, std::memory_order_release);
  return OrderOf(now, buffer->number);
}

uint64_t Recorder::Record(const Event& event) {
  RecorderState* const state = state_.load(std::memory_order_acquire);
  return state == nullptr ? 0 : state->Record(event);
}

uint64_t Recorder::RecordWithStack(const Event& event) {
  RecorderState* const state = state_.load(std::memory_order_acquire);
  return state == nullptr ? 0 : state->RecordWithStack(event);
}

uint64_t Recorder::RecordQuietly(Event* event) {
  RecorderState* const state = state_.load(std::memory_order_acquire);
  return state == nullptr ? 0 : state->RecordQuietly(event);
}

uint64_t RecorderState::RecordQuietly(Event* event) {
  if (stacks_.Wants(event->kind)) event->stack = CaptureStack(event->kind, CaptureMode::kQuiet);
  return RecordWithStack(*event);
}

// Captures a stack that the thread has not captured before.
[[gnu::noinline]] uint32_t RecorderState::TakeUnknownStack(ThreadBuffer* buffer,
                                                           const FramePlace& here) {
  const KeepErrno keep_errno;
  return stacks_.TakeUnknown(buffer, here, CaptureMode::kQuiet);
}

[[gnu::noinline]] uint64_t RecorderState::RecordBlockGenerally(const BlockEvent& block) {
  const KeepErrno keep_errno;
  Event event = block.ToEvent();
  return RecordQuietly(&event);
}

// Stores a block's event that does not have the short form with its first amount. The buffer is
// busy.
[[gnu::noinline]] uint64_t RecorderState::RecordBlockUnshaped(ThreadBuffer* buffer,
                                                              const BlockEvent& block,
                                                              uint32_t stack, uint64_t now) {
  if (now < buffer->anchor_ends) {
    // This is what EventWriter::RecordUnshaped tries first, without an Event in memory.
    Event second = block.ToEvent();
    second.stack = stack;
    EventEncoder& encoder = buffer->encoder;
    uint8_t* const end =
        encoder.WriteShort(buffer->chunk.next(), encoder.ShortOf<true>(second), now);
    if (end != nullptr) {
      buffer->chunk.Commit(end);
      buffer->busy.store(false, std::memory_order_release);
      return OrderOf(now, buffer->number);
    }
  }
  return RecordBlockInOrder(buffer, block, stack);
}

// Stores a block's event in any form, at a time that is read now. The buffer is busy.
[[gnu::noinline]] uint64_t RecorderState::RecordBlockInOrder(ThreadBuffer* buffer,
                                                             const BlockEvent& block,
                                                             uint32_t stack) {
  const KeepErrno keep_errno;
  Event event = block.ToEvent();
  event.stack = stack;
  return events_.Record(buffer, event);
}

// Does in one function what RecordQuietly does: it finds the thread's buffer once, and encodes the
// event without storing it as an Event first.
inline uint64_t RecorderState::RecordBlock(const BlockEvent& block) {
  FramePlace here = {};
  VRAMSTOW_HERE(here);
  if (!IsFast(trace_.status.mode())) [[unlikely]]
    return RecordBlockGenerally(block);
  ThreadBuffer* const buffer = StaticBuffer();
  if (buffer == nullptr || buffer->owner != this || buffer->busy.load(std::memory_order_relaxed))
      [[unlikely]] {
    return RecordBlockGenerally(block);
  }
  buffer->busy.store(true, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  ChunkWriter& chunk = buffer->chunk;
  if (trace_.status.condition() != RecordingStatus::kRecording || chunk.room() < kEventRoom)
      [[unlikely]] {
    buffer->busy.store(false, std::memory_order_release);
    return RecordBlockGenerally(block);
  }
  uint32_t stack = 0;
  if (stacks_.WantsQuietly(block.kind)) {
    stack = stacks_.FindKnown(buffer, here);
    if (stack == 0) [[unlikely]]
      stack = TakeUnknownStack(buffer, here);
  }
  const TraceClock& clock = trace_.order.clock();
  uint64_t now;
  if (kHasQuickCounter && single_.buffer() == buffer) [[likely]] {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    now = clock.QuickTicks();
  } else {
    now = clock.Ticks();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (single_.buffer() != nullptr) [[unlikely]]
      return RecordBlockInOrder(buffer, block, stack);
  }
  Event event = block.ToEvent();
  event.stack = stack;
  EventEncoder::Short encoded = buffer->encoder.ShortOf(event);
  ComputeBeforeClock(&encoded);
  uint8_t* const end =
      now < buffer->anchor_ends ? buffer->encoder.WriteShort(chunk.next(), encoded, now) : nullptr;
  if (end == nullptr) [[unlikely]]
    return RecordBlockUnshaped(buffer, block, stack, now);
  chunk.Commit(end);
  buffer->busy.store(false, std::memory_order_release);
  return OrderOf(now, buffer->number);
}

uint64_t Recorder::RecordBlock(const BlockEvent& block) {
  RecorderState* const state = state_.load(std::memory_order_acquire);
  return state == nullptr ? 0 : state->RecordBlock(block);
}

bool Recorder::CompleteFree(uint64_t sequence) {
  RecorderState* const state = state_.load(std::memory_order_acquire);
  return state != nullptr && state->CompleteFree(sequence);
}

bool RecorderState::CompleteFree(uint64_t sequence) {
  if (!IsFast(trace_.status.mode()) || stacks_.Wants(EventKind::kFreeCompleted)) return false;
  ThreadBuffer* const buffer = StaticBuffer();
  if (buffer == nullptr || buffer->owner != this || buffer->busy.load(std::memory_order_relaxed))
      [[unlikely]]
    return false;
  buffer->busy.store(true, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  EventEncoder& encoder = buffer->encoder;
  bool is_done = false;
  if (trace_.status.condition() == RecordingStatus::kRecording &&
      sequence == OrderOf(encoder.last_time(), buffer->number)) [[likely]] {
    is_done = encoder.CompleteLast();
    ChunkWriter& chunk = buffer->chunk;
    if (!is_done && chunk.room() >= kEventRoom) [[unlikely]]
      chunk.Commit(encoder.EncodeCompleting(chunk.next()));
  }
  buffer->busy.store(false, std::memory_order_release);
  return is_done;
}

// Returns this thread's buffer, marked as busy. Returns null if the thread has no buffer. Also
// returns null if the buffer is busy already: a signal handler has then interrupted Record, whose
// half-written bytes must not change. In both cases one more event is counted as dropped.
ThreadBuffer* RecorderState::OwnBuffer() {
  ThreadBuffer* buffer = IsFast(trace_.status.mode()) ? StaticBuffer() : nullptr;
  if (buffer == nullptr || buffer->owner != this) [[unlikely]] {
    void** const slot = trace_.thread_slot();
    buffer = slot == nullptr ? nullptr : static_cast<ThreadBuffer*>(*slot);
    if (buffer == nullptr || buffer->owner != this) buffer = threads_.Attach(slot);
  }
  if (buffer == nullptr || buffer->busy.load(std::memory_order_relaxed)) [[unlikely]] {
    trace_.status.Drop();
    return nullptr;
  }
  trace_.status.MarkBusy(&buffer->busy);
  return buffer;
}

// Handles events with stacks, traces without a trusted counter, and traces whose recording has
// stopped. It only calls one of two functions. Each of these saves the registers that it needs, so
// this function need not save any.
[[gnu::noinline]] uint64_t RecorderState::RecordGeneral(const Event& event) {
  if (trace_.status.mode() == RecordMode::kCountOnly) return CountOnly();
  return RecordWithItsStack(event);
}

// Records the event with the stack that it names. If it names none, the caller's stack is captured
// if events of this kind get a stack.
[[gnu::noinline]] uint64_t RecorderState::RecordWithItsStack(const Event& event) {
  ThreadBuffer* const buffer = OwnBuffer();
  if (buffer == nullptr) return 0;
  if (stacks_.Wants(event.kind) && event.stack == 0 && trace_.IsRecording()) {
    Event with_stack = event;
    with_stack.stack = stacks_.Take(buffer, CaptureMode::kMayAsk);
    return events_.Record(buffer, with_stack);
  }
  return events_.Record(buffer, event);
}

[[gnu::noinline]] uint64_t RecorderState::RecordWithoutCapture(const Event& event) {
  if (trace_.status.mode() == RecordMode::kCountOnly) return CountOnly();
  ThreadBuffer* const buffer = OwnBuffer();
  return buffer == nullptr ? 0 : events_.Record(buffer, event);
}

// Counts the event as lost, because recording has stopped. The count is stored in the thread's
// chunk, if it has one. Close may miss the last of these events, which does no harm.
uint64_t RecorderState::CountOnly() {
  if (trace_.status.condition() != RecordingStatus::kLatched) return 0;
  void** const slot = trace_.thread_slot();
  ThreadBuffer* const buffer = slot == nullptr ? nullptr : static_cast<ThreadBuffer*>(*slot);
  const bool is_own = buffer != nullptr && buffer->owner == this;
  if (!is_own || buffer->busy.load(std::memory_order_relaxed)) {
    trace_.status.Drop();
    return 0;
  }
  // A signal handler that interrupts here counts its events elsewhere.
  buffer->busy.store(true, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  trace_.status.CountLost(&buffer->chunk);
  buffer->busy.store(false, std::memory_order_release);
  return 0;
}

// Captures the calling thread's stack, for events that the thread will record under its own locks.
// Called before it takes those locks.
uint32_t RecorderState::CaptureStack(EventKind kind, CaptureMode mode) {
  if (!stacks_.Wants(kind) || !trace_.IsRecording()) return 0;
  if (mode == CaptureMode::kQuiet && !CanFindObjects()) return 0;
  ThreadBuffer* const buffer = OwnBuffer();
  if (buffer == nullptr) return 0;
  const uint32_t stack = stacks_.Take(buffer, mode);
  buffer->busy.store(false, std::memory_order_release);
  return stack;
}

}  // namespace vramstow
