// CodeWatch: how many of Python's code objects are gone.
//
// Idea: where a code object lies, no other one lies while it lives. So the place in the code at
// which a frame stands says which code that is, as long as no code object has gone in between. To
// learn the same from the code object itself means to read memory in five places, for each frame of
// each stack. Programs make their code once and keep it; those that do not are counted here: the
// type of code objects says which function takes one apart (PyTypeObject.tp_dealloc), and ours,
// which stands there from Begin on, counts one and calls the function that was there.
//
// Ownership: that one word of the interpreter's, for the rest of the process; the library with this
// code must stay loaded. Threads: Begin by one at a time, with or without the interpreter's lock;
// count by any. Errors: see Begin. No heap, no lock. Units: code objects.
#ifndef VRAMSTOW_TRACER_CAPTURE_CODE_WATCH_H_
#define VRAMSTOW_TRACER_CAPTURE_CODE_WATCH_H_

#include <atomic>
#include <cstdint>

namespace vramstow {

class CodeWatch {
 public:
  // Does nothing where the type is not what it should be: then nobody counts.
  static void Begin(const void* code_type);

  // One more than are gone since Begin; 0: nobody counts.
  static uint64_t count() { return count_.load(std::memory_order_relaxed); }

 private:
  static void OnEnd(void* code);

  static std::atomic<uint64_t> count_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CAPTURE_CODE_WATCH_H_
