// SingleWriter lets a thread that records alone read the counter without waiting.
//
// Idea: events are in order because the counter is read behind a fence, and so not before the
// thread has seen earlier stores of other threads (clock.h). The fence is half of the cost of an
// event. But most of the time only one thread records, and its events cannot be out of order with
// others. So one buffer can become the *single writer*. Its thread reads the counter without the
// fence as long as it finds its buffer here. Any other thread clears this mark before it records.
//
// Proof: let X be an event of another thread that has ended, in a way that the single writer could
// notice, before the single writer's event Y begins.
// - Either X's thread cleared the mark first. Then the single writer has seen a store that came
//   after X. Loads are seen in program order (x86), so it finds the mark cleared, and uses the
//   fence like other threads.
// - Or X's thread found no mark after it had read the counter, and the mark was set later. The
//   thread that sets the mark has the kernel execute a barrier in all threads of the process
//   (thread_barrier.h) and then reads the counter behind a fence, and Y is later than that. X's
//   thread looked for the mark before that barrier, and read the counter before it looked.
// In the opposite case, Y before X, X's thread reads the counter behind a fence, after it has seen
// a store that Y's thread made after it had read its own counter.
//
// Ownership: none of the buffers. Threads: Start once, all other functions by all threads at any
// time; Consider and OrderedTicks by the buffer's thread. Errors: none. No heap, no locks. Units:
// ticks. x86-64 only: on other processors there is never a single writer.
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

  // Returns the single writer, or null if there is none.
  const ThreadBuffer* buffer() const { return buffer_.load(std::memory_order_relaxed); }

  // Reads the counter behind a fence, for an event of this buffer. Afterwards no other buffer is
  // the single writer.
  uint64_t OrderedTicks(const ThreadBuffer* buffer);

  // Called from time to time by each thread in a fast mode, at the time `now`. It may make the
  // thread's buffer the single writer. The thread reads the time of its next event later, behind a
  // fence.
  void Consider(ThreadBuffer* buffer, const TraceClock::Reading& now);

  // Called when the buffer's thread ends.
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
