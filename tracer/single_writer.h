// SingleWriter: a thread that records alone need not wait for its counter.
//
// Idea: events are in order because the counter is read behind a fence: not before what the thread
// has seen of others (clock.h). The fence is half of what an event costs. But most of the time only
// one thread records, and its events cannot be out of order with any other. So one buffer can
// become the *single writer*. Its thread reads the counter without the fence as long as it finds
// its buffer here. Any other thread takes that away before it records.
//
// Why that is right: let X be an event of another thread that is over, as the single writer could
// know, before its event Y begins.
// - X's thread took the mark away first. Then the single writer has seen something that came after
//   X. Loads are seen in the order of the program (x86), so it finds the mark gone, and waits as
//   others do.
// - Or X's thread found no mark after it had read the counter, and the mark was set later. Whoever
//   sets the mark has the kernel put a barrier into all threads of the process (thread_barrier.h)
//   and then reads the counter behind a fence, and Y is later than that. X's thread looked before
//   that barrier, and read the counter before it looked.
// The other way round, Y before X: X's thread reads the counter behind a fence, after it has seen
// something that Y's thread wrote after it had read its own.
//
// Ownership: none of the buffers. Threads: Start once, the rest by all at any time; Consider and
// OrderedTicks by the buffer's thread. Errors: none. No heap, no locks. Units: ticks. x86-64 only:
// elsewhere nobody ever becomes the single writer.
#ifndef VRAMSTOW_TRACER_SINGLE_WRITER_H_
#define VRAMSTOW_TRACER_SINGLE_WRITER_H_

#include <atomic>
#include <cstdint>

#include "tracer/clock.h"

namespace vramstow {

struct ThreadBuffer;

class SingleWriter {
 public:
  void Start(const TraceClock* clock) { clock_ = clock; }

  // Null: nobody.
  const ThreadBuffer* buffer() const { return buffer_.load(std::memory_order_relaxed); }

  // The counter behind a fence, for an event of this buffer. Afterwards no other buffer is the
  // single writer.
  uint64_t OrderedTicks(const ThreadBuffer* buffer);

  // Called now and then by each thread that records fast, at the time `now`. What it records next
  // has a time that is read later, behind a fence.
  void Consider(ThreadBuffer* buffer, const TraceClock::Reading& now);

  // The buffer's thread ends.
  void Forget(const ThreadBuffer* buffer) {
    buffer_.compare_exchange_strong(buffer, nullptr, std::memory_order_seq_cst);
  }

 private:
  void EndUnless(const ThreadBuffer* except);

  std::atomic<const ThreadBuffer*> buffer_{nullptr};
  std::atomic<const ThreadBuffer*> last_considered_{nullptr};
  const TraceClock* clock_ = nullptr;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_SINGLE_WRITER_H_
