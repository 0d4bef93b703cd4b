// Free runs of an address range, handed out lowest address first.
//
// Idea: address-ordered first fit, as simple as the device's own and reproducible.
// Ownership: numbers only. Threads: the owner's lock. Errors: false or 0 where nothing fits.
// Units: bytes.
#ifndef VRAMSTOW_BASE_RANGE_ALLOCATOR_H_
#define VRAMSTOW_BASE_RANGE_ALLOCATOR_H_

#include <cstdint>
#include <map>

namespace vramstow {

class RangeAllocator {
 public:
  // Adds [start, start + size) to what is free. It joins with its neighbours.
  void Add(uint64_t start, uint64_t size);

  // Takes `size` bytes at a multiple of `alignment` (a power of two). 0: nothing fits.
  uint64_t Take(uint64_t size, uint64_t alignment);

  // Takes exactly [start, start + size). False: not all of it is free.
  bool TakeAt(uint64_t start, uint64_t size);

 private:
  using FreeMap = std::map<uint64_t, uint64_t>;

  void Carve(FreeMap::iterator run, uint64_t start, uint64_t size);

  FreeMap free_;  // start -> size; runs never touch each other
};

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_RANGE_ALLOCATOR_H_
