// The way of an event: the fast path first, then what is done when something is unusual.
#include "tracer/recorder_state.h"

namespace vramstow {

uint64_t RecorderState::Record(const Event& event) {
  void** const slot = thread_slot_();
  ThreadBuffer* buffer = slot == nullptr ? nullptr : static_cast<ThreadBuffer*>(*slot);
  if (buffer == nullptr || buffer->owner != this) [[unlikely]] {
    buffer = Attach(slot);
    if (buffer == nullptr) return Drop();
  }
  // A signal handler interrupted this very function: its half-written bytes must stay as they are.
  if (buffer->busy.load(std::memory_order_relaxed)) [[unlikely]]
    return Drop();
  buffer->busy.store(true, std::memory_order_relaxed);
  // The clock comes before the number: the other way round the processor waits for the one to be
  // done before it starts with the other, and an event takes half as long again.
  const uint64_t time_ns = IsOff() ? 0 : buffer->clock.Now(&clock_);
  const uint64_t sequence = TakeNumber();
  if (condition() != kRecording) [[unlikely]] {
    return RecordUnusually(buffer, event, sequence, time_ns);
  }
  Commit(buffer, event, sequence, time_ns);
  buffer->busy.store(false, std::memory_order_release);
  return sequence;
}

bool RecorderState::Commit(ThreadBuffer* buffer, const Event& event, uint64_t sequence,
                           uint64_t time_ns) {
  if (buffer->chunk.room() < kMaxEncodedBytes + kEncodeSlack) [[unlikely]] {
    if (!NextChunk(buffer, sequence, time_ns)) return false;
  }
  buffer->chunk.Commit(buffer->encoder.Encode(buffer->chunk.next(), event, sequence, time_ns));
  return true;
}

bool RecorderState::NextChunk(ThreadBuffer* buffer, uint64_t sequence, uint64_t time_ns) {
  if (buffer->chunk.has_chunk()) {
    const int error = buffer->chunk.Append();
    if (error != 0) {
      Latch(time_ns, error);
      DropLatched(sequence);
      return false;
    }
  }
  const uint32_t number = chunks_.fetch_add(1, std::memory_order_relaxed) + 1;
  buffer->chunk.Begin({number, buffer->thread, ChunkKind::kEvents, sequence - 1, time_ns});
  buffer->chunk_thread = buffer->thread;
  buffer->encoder.Begin(sequence - 1, time_ns);
  return true;
}

uint64_t RecorderState::RecordUnusually(ThreadBuffer* buffer, const Event& event, uint64_t sequence,
                                        uint64_t time_ns) {
  switch (condition()) {
    case kGapPending:
      if (Commit(buffer, event, sequence, time_ns)) TellGap(buffer, time_ns);
      break;
    case kLatched:
      DropLatched(sequence);
      break;
    case kRecording:  // in the meantime another thread told the gap
      Commit(buffer, event, sequence, time_ns);
      break;
    case kForked:
      sequence = 0;
      break;
    default:  // closed
      break;
  }
  buffer->busy.store(false, std::memory_order_release);
  return sequence;
}

void RecorderState::TellGap(ThreadBuffer* buffer, uint64_t time_ns) {
  uint32_t expected = kGapPending;
  condition_->compare_exchange_strong(expected, kRecording, std::memory_order_acq_rel);
  Event gap;
  gap.kind = EventKind::kGap;
  gap.size = gap_events_.exchange(0, std::memory_order_acq_rel);
  if (gap.size != 0) Commit(buffer, gap, TakeNumber(), time_ns);
}

// The event of a thread that cannot record just now.
uint64_t RecorderState::Drop() {
  if (condition() == kForked) return 0;
  const uint64_t sequence = TakeNumber();
  switch (condition()) {
    case kLatched:
      DropLatched(sequence);
      return sequence;
    case kClosed:
      return sequence;
    default:
      break;
  }
  std::atomic_ref<uint64_t>(header()->dropped_events).fetch_add(1, std::memory_order_relaxed);
  gap_events_.fetch_add(1, std::memory_order_acq_rel);
  uint32_t expected = kRecording;
  condition_->compare_exchange_strong(expected, kGapPending, std::memory_order_acq_rel);
  return sequence;
}

// After latching off the numbers that were given out say how many events were lost. Two threads may
// store theirs in the wrong order; a reader is then told one number too few.
void RecorderState::DropLatched(uint64_t sequence) {
  std::atomic_ref<uint64_t>(header()->last_sequence).store(sequence, std::memory_order_relaxed);
  std::atomic_ref<uint64_t> first(header()->latch_sequence);
  uint64_t before = first.load(std::memory_order_relaxed);
  while ((before == 0 || sequence < before) &&
         !first.compare_exchange_weak(before, sequence, std::memory_order_relaxed)) {
  }
}

// No more is recorded: the disk is full, or worse. Trying again with each event would make the job
// slower for nothing.
void RecorderState::Latch(uint64_t time_ns, int error) {
  uint32_t before = condition();
  do {
    if (before != kRecording && before != kGapPending) return;
  } while (!condition_->compare_exchange_weak(before, kLatched, std::memory_order_acq_rel));
  FileHeader* const to = header();
  std::atomic_ref<uint64_t>(to->latch_time_ns).store(time_ns, std::memory_order_relaxed);
  std::atomic_ref<uint32_t>(to->latch_error)
      .store(static_cast<uint32_t>(error), std::memory_order_relaxed);
}

}  // namespace vramstow
