// UnwindLibrary is libunwind, as a private copy that no other code of the process can see.
//
// Idea: our own walk (native_stack.h) describes most frames by one word each. If a frame needs more
// than such a word can express (other registers, DWARF expressions), libunwind steps over it.
// libunwind's symbols must never be global in the host process, where they would precede
// backtrace() and _Unwind_RaiseException(). So the build makes a copy with another name, which is
// opened at run time with RTLD_LOCAL. If it is missing, or the system's glibc is too old for it, a
// walk ends at such a frame.
//
// Ownership: the library stays open for the life of the process. Threads: any, at the same time.
// Errors: false. No heap of the process: libunwind's caches are mapped memory, and Open makes it
// allocate what it needs at its first use. Locks: libunwind's own, which it takes with all signals
// masked, and the dynamic linker's for its list of libraries (dl_iterate_phdr); so callers must
// hold no lock that a thread inside the dynamic linker could wait for. Units: addresses.
#ifndef VRAMSTOW_TRACER_CAPTURE_UNWIND_LIBRARY_H_
#define VRAMSTOW_TRACER_CAPTURE_UNWIND_LIBRARY_H_

#include <cstddef>
#include <cstdint>

namespace vramstow {

struct FramePlace;

class UnwindLibrary {
 public:
  // Functions with the signatures of dlopen and dlsym. The caller passes them, because it can call
  // the real functions and bypass wrappers of other libraries.
  using OpenFunction = void* (*)(const char* file, int mode);
  using FindFunction = void* (*)(void* handle, const char* name);

  // Opens the copy at this path, once per process. Calls the dynamic linker. Returns false if the
  // copy cannot be used.
  static bool Open(const char* path, OpenFunction open, FindFunction find);
  // Returns null if the library was not opened.
  static const UnwindLibrary* Opened();

  // Finds the caller of a frame that is on the calling thread's stack. Returns false if the frame
  // has no caller, or if the caller cannot be found.
  bool StepOver(const FramePlace& frame, FramePlace* caller) const;

  // Stores the return addresses of the calling thread's stack, from the caller of this function on.
  // Returns their number. For tests and benchmarks.
  size_t Walk(uintptr_t* addresses, size_t max) const;
  // Stores the return addresses as Walk does, but by libunwind's fast function (unw_backtrace),
  // which returns addresses only.
  size_t WalkQuickly(uintptr_t* addresses, size_t max) const;

  // Makes libunwind remove all that it has cached about code. Called when a library was unloaded.
  void ForgetCode() const;

 private:
  bool Load(void* handle, FindFunction find);

  // libunwind's functions. `void*` stands for its types, which only its own header defines.
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
