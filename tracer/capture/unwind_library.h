// UnwindLibrary: libunwind, as a private copy that no other code of the process can see.
//
// Idea: our own walk (native_stack.h) knows most frames by one word each. Where a frame needs more
// than such a word says (other registers, DWARF expressions), libunwind steps over it. libunwind's
// symbols must never be global in the host process, where they would stand in front of backtrace()
// and _Unwind_RaiseException(). So the build makes a copy with a name of its own, and it is opened
// at run time with RTLD_LOCAL. Where it is missing, or the system's glibc is too old for it, a walk
// ends at such a frame, as it would without it.
//
// Ownership: the library stays open for the life of the process. Threads: any, at the same time.
// Errors: false. No heap of the process: libunwind's caches are mapped memory; what it needs at its
// first use is made by Open. Locks: libunwind's own, which it takes with all signals masked, and
// the dynamic linker's for its list of libraries (dl_iterate_phdr); so callers must hold none that
// a thread inside the dynamic linker could wait for. Units: addresses.
#ifndef VRAMSTOW_TRACER_CAPTURE_UNWIND_LIBRARY_H_
#define VRAMSTOW_TRACER_CAPTURE_UNWIND_LIBRARY_H_

#include <cstddef>
#include <cstdint>

namespace vramstow {

struct FramePlace;

class UnwindLibrary {
 public:
  // As dlopen and dlsym, which the caller gives, because it knows how to get past their wrappers.
  using OpenFunction = void* (*)(const char* file, int mode);
  using FindFunction = void* (*)(void* handle, const char* name);

  // Opens the copy at this path, once per process. Asks the dynamic linker. False: it cannot be
  // used.
  static bool Open(const char* path, OpenFunction open, FindFunction find);
  // Null: it was not opened.
  static const UnwindLibrary* Opened();

  // The caller of a frame that is on the calling thread's stack. False: it is not found, or it has
  // none.
  bool StepOver(const FramePlace& frame, FramePlace* caller) const;

  // The calling thread's stack from the caller of this function on: where the code of each frame
  // goes on. Gives the count. For tests and benchmarks.
  size_t Walk(uintptr_t* addresses, size_t max) const;
  // The same by libunwind's quick way (unw_backtrace), which gives no more than these.
  size_t WalkQuickly(uintptr_t* addresses, size_t max) const;

  // A library was unloaded: what was learnt of its code is not true any more.
  void ForgetCode() const;

 private:
  bool Load(void* handle, FindFunction find);

  // libunwind's functions. `void*` stands for its types, which its header alone knows.
  int (*get_context_)(void* context) = nullptr;
  int (*begin_)(void* cursor, void* context, int flags) = nullptr;
  int (*step_)(void* cursor) = nullptr;
  int (*get_register_)(void* cursor, int number, uintptr_t* value) = nullptr;
  int (*backtrace_)(void** addresses, int max) = nullptr;
  void (*flush_)(void* space, uintptr_t low, uintptr_t high) = nullptr;
  void** space_ = nullptr;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CAPTURE_UNWIND_LIBRARY_H_
