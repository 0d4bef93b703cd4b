// EventWriter stores events in the calling thread's buffer. Before that, it writes whatever is due:
// a new chunk, a clock record, a gap event.
//
// Idea: RecorderState handles the fast path and calls this class for all other cases. Each call is
// made by the thread that owns the buffer, while the buffer is marked as busy.
//
// Ownership: none. Threads: Start before other threads know the object, all other functions by all
// threads at once, each with its own buffer. Errors: 0 if the event was not stored; it is counted
// then. No heap, no locks. Units: ticks, nanoseconds.
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

  // Stores the event in any state of the trace, and marks the buffer as not busy. Returns the
  // event's position in the order, or 0 if it was not stored.
  uint64_t Record(ThreadBuffer* buffer, const Event& event);
  // Stores an event that does not have the short form (see EventEncoder), in a chunk that has room,
  // and marks the buffer as not busy. `now` was read behind a fence, or by the single writer.
  // Returns the event's position in the order, or 0 if it was not stored.
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
