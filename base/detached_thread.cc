#include "base/detached_thread.h"

#include <link.h>
#include <pthread.h>
#include <signal.h>

#include "base/rounding.h"

namespace vramstow {
namespace {

// Returns at least as many bytes as the C library takes out of the stack of each thread: the
// thread-local variables of all libraries, and the library's own description of the thread. (glibc
// has a function that returns the number, but it is not for programs.)
size_t BytesOfThreadLocals() {
  constexpr size_t kOwnBytes = 16 * 1024;
  size_t bytes = kOwnBytes;
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* sum) {
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const ElfW(Phdr)& part = object->dlpi_phdr[i];
          if (part.p_type == PT_TLS) *static_cast<size_t*>(sum) += part.p_memsz + part.p_align;
        }
        return 0;
      },
      &bytes);
  constexpr size_t kPageBytes = 4096;
  return RoundUp(bytes, kPageBytes);
}

}  // namespace

bool StartDetachedThread(void* (*run)(void*), void* argument, size_t stack_bytes) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, stack_bytes + BytesOfThreadLocals());
  // The program's signals must reach its own threads only. The new thread inherits this mask.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool is_started = pthread_create(&thread, &attributes, run, argument) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return is_started;
}

}  // namespace vramstow
