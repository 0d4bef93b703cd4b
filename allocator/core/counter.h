// Counters that one thread at a time writes and any thread reads.
//
// Ownership: none. Threads: the writer holds the lock that guards the counter. Units: the unit of
// the counter.
#ifndef VRAMSTOW_ALLOCATOR_CORE_COUNTER_H_
#define VRAMSTOW_ALLOCATOR_CORE_COUNTER_H_

#include <atomic>
#include <cstdint>

namespace vramstow {

// Adds to a counter that only the holder of a lock writes, so no atomic instruction is needed.
inline void Bump(std::atomic<uint64_t>* value, uint64_t amount) {
  value->store(value->load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

// Subtracts from a counter that only the holder of a lock writes.
inline void Subtract(std::atomic<uint64_t>* value, uint64_t amount) {
  value->store(value->load(std::memory_order_relaxed) - amount, std::memory_order_relaxed);
}

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_CORE_COUNTER_H_
