// Whether vramstow takes part in this process: from the first look-up, past fork, to the exit.
//
// Idea: a call is let in only while the process is active. A forked child is not: the driver's
// state did not come along, and the trace is the parent's. It becomes active when it initialises
// CUDA itself. That a fork happened is seen in two ways: by pthread_atfork, and, for those who call
// clone themselves, by a page of memory that the kernel empties in a child (where the kernel cannot
// do that, by the process id).
//
// Ownership: static storage, never destroyed. Threads: any. Errors: a process whose settings are
// wrong is refused for good. Units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_PROCESS_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_PROCESS_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "base/options.h"
#include "interpose/core/runtime/hook_table.h"

namespace vramstow {

class Process {
 public:
  // `abandon` forgets what belongs to the parent: called in a forked child, async-signal-safe.
  constexpr explicit Process(void (*abandon)()) : abandon_(abandon) {}
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Reads the settings and watches for forks; the first caller does it, the others wait for it.
  // False where the settings are wrong (the first caller has said so on stderr).
  bool Start();

  // Whether a wrapper may do anything of its own for this call.
  bool Admits(Hook hook) {
    if (!IsSameProcess()) [[unlikely]] {
      EnterChild();
    }
    const State state = state_.load(std::memory_order_relaxed);
    return state == State::kActive || (state == State::kForked && AdmitsForked(hook)) ||
           (state == State::kFinished && AdmitsFinished(hook));
  }

  // CUDA was initialised in this process: a forked child is a process of its own from here on.
  void Wake();

  // The end. False if it was there before, or nothing ever began.
  bool Finish();

  bool is_forked_child() const { return state_.load(std::memory_order_relaxed) == State::kForked; }

  // Valid once Start has returned true.
  const Options& options() const { return *options_.load(std::memory_order_relaxed); }

 private:
  enum class State : uint8_t { kNew, kStarting, kActive, kForked, kRefused, kFinished };

  bool IsSameProcess() const {
    const uint32_t* mark = fork_mark_.load(std::memory_order_relaxed);
    if (mark != nullptr) [[likely]]
      return __atomic_load_n(mark, __ATOMIC_RELAXED) != 0;
    return IsSameProcessId();
  }
  bool IsSameProcessId() const;
  // What a forked child may do before it has initialised CUDA: look functions up, and that.
  static bool AdmitsForked(Hook hook);
  // What is still done after the end: memory of the pool is unknown to the driver, so nobody else
  // can take it back.
  static bool AdmitsFinished(Hook hook);
  void WatchForForks();
  void EnterChild();

  void (*const abandon_)();
  std::atomic<const Options*> options_{nullptr};
  std::atomic<State> state_{State::kNew};
  std::atomic<uint32_t*> fork_mark_{nullptr};
  std::atomic<pid_t> process_id_{0};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_PROCESS_H_
