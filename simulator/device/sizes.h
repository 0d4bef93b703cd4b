// Adds and multiplies sizes that a program gave.
//
// Idea: a result that does not fit into 64 bits becomes the largest number, and stays that through
// further sums and products. No memory is that large, so the check that follows refuses it.
//
// Ownership: none. Threads: pure functions. Errors: none. Units: those of the caller.
#ifndef VRAMSTOW_SIMULATOR_DEVICE_SIZES_H_
#define VRAMSTOW_SIMULATOR_DEVICE_SIZES_H_

#include <cstdint>

namespace vramstow::simulator {

inline constexpr uint64_t kHugeSize = ~uint64_t{0};

constexpr uint64_t AddSizes(uint64_t one, uint64_t other) {
  uint64_t sum = 0;
  return __builtin_add_overflow(one, other, &sum) ? kHugeSize : sum;
}

constexpr uint64_t MultiplySizes(uint64_t one, uint64_t other) {
  uint64_t product = 0;
  return __builtin_mul_overflow(one, other, &product) ? kHugeSize : product;
}

// True if [address, address + size) ends within the 64 bits of an address.
constexpr bool EndsInAddresses(uint64_t address, uint64_t size) {
  return address + size >= address;
}

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DEVICE_SIZES_H_
