// OtherWork: what a program does beside its iterations: it evaluates, generates, saves.
//
// Idea: a forward pass that trains leaves blocks for the backward pass. A forward pass that is
// called from another line, and leaves none, is an evaluation; where a cache of keys and values
// grows meanwhile, the program generates. Calls of one kind that follow one another, without any
// training between them, are one stretch. The start-up hook marks what is saved.
//
// Ownership: copies. Threads: a value. Errors: none; without call stacks nothing is found. Units:
// events counted from 1.
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
  uint64_t trained = 0;   // the last event of training before it; 0: there is none
  bool is_named = false;  // a function that calls it has a name for evaluations
};

// Whether a model runs, by the call stack.
bool RunsModel(const Detail& detail, const SiteDetail& site);

class OtherWork {
 public:
  OtherWork(const Detail& detail, const MarkedSteps& told);

  // In order; those that save may lie within others.
  const std::vector<Stretch>& all() const { return all_; }
  // Any backward pass or step of an optimizer.
  bool has_training() const { return has_training_; }
  const KvCaches& caches() const { return caches_; }
  // The first event from `begin` on that belongs to no evaluation that follows `begin` without any
  // training between them.
  uint64_t After(uint64_t begin, uint64_t end) const;
  // What comes in nearly every pass belongs to the pass: a teacher's forward pass, for example.
  // `begins`: of all passes.
  void LeaveToPasses(const std::vector<uint64_t>& begins);

 private:
  void FindStretches(const Detail& detail, const MarkedSteps& told);

  PhasesOver phases_;
  KvCaches caches_;
  std::vector<Stretch> all_;
  bool has_training_ = false;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_OTHER_WORK_H_
