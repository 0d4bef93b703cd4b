// EventOrder: what puts the events of all threads in order.
//
// Idea: where the kernel trusts the processor's counter, the counter is read for each event
// (clock.h), and threads share no word that any of them writes to. Elsewhere one atomic counter
// numbers the events of all threads.
//
// Ownership: values; the counter of numbers lies with the caller, on a cache line of its own.
// Threads: Start once, the rest by all at any time. Errors: none. No heap. Units: ticks,
// nanoseconds.
#ifndef VRAMSTOW_TRACER_EVENT_ORDER_H_
#define VRAMSTOW_TRACER_EVENT_ORDER_H_

#include <atomic>
#include <cstdint>

#include "tracer/clock.h"
#include "tracer/format/layout.h"

namespace vramstow {

class EventOrder {
 public:
  // Sets time 0 to now. `last_number` is zero and lives as long as this.
  void Start(bool may_use_counter, std::atomic<uint64_t>* last_number) {
    clock_.Start(may_use_counter);
    by_ticks_ = clock_.counter_is_trusted();
    last_number_ = last_number;
  }

  const TraceClock& clock() const { return clock_; }
  // Whether ticks put events in order; else numbers do.
  bool by_ticks() const { return by_ticks_; }

  uint64_t TakeNumber() { return last_number_->fetch_add(1, std::memory_order_acq_rel) + 1; }
  uint64_t last_number() const { return last_number_->load(std::memory_order_acquire); }

  // The place in the order that an event of no buffer would have now.
  uint64_t PlaceOfNext() const {
    return by_ticks_ ? OrderOf(clock_.Ticks(), 0) : last_number_->load() + 1;
  }

 private:
  TraceClock clock_;
  bool by_ticks_ = false;
  std::atomic<uint64_t>* last_number_ = nullptr;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_EVENT_ORDER_H_
