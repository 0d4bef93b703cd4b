// Iterations: the turns of the program's main loop, which are its iterations.
//
// Idea: what the program did tells, the plainest first: its own marks, steps of an optimizer,
// backward passes, calls of a model, and at last its own lines. Steps and calls are told by marks
// (marked_steps.h) or seen in call stacks: each call of backward() begins with a block of its own,
// made on the program's own thread; a loop shows itself by lines that go back within one function,
// or by the same place allocating again. Loops inside forward() are layers, and no turns.
//
// An evaluation between two steps belongs to no pass (other_work.h).
//
// Ownership: copies. Threads: a value. Errors: none; where nothing tells there are no passes.
// Units: events.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_ITERATIONS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_ITERATIONS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/analysis/explain/marked_steps.h"
#include "tools/analysis/explain/other_work.h"
#include "tools/analysis/facts/detail.h"

namespace vramstow {

// [begin, end). An evaluation that lies between two of them belongs to none.
struct Iteration {
  uint64_t begin = 0;
  uint64_t end = 0;
};

class Iterations {
 public:
  enum class By : uint8_t { kNone, kMarks, kOptimizer, kBackward, kForward, kLoop };

  // `last_failure`: the event of the last out-of-memory; 0: there was none.
  explicit Iterations(const Detail& detail, uint64_t last_failure = 0);

  By by() const { return by_; }
  // Whether the number of passes is known, and not guessed.
  bool is_sure() const { return is_sure_; }
  // By::kMarks: the name of the marks.
  const std::string& mark() const { return mark_; }
  // In order. The last one may be cut off.
  const std::vector<Iteration>& all() const { return all_; }
  // The line that had called backward() last at this event; empty: not known.
  std::string BackwardCall(const Detail& detail, uint64_t event) const;
  // Whether backward() was called before this event, and not only torch.autograd.grad().
  bool HasCalledBackward(uint64_t event) const;
  // The number of the pass, from 0, that had begun last; -1 before the first.
  int64_t At(uint64_t event) const;
  // Backward passes that one pass has, as a rule: gradients are accumulated. 0: not known.
  uint64_t BackwardPerPass(const Detail& detail) const;
  const OtherWork& other_work() const { return other_work_; }
  // Whether a call of a model that records no gradients was running at this event.
  bool IsInference(uint64_t event) const;
  // Where the turns of the program's outermost loop within [begin, end) begin; empty: no loop.
  static std::vector<uint64_t> TurnsWithin(const Detail& detail, uint64_t begin, uint64_t end);

 private:
  void FindByMarks(const Detail& detail, const MarkedSteps& told);
  void FindBySteps(const Detail& detail, const MarkedSteps& told, uint64_t last_failure);
  bool GoesOn(const Detail& detail, uint64_t last_step) const;
  void FindByBackward(const Detail& detail);
  void FindByCalls(const Detail& detail, const MarkedSteps& told);
  void FindByLoop(const Detail& detail);
  void LeaveOutOtherWork(const Detail& detail);
  // One begins where the last one ends.
  void SetBegins(const std::vector<uint64_t>& begins, uint64_t end);

  Iterations(const Detail& detail, const MarkedSteps& told, uint64_t last_failure);

  OtherWork other_work_;
  By by_ = By::kNone;
  bool is_sure_ = false;
  std::string mark_;
  std::vector<Iteration> all_;
  std::vector<std::pair<uint64_t, uint32_t>> calls_;           // of backward(): event and site
  std::vector<std::pair<uint64_t, uint32_t>> autograd_calls_;  // and of torch.autograd.grad()
  std::vector<Iteration> inferences_;                          // calls without gradients, in order
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_ITERATIONS_H_
