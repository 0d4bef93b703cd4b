// StackBounds: the piece of memory that a thread's stack lies in, so that no walk leaves it.
//
// Idea: a wrong rule, left over from a library that is gone, may lead anywhere; within the mapping
// that holds the stack pointer it can be followed without harm. The kernel is asked once for each
// stack that a thread is seen on.
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
  // Whether eight bytes can be read there.
  bool HasWord(uintptr_t address) const {
    return Has(address) && end - address >= 8 && address % 8 == 0;
  }
  // Makes this the mapping that holds the address; empty if it is in none.
  void Find(uintptr_t address);
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CAPTURE_STACK_BOUNDS_H_
