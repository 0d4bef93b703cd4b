// WithPython runs a function while Python's lock is held, or gives up.
//
// Idea: a thread that ran out of memory may hold the lock, may have released it, or may never have
// had it. If it does not hold the lock, another thread waits for it, because it is not possible to
// wait for that lock with a time limit. The caller waits for that thread, but only for a limited
// time, because the holder of the lock may be waiting for the caller.
//
// Ownership: none. Threads: any. Errors: false. Units: milliseconds.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_WITH_PYTHON_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_WITH_PYTHON_H_

#include <chrono>
#include <cstdint>
#include <functional>

namespace vramstow::torch_census {

// True if this thread holds Python's lock. PyGILState_Check alone is not enough: once there was a
// second interpreter, it returns true in every thread.
bool HasPythonsLock();

// Returns false if the lock was not free in time (then `run` is never called), or if `run` threw.
// There is no time limit for `run` itself.
bool WithPython(std::chrono::milliseconds patience, const std::function<void()>& run);

enum class Asked : uint8_t {
  kDone,
  kNotHad,    // the lock was not free in time; nothing continues
  kLeftAlone  // the work is still running
};
// Runs `run` in another thread while that thread holds Python's lock. Waits at most `patience` for
// the lock and at most `longest` for the end of `run`, which must not depend on the caller's
// lifetime. The caller does not hold Python's lock.
Asked AskPython(std::chrono::milliseconds patience, std::chrono::milliseconds longest,
                std::function<void()> run);

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_WITH_PYTHON_H_
