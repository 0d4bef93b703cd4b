// StackBounds is the memory range of a thread's stack, which no walk may leave.
//
// Idea: an unwinding rule that is left over from an unloaded library may yield any address.
// Following it does no harm as long as the address lies in the mapping that contains the stack
// pointer. The kernel is asked once for the range of each stack on which a thread runs.
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
  // Sets the range to the mapping that contains the address. The range is empty if there is no such
  // mapping.
  void Find(uintptr_t address);
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CAPTURE_STACK_BOUNDS_H_
