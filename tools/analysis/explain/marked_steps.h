// MarkedSteps: the work of the program as recorded in marks: its own marks, steps of optimizers,
// and calls of models.
//
// Idea: Python's start-up hook marks each step of an optimizer (`vramstow.step KIND NUMBER`, or
// `vramstow.graph_step …` if a graph was replayed before the step or contains it) and, for traces
// with stacks, each call of an outermost module (`vramstow.forward NAME NUMBER`, or
// `vramstow.inference …` without gradients, up to `vramstow.forward_end …`). NUMBER distinguishes
// two objects of a kind. PyTorch's own annotations have steps, too (`Optimizer.step#…`). The
// program's own marks for a step, an iteration or a batch take precedence over all these.
// `vramstow.save` and `vramstow.save_end` enclose torch.save.
//
// Ownership: keeps its own copies. Threads: a plain value without synchronisation. Errors: none;
// other marks are ignored. Units: events, nanoseconds.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_MARKED_STEPS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_MARKED_STEPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "tools/analysis/facts/detail.h"

namespace vramstow {

// One call of an outermost module, or of torch.save.
struct MarkedCall {
  uint64_t begin = 0;  // events
  uint64_t end = 0;    // kStillLive if it did not end
  bool with_gradients = false;
};

class MarkedSteps {
 public:
  explicit MarkedSteps(const Detail& detail);

  // The program's own marks of one name at which iterations begin; empty if there are none.
  const std::vector<uint64_t>& marks() const { return marks_; }
  const std::string& mark() const { return mark_; }  // their name
  // The ends of the steps of one optimizer: the one that steps most often and comes last in an
  // iteration.
  const std::vector<uint64_t>& steps() const { return steps_; }
  // The ends of the steps of all optimizers, in order.
  const std::vector<uint64_t>& all_steps() const { return all_steps_; }
  // True if a replayed CUDA graph led to this step, so that the work of the step allocated no
  // tensors.
  bool IsOfGraph(uint64_t step) const { return graph_steps_.contains(step); }
  // The function calls() returns all calls of outermost modules, in order. The other function
  // returns the calls of the module that is called most often.
  const std::vector<MarkedCall>& calls() const { return calls_; }
  const std::vector<MarkedCall>& main_calls() const { return main_calls_; }
  const std::vector<MarkedCall>& saves() const { return saves_; }

 private:
  std::vector<uint64_t> marks_;
  std::string mark_;
  std::vector<uint64_t> steps_;
  std::vector<uint64_t> all_steps_;
  absl::flat_hash_set<uint64_t> graph_steps_;
  std::vector<MarkedCall> calls_;
  std::vector<MarkedCall> main_calls_;
  std::vector<MarkedCall> saves_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_MARKED_STEPS_H_
