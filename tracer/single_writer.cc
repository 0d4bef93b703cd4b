#include "tracer/single_writer.h"

#include "tracer/thread_barrier.h"
#include "tracer/thread_buffer.h"

namespace vramstow {
namespace {

// A thread becomes the single writer only after it has recorded alone for this time. With a shorter
// time there would be more barriers, which interrupt all running threads.
constexpr uint64_t kAloneNs = 10'000'000;

}  // namespace

// Ends the role of the single writer (the one buffer that records without a fence), unless it is
// `except`. The thread of that buffer notices this at its next event.
void SingleWriter::EndUnless(const ThreadBuffer* except) {
  const ThreadBuffer* single = buffer_.load(std::memory_order_relaxed);
  while (single != nullptr && single != except) {
    if (buffer_.compare_exchange_weak(single, nullptr, std::memory_order_seq_cst)) return;
  }
}

uint64_t SingleWriter::OrderedTicks(const ThreadBuffer* buffer) {
  for (;;) {
    const uint64_t ticks = clock_->CheckedTicks();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const ThreadBuffer* const single = buffer_.load(std::memory_order_relaxed);
    if (single == nullptr || single == buffer) [[likely]]
      return ticks;
    EndUnless(buffer);
  }
}

void SingleWriter::Consider(ThreadBuffer* buffer, const TraceClock::Reading& now) {
  if (!kHasQuickCounter || now.ticks < buffer->alone_from) return;
  buffer->alone_from = now.ticks + TraceClock::TicksOf(kAloneNs, now);
  // If the same thread calls this twice in a row, no other thread has recorded in between.
  const bool was_last = last_considered_.exchange(buffer, std::memory_order_relaxed) == buffer;
  const ThreadBuffer* none = nullptr;
  if (was_last && buffer_.compare_exchange_strong(none, buffer, std::memory_order_seq_cst) &&
      !BarrierOnAllThreads()) {
    EndUnless(nullptr);
  }
}

}  // namespace vramstow
