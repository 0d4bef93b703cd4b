// Functions that round sizes and addresses up to whole units: pages, chunks, blocks.
//
// Ownership: none. Threads: pure functions, safe in a signal handler and inside hooked calls.
// Errors: none; a result past 2^64 - 1 wraps. Units: those of the caller.
#ifndef VRAMSTOW_BASE_ROUNDING_H_
#define VRAMSTOW_BASE_ROUNDING_H_

#include <cstdint>

namespace vramstow {

// Returns how many units hold the value. `unit` is not 0.
constexpr uint64_t DivideUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit; }

// Returns the smallest multiple of `unit` that is not below the value. `unit` is not 0.
constexpr uint64_t RoundUp(uint64_t value, uint64_t unit) { return DivideUp(value, unit) * unit; }

// Returns the smallest multiple of `power`, a power of two, that is not below the value. It needs
// no division even if `power` is not a constant.
constexpr uint64_t AlignUp(uint64_t value, uint64_t power) {
  return (value + power - 1) & ~(power - 1);
}

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_ROUNDING_H_
