// Starts a thread of vramstow's own in a foreign process.
//
// Ownership: none; the thread is detached, and `argument` must live as long as it runs. Threads:
// any. Errors: false if there is no thread. Units: bytes.
#ifndef VRAMSTOW_BASE_DETACHED_THREAD_H_
#define VRAMSTOW_BASE_DETACHED_THREAD_H_

#include <cstddef>

namespace vramstow {

// Runs run(argument) in a new thread. The program's signals do not reach this thread. The thread
// has `stack_bytes` for itself, beside the thread-local variables of the program.
bool StartDetachedThread(void* (*run)(void*), void* argument, size_t stack_bytes);

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_DETACHED_THREAD_H_
