// LaunchTally: how often which kernel was launched, in which range and in which iteration.
//
// Idea: a trace has sums (--launches=count): the number of launches of a kernel since the last
// time. They are recorded before each mark, so what comes between two marks was launched between
// them. A sum belongs to the range that began last and has not ended, of the thread that recorded
// it or else of any.
//
// Ownership: copies. Threads: one at a time. Errors: none. Units: launches, events counted from 1.
// Memory: a name is kept once; kMaxSteps steps of the sum over all.
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

// How many launches there were up to an event.
struct LaunchStep {
  uint64_t event = 0;
  uint64_t launches = 0;
};

class LaunchTally {
 public:
  // A mark of the application.
  void Mark(const Event& mark, std::string_view text);
  // A kLaunch event, the `now`th of all.
  void Add(const Event& event, std::string_view kernel, uint64_t now);

  LaunchesFacts Facts() const;
  std::vector<LaunchStep> TakeSteps() { return std::move(steps_); }

 private:
  static constexpr size_t kMaxSteps = size_t{1} << 18;
  static constexpr size_t kMaxOpen = 4096;
  static constexpr size_t kMaxNames = 100'000;
  using Sums = std::map<std::string, uint64_t, std::less<>>;

  struct Range {
    uint32_t thread;
    uint64_t number;  // of a range of the process; 0: it is the thread's
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

// How many of them came after `begin` and before `end`.
uint64_t LaunchesBetween(const std::vector<LaunchStep>& steps, uint64_t begin, uint64_t end);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_LAUNCH_TALLY_H_
