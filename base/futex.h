// Waiting for a word in memory to change (futex(2)).
//
// Ownership: none. Threads: any; with FutexScope::kShared also of other processes that map the
// word. Errors: a wait may end without a reason, so callers look at the word again. errno may
// change. Units: nanoseconds.
#ifndef VRAMSTOW_BASE_FUTEX_H_
#define VRAMSTOW_BASE_FUTEX_H_

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "base/monotonic_clock.h"

namespace vramstow {

enum class FutexScope : int { kProcess = FUTEX_PRIVATE_FLAG, kShared = 0 };

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

// Sleeps while the word has this value, until another thread wakes this one.
inline void FutexWait(const std::atomic<uint32_t>* word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

// Sleeps while the word has this value, at most `most_ns`.
inline void FutexWaitUpTo(const std::atomic<uint32_t>* word, uint32_t value, uint64_t most_ns,
                          FutexScope scope = FutexScope::kProcess) {
  const timespec most = ToTimespec(most_ns);
  syscall(SYS_futex, word, FUTEX_WAIT | static_cast<int>(scope), value, &most, nullptr, 0);
}

inline void FutexWakeOne(std::atomic<uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

inline void FutexWakeAll(std::atomic<uint32_t>* word, FutexScope scope = FutexScope::kProcess) {
  syscall(SYS_futex, word, FUTEX_WAKE | static_cast<int>(scope), INT32_MAX, nullptr, nullptr, 0);
}

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_FUTEX_H_
