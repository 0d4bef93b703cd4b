// EventWriter: stores events in the calling thread's buffer, with all that may have to be done
// before: a new chunk, a clock record, a gap.
//
// Idea: this is what RecorderState's fast path leaves to others. Each call is made by the thread
// that has the buffer, with the buffer marked as busy.
//
// Ownership: none. Threads: Start before others know the object, the rest by all at once, each with
// a buffer of its own. Errors: 0, the event was not stored and is counted. No heap, no locks.
// Units: ticks, nanoseconds.
#ifndef VRAMSTOW_TRACER_EVENT_WRITER_H_
#define VRAMSTOW_TRACER_EVENT_WRITER_H_

#include <cstddef>
#include <cstdint>

#include "base/event.h"
#include "tracer/background_writer.h"
#include "tracer/format/event_coding.h"
#include "tracer/open_trace.h"
#include "tracer/single_writer.h"
#include "tracer/thread_buffer.h"

namespace vramstow {

// The room that a chunk must have for one event.
inline constexpr size_t kEventRoom = kMaxEncodedBytes + kEncodeSlack;

class EventWriter {
 public:
  void Start(OpenTrace* trace, SingleWriter* single, BackgroundWriter* background) {
    trace_ = trace;
    single_ = single;
    background_ = background;
  }

  // Stores the event, whatever the trace's condition is, and gives the buffer up. Gives the event's
  // place in the order, 0 if it was not stored.
  uint64_t Record(ThreadBuffer* buffer, const Event& event);
  // The same for an event whose shape, amount or time step does not fit the short form, in a chunk
  // that has room. `now` was read behind a fence, or by the single writer.
  uint64_t RecordUnshaped(ThreadBuffer* buffer, const Event& event, uint64_t now);

 private:
  uint64_t RecordInCondition(ThreadBuffer* buffer, const Event& event);
  uint64_t Append(ThreadBuffer* buffer, const Event& event);
  uint64_t AppendNumbered(ThreadBuffer* buffer, const Event& event);
  bool PrepareChunk(ThreadBuffer* buffer, bool is_late);
  bool NextChunk(ThreadBuffer* buffer);
  void EmitClock(ThreadBuffer* buffer);
  void EmitGap(ThreadBuffer* buffer);

  OpenTrace* trace_ = nullptr;
  SingleWriter* single_ = nullptr;
  BackgroundWriter* background_ = nullptr;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_EVENT_WRITER_H_
