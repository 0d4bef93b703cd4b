// RangeAllocator: the free runs of an address range, allocated from the lowest address on.
//
// Idea: it uses address-ordered first fit, which is as simple as the device's own allocator, and
// reproducible.
//
// Ownership: numbers only. Threads: guarded by the owner's lock. Errors: returns false or 0 if
// nothing fits. Units: bytes.
#ifndef VRAMSTOW_BASE_RANGE_ALLOCATOR_H_
#define VRAMSTOW_BASE_RANGE_ALLOCATOR_H_

#include <cstdint>
#include <map>

namespace vramstow {

class RangeAllocator {
 public:
  // Adds [start, start + size) to the free runs and joins it with the free runs beside it.
  void Add(uint64_t start, uint64_t size);

  // Allocates `size` bytes at a multiple of `alignment` (a power of two). Returns 0 if no free run
  // is large enough.
  uint64_t Take(uint64_t size, uint64_t alignment);

  // Allocates exactly [start, start + size). Returns false if it is not entirely free.
  bool AllocateAt(uint64_t start, uint64_t size);

 private:
  using FreeMap = std::map<uint64_t, uint64_t>;

  void Carve(FreeMap::iterator run, uint64_t start, uint64_t size);

  FreeMap free_;  // start -> size; no two runs are adjacent
};

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_RANGE_ALLOCATOR_H_
