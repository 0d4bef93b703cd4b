// ThreadBuffer is the buffer in which one thread at a time records its events.
//
// Idea: a thread gets a buffer at its first event and owns it until the thread ends. Then the next
// new thread gets the buffer, with the rest of its chunk. So a thousand threads that start and end
// need only as many buffers as there are threads at the same time.
//
// Ownership: ThreadRegistry owns all buffers, for the life of the process. Threads: `owner` and
// `busy` may be read by all threads, the other members belong to the thread that owns the buffer.
// No heap.
#ifndef VRAMSTOW_TRACER_THREAD_BUFFER_H_
#define VRAMSTOW_TRACER_THREAD_BUFFER_H_

#include <atomic>
#include <cstdint>

#include "tracer/chunk_writer.h"
#include "tracer/format/event_encoder.h"

namespace vramstow {

class RecorderState;
struct StackScratch;

struct ThreadBuffer {
  RecorderState* owner;
  // True while the thread records an event. If a signal handler finds it true, the handler has
  // interrupted the recording.
  std::atomic<bool> busy;
  uint32_t thread;        // the operating system's id
  uint32_t chunk_thread;  // the last thread recorded in the chunk
  uint32_t number;        // the number of this buffer, from 1
  ChunkWriter chunk;      // the chunk in the current slot
  // The slots (parts of the file) in which chunks are filled. The second slot is made when a full
  // slot is first handed over to the recorder's thread. A slot that was handed over belongs to the
  // recorder's thread until that thread has written it to the file.
  TraceFile::Slot slots[2];
  std::atomic<bool> is_handed[2];
  uint32_t current;
  uint32_t chunks;       // the number of chunks begun so far
  uint64_t anchor_ends;  // from this tick on the chunk needs a new clock record
  uint64_t alone_from;   // from this tick on the thread may try to become the single writer
  EventEncoder encoder;
  uint64_t recorded;    // the encoder's last_sequence, while there is no chunk
  StackScratch* stack;  // null until a stack is captured
  uint32_t captures;
  ThreadBuffer* next_free;  // guarded by the registry's lock
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_THREAD_BUFFER_H_
