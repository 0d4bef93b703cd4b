// LaunchTally: counts the launches of each kernel, by range and by iteration.
//
// Idea: a trace has sums (--launches=count): the number of launches of a kernel since its last sum.
// They are recorded before each mark, so launches between two marks are in the sums between them. A
// sum belongs to the range of its thread that began last and has not ended. If its thread has no
// such range, it belongs to the last such range of any thread.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: none. Units:
// launches; events are counted from 1. Memory: each name once, and kMaxSteps steps of the sum over
// all kernels.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_LAUNCH_TALLY_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_LAUNCH_TALLY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/event.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

// The number of launches up to an event.
struct LaunchStep {
  uint64_t event = 0;
  uint64_t launches = 0;
};

class LaunchTally {
 public:
  // Adds a mark of the application.
  void Mark(const Event& mark, std::string_view text);
  // Adds a kLaunch event. `now` is its number among all events. `kernel` is the kernel's name.
  void Add(const Event& event, std::string_view kernel, uint64_t now);

  LaunchesFacts Facts() const;
  std::vector<LaunchStep> MoveOutSteps() { return std::move(steps_); }

 private:
  static constexpr size_t kMaxSteps = size_t{1} << 18;
  static constexpr size_t kMaxOpen = 4096;
  static constexpr size_t kMaxNames = 100'000;
  using Sums = std::map<std::string, uint64_t, std::less<>>;

  struct Range {
    uint32_t thread;
    uint64_t number;  // of a range of the process; 0 for a range of the thread
    std::string text;
  };

  const Range* RangeOf(uint32_t thread) const;
  void AddStep(uint64_t now);

  std::vector<Range> open_;
  uint64_t launches_ = 0;
  bool sampled_ = false;
  Sums by_kernel_;
  Sums by_range_;
  std::vector<LaunchStep> steps_;
  uint64_t events_per_step_ = 1;
};

// Returns how many launches came after `begin` and before `end`.
uint64_t LaunchesBetween(const std::vector<LaunchStep>& steps, uint64_t begin, uint64_t end);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_LAUNCH_TALLY_H_
