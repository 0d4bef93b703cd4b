// CodeWatch counts how many of Python's code objects were destroyed.
//
// Idea: no other code object can lie at the address of a living one. So the instruction address of
// a frame identifies the frame's code as long as no code object was destroyed meanwhile. To
// identify it by the code object itself, five memory locations would have to be read for each frame
// of each stack. Most programs make their code once and retain it. To notice programs that destroy
// code, CodeWatch replaces the destructor in the type of code objects (PyTypeObject.tp_dealloc) by
// a function that counts and then calls the original one.
//
// Ownership: the destructor field of that type, for the rest of the process; the library with this
// code must stay loaded. Threads: Begin by one at a time, with or without the interpreter's lock;
// count by any. Errors: see Begin. No heap, no lock. Units: code objects.
#ifndef VRAMSTOW_TRACER_CAPTURE_CODE_WATCH_H_
#define VRAMSTOW_TRACER_CAPTURE_CODE_WATCH_H_

#include <atomic>
#include <cstdint>

namespace vramstow {

class CodeWatch {
 public:
  // Installs the function that counts. Does nothing if the type does not look as expected; nothing
  // is counted in that case.
  static void Begin(const void* code_type);

  // Returns one plus the number of code objects destroyed since Begin, or 0 if nothing is counted.
  static uint64_t count() { return count_.load(std::memory_order_relaxed); }

 private:
  static void OnEnd(void* code);

  static std::atomic<uint64_t> count_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CAPTURE_CODE_WATCH_H_
