// KvCaches: recognises key/value caches by the shape and life of their blocks.
//
// Idea: a model that generates text stores the keys and values of the tokens that it has read.
// Either a block of each layer grows: within a module, a concatenation repeatedly makes a larger
// block beside the old one, for several layers in turn, without training in between. Or an engine
// makes one block of the same size for each layer before it begins to work, and holds these blocks
// as long as it works.
//
// Ownership: refers to a Detail, which outlives it. Threads: const functions may be called at the
// same time. Errors: none; without call stacks no caches are found. Units: events, counted from 1.
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
  // `phases` must belong to the same `Detail`.
  KvCaches(const Detail& detail, const PhasesOver& phases);

  bool Has(const Life& life) const { return blocks_.contains(&life); }
  // Returns how often caches grew in [begin, end). This is the number of tokens that were generated
  // between these events.
  uint64_t StepsWithin(uint64_t begin, uint64_t end) const;

 private:
  // The blocks of one call site, in order of birth.
  using Chain = std::vector<const Life*>;

  void FindGrowing(const Detail& detail, const PhasesOver& phases);
  void FindKept(const Detail& detail);

  absl::flat_hash_set<const Life*> blocks_;
  std::vector<std::vector<uint64_t>> growths_;  // of each site, the events at which it grew
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_KV_CACHES_H_
