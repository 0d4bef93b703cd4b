// The thread that records alone need not wait for its counter.
//
// What puts events in order is that the counter is read behind a fence: not before what the thread
// has seen of others (clock.h). The fence is half of what an event costs. But most of the time only
// one thread records, and there is nothing that its events could be out of order with. So a buffer
// can become the *sole* one; its thread reads the counter without the fence as long as it finds the
// buffer's name in `sole_`. Any other thread takes the name away before it records.
//
// That this is right: let X be an event of another thread that is over, as the sole thread could
// know, before its event Y begins.
// - X's thread took the name away first. Then the sole thread, which has seen something that came
//   after X, finds the name gone, because loads are seen in the order of the program (x86), and
//   waits as others do.
// - Or X's thread found no name there, after it had read the counter, and the name came later.
//   Whoever writes the name has the kernel put a barrier into all threads of the process
//   (membarrier(2)) and then reads the counter behind a fence, and Y is later than that. X's thread
//   had looked before that barrier, and read the counter before it looked.
// The other way round, Y before X, X's thread reads the counter behind a fence, after it has seen
// something that Y's thread wrote when it had read its own.
#include <atomic>

#include "tracer/recorder_state.h"

namespace vramstow {
namespace {

// Who was alone for so long will be alone. Not shorter: a barrier interrupts all running threads.
constexpr uint64_t kAloneNs = 10'000'000;

}  // namespace

// Takes the name away from whoever has it. Its thread needs not be told.
void RecorderState::EndSole(const ThreadBuffer* except) {
  ThreadBuffer* sole = sole_.load(std::memory_order_relaxed);
  while (sole != nullptr && sole != except) {
    if (sole_.compare_exchange_weak(sole, nullptr, std::memory_order_seq_cst)) return;
  }
}

// The counter behind a fence, for an event of this buffer.
uint64_t RecorderState::OrderedTicks(const ThreadBuffer* buffer) {
  for (;;) {
    const uint64_t ticks = clock_.Ticks();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const ThreadBuffer* const sole = sole_.load(std::memory_order_relaxed);
    if (sole == nullptr || sole == buffer) [[likely]]
      return ticks;
    EndSole(buffer);
  }
}

// Called now and then by each thread that records, at the time `now`; what it records next has a
// time that is read later, behind a fence.
void RecorderState::ConsiderSole(ThreadBuffer* buffer, const TraceClock::Reading& now) {
  if (!kHasQuickCounter || way_.load(std::memory_order_relaxed) != Way::kShort) return;
  if (now.ticks < buffer->alone_from) return;
  buffer->alone_from = now.ticks + TraceClock::TicksOf(kAloneNs, now);
  // Twice in turn the same thread: none of the others was here between.
  const bool was_last = last_considered_.exchange(buffer, std::memory_order_relaxed) == buffer;
  ThreadBuffer* none = nullptr;
  if (was_last && sole_.compare_exchange_strong(none, buffer, std::memory_order_seq_cst) &&
      !BarrierOnAllThreads()) {
    EndSole(nullptr);
  }
}

}  // namespace vramstow
