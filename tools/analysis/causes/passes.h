// Passes: the turns of the program's main loop.
//
// Idea: a training loop shows itself by its backward passes: each call of backward() begins with a
// block of its own, made on the program's own thread. Where there are none, a loop shows itself by
// its own lines: within one function they go back, or the same place allocates again. Loops inside
// forward() are layers, and no turns.
//
// Ownership: copies. Threads: a value. Errors: none; without call stacks there are no passes.
// Units: events.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_CAUSES_PASSES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_CAUSES_PASSES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/analysis/detail.h"

namespace vramstow {

class Passes {
 public:
  enum class By : uint8_t { kNone, kOptimizer, kBackward, kLoop };

  explicit Passes(const Detail& detail);

  By by() const { return by_; }
  // Where each pass begins, in order. The last one may be cut off.
  const std::vector<uint64_t>& begins() const { return begins_; }
  // The event after the last pass, as far as the trace tells: what comes then is no pass.
  uint64_t end() const { return end_; }
  // The line that had called backward() last at this event; empty: not known.
  std::string BackwardCall(const Detail& detail, uint64_t event) const;
  // The number of the pass, from 0; -1 before the first.
  int64_t At(uint64_t event) const;

 private:
  void FindByBackward(const Detail& detail);
  void FindByLoop(const Detail& detail);

  By by_ = By::kNone;
  std::vector<uint64_t> begins_;
  uint64_t end_ = 0;
  std::vector<std::pair<uint64_t, uint32_t>> calls_;  // of backward(): event and site
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_CAUSES_PASSES_H_
