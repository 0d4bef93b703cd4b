// Answers questions about the settings that decide which functions are hooked and which parts are
// active.
//
// Ownership: none. Threads: values. Errors: options were checked when they were read. Units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_SETTINGS_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_SETTINGS_H_

#include <atomic>
#include <cstdint>

#include "base/options.h"

namespace vramstow {

// True if cuMemAlloc is served from the pool.
bool WantsPool(const Options& options);
// True if the process exports its memory figures to Prometheus.
bool WantsMetrics(const Options& options);
// True if live memory may be evicted to the host.
bool WantsOffload(const Options& options);
// True if this process shares its GPU with others by turns.
bool WantsShare(const Options& options);
// True if launches of kernels are counted or sampled.
bool WantsLaunches(const Options& options);

// True if allocations get call stacks. The first call looks for Python among the libraries of the
// process, which takes the dynamic linker's lock; later calls return the stored answer.
bool WantsStacks(const Options& options);
// True if call stacks also get the names of the framework's operations, which costs more time.
bool WantsNames(const Options& options);

// Stores the answer to a question about the settings. Options are texts, and every call of the
// program may need the answer, so they are compared only once.
class CachedOption {
 public:
  constexpr CachedOption() = default;

  bool Get(const Options& options, bool (*wants)(const Options&)) {
    Answer answer = answer_.load(std::memory_order_relaxed);
    if (answer == Answer::kUnknown) {
      answer = wants(options) ? Answer::kYes : Answer::kNo;
      answer_.store(answer, std::memory_order_relaxed);
    }
    return answer == Answer::kYes;
  }
  // True if the question was asked before and the answer was yes.
  bool is_known_yes() const { return answer_.load(std::memory_order_relaxed) == Answer::kYes; }

 private:
  enum class Answer : uint8_t { kUnknown, kYes, kNo };
  std::atomic<Answer> answer_{Answer::kUnknown};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_SETTINGS_H_
