#include "tracer/event_writer.h"

#include <algorithm>

#include "base/typed_event.h"

namespace vramstow {

[[gnu::noinline]] uint64_t EventWriter::Record(ThreadBuffer* buffer, const Event& event) {
  const uint64_t sequence = RecordInCondition(buffer, event);
  buffer->busy.store(false, std::memory_order_release);
  return sequence;
}

[[gnu::noinline]] uint64_t EventWriter::RecordUnshaped(ThreadBuffer* buffer, const Event& event,
                                                       uint64_t now) {
  EventEncoder& encoder = buffer->encoder;
  // The time must be later than the last event's. A thread that moved to another core may read the
  // same tick there, and a signal handler may have recorded an event in between.
  const uint64_t ticks = std::max(now, encoder.last_time() + 1);
  if (ticks >= buffer->anchor_ends) return Record(buffer, event);
  // Each amount (the sizes of an event) has two possible numbers, and the short form uses the first
  // one. In one of ten events the first number belongs to another amount at the moment. So the
  // short form with the second number is tried, too.
  uint8_t* const out = buffer->chunk.next();
  uint8_t* end = encoder.WriteShort(out, encoder.ShortOf<true>(event), ticks);
  if (end == nullptr) end = encoder.Encode(out, event, encoder.last_sequence() + 1, ticks);
  buffer->chunk.Commit(end);
  buffer->busy.store(false, std::memory_order_release);
  return OrderOf(ticks, buffer->number);
}

uint64_t EventWriter::RecordInCondition(ThreadBuffer* buffer, const Event& event) {
  switch (trace_->status.condition()) {
    case RecordingStatus::kRecording:
      return Append(buffer, event);
    case RecordingStatus::kGapPending: {
      const uint64_t sequence = Append(buffer, event);
      if (sequence != 0) EmitGap(buffer);
      return sequence;
    }
    case RecordingStatus::kLatched:
      trace_->status.CountLost(&buffer->chunk);
      return 0;
    default:  // kForked or kClosed
      return 0;
  }
}

// Stores the event if there is room. The event's position in the order of events is determined
// last. Returns 0 if recording has stopped after an error.
uint64_t EventWriter::Append(ThreadBuffer* buffer, const Event& event) {
  if (!trace_->order.by_ticks()) return AppendNumbered(buffer, event);
  ChunkWriter& chunk = buffer->chunk;
  EventEncoder& encoder = buffer->encoder;
  uint64_t ticks = std::max(single_->OrderedTicks(buffer), encoder.last_time() + 1);
  const bool is_late = ticks >= buffer->anchor_ends;
  if (is_late || chunk.room() < kEventRoom) [[unlikely]] {
    if (!PrepareChunk(buffer, is_late)) return 0;
    ticks = std::max(single_->OrderedTicks(buffer), encoder.last_time() + 1);
  }
  chunk.Commit(encoder.Encode(chunk.next(), event, encoder.last_sequence() + 1, ticks));
  return OrderOf(ticks, buffer->number);
}

uint64_t EventWriter::AppendNumbered(ThreadBuffer* buffer, const Event& event) {
  if (!PrepareChunk(buffer, false)) return 0;
  // The time is read before the number. Otherwise a thread that is interrupted between the two
  // would make all events that others record meanwhile seem earlier.
  const uint64_t time_ns = trace_->order.clock().Nanoseconds();
  const uint64_t sequence = trace_->order.NextNumber();
  ChunkWriter& chunk = buffer->chunk;
  chunk.Commit(buffer->encoder.Encode(chunk.next(), event, sequence, time_ns));
  return sequence;
}

// Makes sure that the buffer has a chunk with room for one event and, if `is_late`, that the chunk
// has a new clock record. Returns false if recording has stopped; the event is then counted as
// lost.
bool EventWriter::PrepareChunk(ThreadBuffer* buffer, bool is_late) {
  if (buffer->chunk.room() < kEventRoom + (is_late ? kMaxClockBytes : 0)) {
    if (NextChunk(buffer)) return true;
    trace_->status.CountLost(&buffer->chunk);
    return false;
  }
  if (is_late) EmitClock(buffer);
  return true;
}

bool EventWriter::NextChunk(ThreadBuffer* buffer) {
  bool hands_over = false;
  if (buffer->chunk.has_chunk()) {
    hands_over = background_->ClaimOtherSlot(buffer);
    // If the recorder's thread cannot keep up, this thread writes the chunk.
    const int error = hands_over ? 0 : buffer->chunk.Append();
    if (error != 0) {
      trace_->Latch(error);
      return false;
    }
    buffer->recorded = buffer->encoder.last_sequence();
  }
  const EventOrder& order = trace_->order;
  const uint32_t number = trace_->NextChunkNumber();
  ChunkKind kind = ChunkKind::kTickedEvents;
  uint64_t base_sequence = buffer->recorded;
  uint64_t base_time;
  if (order.by_ticks()) {
    base_time = std::max(order.clock().CheckedTicks(), buffer->encoder.last_time());
  } else {
    kind = ChunkKind::kEvents;
    base_sequence = order.last_number();
    base_time = order.clock().Nanoseconds();
  }
  buffer->chunk.Begin(
      {number, buffer->thread, kind, base_sequence, base_time, buffer->number, ++buffer->chunks});
  buffer->chunk_thread = buffer->thread;
  buffer->encoder.Begin(base_sequence, base_time);
  if (hands_over) background_->HandOver(buffer);
  if (order.by_ticks()) EmitClock(buffer);
  return true;
}

void EventWriter::EmitClock(ThreadBuffer* buffer) {
  const TraceClock::Reading now = trace_->order.clock().Read();
  buffer->chunk.Commit(EventEncoder::EncodeClock(buffer->chunk.next(), now.ticks, now.time_ns,
                                                 TraceClock::Scale(now)));
  buffer->anchor_ends = now.ticks + TraceClock::ValidTicks(now);
  if (IsFast(trace_->status.mode())) single_->Consider(buffer, now);
}

void EventWriter::EmitGap(ThreadBuffer* buffer) {
  const GapEvent gap = {trace_->status.ClearGap()};
  if (gap.lost_events != 0) Append(buffer, gap.ToEvent());
}

}  // namespace vramstow
