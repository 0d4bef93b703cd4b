// _exit() and _Exit(), by which a process ends without exit handlers: so do forked children of
// Python's multiprocessing, and programs that call os._exit().
//
// Idea: the core notes in the trace that the process ended by itself, and with which status. The
// trace is not closed, because the caller may be a signal handler, or may hold any lock.
//
// Ownership: none. Threads: any, also in signal handlers and in a child of vfork(): no function
// here takes a lock or uses the heap. Errors: none. Units: none.
#include <unistd.h>

#include "interpose/shim/core_loader.h"
#include "interpose/shim/objects.h"

namespace vramstow {
namespace {

[[noreturn]] void EndBy(const char* name, int status) {
  if (const VramstowCore* core = OpenedCore()) core->note_exit(status);
  // Another library may define the function, too, to write its results before the end. If the shim
  // is not preloaded but opened later, it comes after glibc in search order.
  void* next = NextDefinition(name);
  if (next == nullptr) next = LibcDefinition(name);
  if (next != nullptr) reinterpret_cast<void (*)(int)>(next)(status);
  __builtin_trap();  // every glibc defines the function
}

}  // namespace
}  // namespace vramstow

extern "C" {

[[noreturn]] __attribute__((visibility("default"))) void _exit(int status) {
  vramstow::EndBy("_exit", status);
}

[[noreturn]] __attribute__((visibility("default"))) void _Exit(int status) {
  vramstow::EndBy("_Exit", status);
}

}  // extern "C"
