// OpenTrace contains the state of the open trace that all parts of the recorder share.
//
// Ownership: the file and its first slot. Threads: written while the trace is opened, before other
// threads know it; afterwards each member is used as its own header says. Errors: none. No heap.
// Units: bytes.
#ifndef VRAMSTOW_TRACER_OPEN_TRACE_H_
#define VRAMSTOW_TRACER_OPEN_TRACE_H_

#include <atomic>
#include <cstdint>

#include "tracer/event_order.h"
#include "tracer/format/layout.h"
#include "tracer/recorder.h"
#include "tracer/recording_status.h"
#include "tracer/trace_file.h"

namespace vramstow {

struct OpenTrace {
  // Each event reads the following members.
  RecordingStatus status;
  EventOrder order;
  ThreadSlot thread_slot = nullptr;

  uint64_t id = 0;
  std::atomic<uint32_t> chunks{0};  // the number of chunks begun so far
  TraceFile file;
  TraceFile::Slot first_slot;
  // True if the recent events are to be copied to another file before sums replace them.
  std::atomic<bool> is_copy_due{false};

  bool IsRecording() const { return status.IsRecording(); }
  void Latch(int error) { status.Latch(error, order); }
  FileHeader* header() const { return reinterpret_cast<FileHeader*>(first_slot.bytes); }
  uint32_t NextChunkNumber() { return chunks.fetch_add(1, std::memory_order_relaxed) + 1; }
  // Returns an address that identifies this thread, or null if the thread has no slot.
  const void* Self() const { return thread_slot(); }
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_OPEN_TRACE_H_
