// Numbers that one thread at a time writes and everybody reads.
//
// Ownership: none. Threads: the writer holds the lock that guards the number. Units: the number's.
#ifndef VRAMSTOW_ALLOCATOR_CORE_COUNTER_H_
#define VRAMSTOW_ALLOCATOR_CORE_COUNTER_H_

#include <atomic>
#include <cstdint>

namespace vramstow {

// Adds to a number that only the holder of a lock writes: no atomic instruction is needed.
inline void Bump(std::atomic<uint64_t>* value, uint64_t amount) {
  value->store(value->load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

// Subtracts from such a number.
inline void Subtract(std::atomic<uint64_t>* value, uint64_t amount) {
  value->store(value->load(std::memory_order_relaxed) - amount, std::memory_order_relaxed);
}

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_CORE_COUNTER_H_
