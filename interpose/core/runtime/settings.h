// What the user asked for, as far as it decides which functions are hooked and who takes part.
//
// Ownership: none. Threads: values. Errors: options were checked when they were read. Units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_SETTINGS_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_SETTINGS_H_

#include <atomic>
#include <cstdint>

#include "base/options.h"

namespace vramstow {

// Whether cuMemAlloc is served from the pool at all.
bool WantsPool(const Options& options);
// Whether the process is to tell Prometheus its numbers.
bool WantsMetrics(const Options& options);
// Whether live memory may move to the host.
bool WantsOffload(const Options& options);
// Whether launches of kernels are counted or sampled.
bool WantsLaunches(const Options& options);

// Whether allocations get call stacks. The first to ask looks for Python among the libraries of the
// process, which takes the dynamic linker's lock; after that the answer is known.
bool WantsStacks(const Options& options);
// Whether they also get the names that a framework has for what it does: that costs more.
bool WantsNames(const Options& options);

// Keeps the answer to one of these questions: options are texts, and every call of the program may
// need the answer.
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
  // Whether somebody has asked, and the answer was yes.
  bool is_known_yes() const { return answer_.load(std::memory_order_relaxed) == Answer::kYes; }

 private:
  enum class Answer : uint8_t { kUnknown, kYes, kNo };
  std::atomic<Answer> answer_{Answer::kUnknown};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_SETTINGS_H_
