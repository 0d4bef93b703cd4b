// WithPython: runs something while Python's lock is held, or goes without.
//
// Idea: a thread that ran out of memory may hold the lock, may have given it away, or may never
// have had it. Where it does not hold the lock, another thread waits for it, because nobody can
// wait for that lock with an end. The caller waits for that thread, and only for so long: who holds
// the lock may be waiting for the caller.
//
// Ownership: none. Threads: any. Errors: false. Units: milliseconds.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_WITH_PYTHON_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_WITH_PYTHON_H_

#include <chrono>
#include <cstdint>
#include <functional>

namespace vramstow::torch_census {

// False: the lock was not to be had in time, or `run` threw; then nothing of it goes on. What `run`
// takes has no end of its own here.
bool WithPython(std::chrono::milliseconds patience, const std::function<void()>& run);

enum class Asked : uint8_t {
  kDone,
  kNotHad,    // the lock, in time: nothing of it goes on
  kLeftAlone  // it still runs
};
// The same, always by another thread, which is waited for no longer than `longest`; `run` has to
// stay usable without the caller. The caller does not hold Python's lock.
Asked AskPython(std::chrono::milliseconds patience, std::chrono::milliseconds longest,
                std::function<void()> run);

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_WITH_PYTHON_H_
