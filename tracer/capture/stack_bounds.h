// StackBounds is the memory range of a thread's stack, which no walk may leave.
//
// Idea: a wrong rule, left over from an unloaded library, may point anywhere. As long as it points
// into the mapping that contains the stack pointer, following it does no harm. The kernel is asked
// once for each stack on which a thread is found.
//
// Ownership: values. Threads: one at a time. Errors: an empty range. No heap, no lock. Units:
// bytes.
#ifndef VRAMSTOW_TRACER_CAPTURE_STACK_BOUNDS_H_
#define VRAMSTOW_TRACER_CAPTURE_STACK_BOUNDS_H_

#include <cstddef>
#include <cstdint>

namespace vramstow {

struct StackBounds {
  uintptr_t begin = 0;
  uintptr_t end = 0;

  bool Has(uintptr_t address) const { return address - begin < end - begin; }
  // True if eight bytes can be read at this address.
  bool HasWord(uintptr_t address) const {
    return Has(address) && end - address >= 8 && address % 8 == 0;
  }
  // Sets the range to the mapping that contains the address; empty if there is none.
  void Find(uintptr_t address);
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CAPTURE_STACK_BOUNDS_H_
