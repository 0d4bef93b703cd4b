// Iterations: the iterations of the program's main loop.
//
// Idea: the best available evidence decides: the program's own marks, steps of an optimizer,
// backward passes, calls of a model, and finally its own lines. Steps and calls are recorded as
// marks (marked_steps.h) or seen in call stacks: each call of backward() begins with a block that
// is made on the program's own thread; a loop shows itself by lines that go back within one
// function, or by the same call site allocating again. Loops inside forward() are loops over
// layers, and no iterations.
//
// An evaluation between two steps belongs to no iteration (other_work.h).
//
// Ownership: keeps its own copies. Threads: a plain value without synchronisation. Errors: none;
// without evidence there are no iterations. Units: events.
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

// One iteration, [begin, end). An evaluation between two iterations belongs to neither.
struct Iteration {
  uint64_t begin = 0;
  uint64_t end = 0;
};

class Iterations {
 public:
  enum class By : uint8_t { kNone, kMarks, kOptimizer, kBackward, kForward, kLoop };

  // `last_failure` is the event of the last out-of-memory, or 0 if memory did not run out.
  explicit Iterations(const Detail& detail, uint64_t last_failure = 0);

  By by() const { return by_; }
  // False if the iterations are a guess: what repeats in the trace may be only a part of one
  // iteration.
  bool is_sure() const { return is_sure_; }
  // The name of the program's marks that show the iterations. It is empty unless by() is
  // By::kMarks.
  const std::string& mark() const { return mark_; }
  // All iterations in order. The last one may be cut off.
  const std::vector<Iteration>& all() const { return all_; }
  // Returns the line of the last call of backward() before this event; empty if unknown.
  std::string BackwardCall(const Detail& detail, uint64_t event) const;
  // True if backward() was called before this event, and not only torch.autograd.grad().
  bool HasCalledBackward(uint64_t event) const;
  // Returns the number, from 0, of the last iteration that began before this event; -1 before the
  // first iteration.
  int64_t At(uint64_t event) const;
  // Returns the usual number of backward passes in one iteration; more than one means that
  // gradients are accumulated. 0 if unknown.
  uint64_t BackwardPerPass(const Detail& detail) const;
  const OtherWork& other_work() const { return other_work_; }
  // True if a call of a model that records no gradients was running at this event.
  bool IsInference(uint64_t event) const;
  // Returns the events in [begin, end) at which the program's outermost loop begins its body; empty
  // if there is no loop.
  static std::vector<uint64_t> TurnsWithin(const Detail& detail, uint64_t begin, uint64_t end);

 private:
  void FindByMarks(const Detail& detail, const MarkedSteps& marked);
  void FindBySteps(const Detail& detail, const MarkedSteps& marked, uint64_t last_failure);
  bool GoesOn(const Detail& detail, uint64_t last_step) const;
  void FindByBackward(const Detail& detail);
  void FindByCalls(const Detail& detail, const MarkedSteps& marked);
  void FindByLoop(const Detail& detail);
  void LeaveOutOtherWork(const Detail& detail);
  // Sets the iterations by the events at which they begin. Each iteration ends where the next one
  // begins.
  void SetBegins(const std::vector<uint64_t>& begins, uint64_t end);

  Iterations(const Detail& detail, const MarkedSteps& marked, uint64_t last_failure);

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
