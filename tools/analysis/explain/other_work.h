// OtherWork: the work of a program outside of its iterations: evaluation, generation and saving.
//
// Idea: a forward pass that trains leaves blocks for the backward pass. A forward pass that is
// called from another line, and leaves no such blocks, is an evaluation; if a key/value cache grows
// meanwhile, the program generates text. Consecutive calls of one kind, without any training in
// between, are one stretch. The start-up hook marks the begin and the end of saving.
//
// Ownership: keeps its own copies. Threads: a plain value without synchronisation. Errors: none;
// without call stacks nothing is found. Units: events, counted from 1.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_OTHER_WORK_H_
#define VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_OTHER_WORK_H_

#include <cstdint>
#include <vector>

#include "tools/analysis/explain/kv_caches.h"
#include "tools/analysis/explain/marked_steps.h"
#include "tools/analysis/explain/phases_over.h"
#include "tools/analysis/facts/detail.h"

namespace vramstow {

struct Stretch {
  enum class Kind : uint8_t { kEvaluation, kGeneration, kForward, kSaving };
  Kind kind = Kind::kEvaluation;
  uint64_t begin = 0;  // [begin, end)
  uint64_t end = 0;
  uint64_t trained = 0;   // the last event of training before it; 0 if there is none
  bool is_named = false;  // the name of a calling function means an evaluation
  bool is_last = false;   // neither training nor an optimizer step is recorded after it
};

// True if the call stack shows a running model.
bool RunsModel(const Detail& detail, const SiteDetail& site);

class OtherWork {
 public:
  OtherWork(const Detail& detail, const MarkedSteps& marked);

  // The stretches (consecutive calls of one kind of work), in order. A stretch of saving may lie
  // within another stretch.
  const std::vector<Stretch>& all() const { return all_; }
  // True if there is any backward pass or optimizer step.
  bool has_training() const { return has_training_; }
  const KvCaches& caches() const { return caches_; }
  // Returns the end of the evaluation that follows `begin` without any training in between; `begin`
  // if there is none, or if the program did not train after it.
  uint64_t After(uint64_t begin, uint64_t end) const;
  // Removes work that occurs in nearly every iteration, for example a teacher's forward pass,
  // because it belongs to the iterations. `begins` has the begins of all iterations.
  void LeaveToPasses(const std::vector<uint64_t>& begins);

 private:
  void FindStretches(const Detail& detail, const MarkedSteps& marked);

  PhasesOver phases_;
  KvCaches caches_;
  std::vector<Stretch> all_;
  bool has_training_ = false;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_OTHER_WORK_H_
