// KvCaches: which blocks are caches of keys and values, by their shape and life.
//
// Idea: a model that generates text keeps the keys and values of what it has read. Either a block
// of each layer grows: within a module, a concatenation makes a larger one beside the old one,
// again and again, for several layers in turn, and nothing is trained in between. Or an engine
// makes one block of the same size for each layer before it begins to work, does not fill it with
// anything, and keeps it as long as it works.
//
// Ownership: refers to a Detail, which outlives it. Threads: const calls are free. Errors: none;
// without call stacks there are no caches. Units: events counted from 1.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_KV_CACHES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_KV_CACHES_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "tools/analysis/explain/phases_over.h"
#include "tools/analysis/facts/detail.h"

namespace vramstow {

class KvCaches {
 public:
  // `phases`: of the same detail.
  KvCaches(const Detail& detail, const PhasesOver& phases);

  bool Has(const Life& life) const { return blocks_.contains(&life); }
  // How often caches grew in [begin, end): the tokens that were generated there.
  uint64_t StepsWithin(uint64_t begin, uint64_t end) const;

 private:
  // Blocks of one call site, by birth.
  using Chain = std::vector<const Life*>;

  void FindGrowing(const Detail& detail, const PhasesOver& phases);
  void FindKept(const Detail& detail);

  absl::flat_hash_set<const Life*> blocks_;
  std::vector<std::vector<uint64_t>> growths_;  // of each site, the events at which it grew
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_KV_CACHES_H_
