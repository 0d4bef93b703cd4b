// Reads the thread pointer, from which the processor addresses each thread's own storage.
//
// Idea: a thread_local of a program, or of a library loaded with it, has the same distance from
// this pointer in each thread (ELF Handling For Thread-Local Storage, the initial-exec model). So
// it is found without a function call. Ownership: none. Threads: each has its own. Errors: none.
// Units: addresses.
#ifndef VRAMSTOW_TRACER_THREAD_POINTER_H_
#define VRAMSTOW_TRACER_THREAD_POINTER_H_

#include <cstdint>

namespace vramstow {

#if defined(__x86_64__)
inline constexpr bool kHasThreadPointer = true;
inline uintptr_t ThreadPointer() {
  uintptr_t pointer;
  asm("mov %%fs:0, %0" : "=r"(pointer));
  return pointer;
}
#elif defined(__aarch64__)
inline constexpr bool kHasThreadPointer = true;
inline uintptr_t ThreadPointer() {
  uintptr_t pointer;
  asm("mrs %0, tpidr_el0" : "=r"(pointer));
  return pointer;
}
#else
inline constexpr bool kHasThreadPointer = false;
inline uintptr_t ThreadPointer() { return 0; }
#endif

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_THREAD_POINTER_H_
