// EventOrder orders the events of all threads.
//
// Idea: if the kernel trusts the processor's counter, the counter is read for each event (clock.h),
// and threads share no word that any of them writes to. Otherwise one atomic counter numbers the
// events of all threads.
//
// Ownership: values; the caller owns the atomic counter, which lies on a separate cache line.
// Threads: Start once, all other functions by all threads at any time. Errors: none. No heap.
// Units: ticks, nanoseconds.
#ifndef VRAMSTOW_TRACER_EVENT_ORDER_H_
#define VRAMSTOW_TRACER_EVENT_ORDER_H_

#include <atomic>
#include <cstdint>

#include "tracer/clock.h"
#include "tracer/format/layout.h"

namespace vramstow {

class EventOrder {
 public:
  // Starts the order: the present moment becomes time 0. `last_number` is zero now and outlives
  // this object.
  void Start(bool may_use_counter, std::atomic<uint64_t>* last_number) {
    clock_.Start(may_use_counter);
    by_ticks_ = clock_.counter_is_trusted();
    last_number_ = last_number;
  }

  const TraceClock& clock() const { return clock_; }
  // True if ticks order the events; otherwise numbers do.
  bool by_ticks() const { return by_ticks_; }

  uint64_t NextNumber() { return last_number_->fetch_add(1, std::memory_order_acq_rel) + 1; }
  uint64_t last_number() const { return last_number_->load(std::memory_order_acquire); }

  // Returns the sequence that an event outside all buffers would get now.
  uint64_t PlaceOfNext() const {
    return by_ticks_ ? OrderOf(clock_.CheckedTicks(), 0) : last_number_->load() + 1;
  }

 private:
  TraceClock clock_;
  bool by_ticks_ = false;
  std::atomic<uint64_t>* last_number_ = nullptr;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_EVENT_ORDER_H_
