// Process decides whether vramstow is active in this process, from the first look-up, across forks,
// to the exit.
//
// Idea: a wrapper handles a call only while the process is active. A forked child is not active: it
// has none of the driver's state, and the trace is the parent's. It becomes active when it
// initialises CUDA itself. vramstow notices a fork in two ways: by pthread_atfork, and, for
// programs that call clone themselves, by a page of memory that the kernel empties in a child
// (where the kernel cannot do that, by the process id).
//
// Ownership: static storage, never destroyed. Threads: any. Errors: a process with invalid settings
// is refused for good. Units: none.
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
  // Makes a process object. `abandon` is called in a forked child and forgets what belongs to the
  // parent. It must be async-signal-safe.
  constexpr explicit Process(void (*abandon)()) : abandon_(abandon) {}
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Reads the settings and prepares for forks. The first caller does this, and other threads wait
  // for it. Returns false if the settings are invalid, which the first caller has logged.
  bool Start();

  // Returns true if a wrapper may handle this call, rather than only pass it on.
  bool Admits(Hook hook) {
    if (!IsSameProcess()) [[unlikely]] {
      EnterChild();
    }
    const State state = state_.load(std::memory_order_relaxed);
    return state == State::kActive || (state == State::kForked && AdmitsForked(hook)) ||
           (state == State::kFinished && AdmitsFinished(hook));
  }

  // Called when CUDA was initialised in this process; from then on a forked child is active.
  void Wake();

  // Ends vramstow's work in this process. Returns false if it has ended already or has never begun.
  bool Finish();

  // Returns true unless this is a child, of any kind, that has not been noticed as one. True before
  // Start. Async-signal-safe.
  bool IsSameProcessId() const;

  // Returns true if the settings are valid, and CUDA may be used: not before Start, and in a forked
  // child not before it has initialised CUDA itself.
  bool is_active() const { return state_.load(std::memory_order_acquire) == State::kActive; }

  bool is_forked_child() const { return state_.load(std::memory_order_relaxed) == State::kForked; }

  // Returns the settings; call it only after Start has returned true.
  const Options& options() const { return *options_.load(std::memory_order_relaxed); }

 private:
  enum class State : uint8_t { kNew, kStarting, kActive, kForked, kRefused, kFinished };

  bool IsSameProcess() const {
    const uint32_t* mark = fork_mark_.load(std::memory_order_relaxed);
    if (mark != nullptr) [[likely]]
      return __atomic_load_n(mark, __ATOMIC_RELAXED) != 0;
    return IsSameProcessId();
  }
  // Returns true for the hooks that a forked child may use before it has initialised CUDA: look-ups
  // of functions, and the initialisation.
  static bool AdmitsForked(Hook hook);
  // Returns true for the hooks that are handled after the end of vramstow's work. These are frees,
  // because the driver could not free the pool's memory.
  static bool AdmitsFinished(Hook hook);
  void PrepareForForks();
  void EnterChild();

  void (*const abandon_)();
  std::atomic<const Options*> options_{nullptr};
  std::atomic<State> state_{State::kNew};
  std::atomic<uint32_t*> fork_mark_{nullptr};
  std::atomic<pid_t> process_id_{0};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_PROCESS_H_
