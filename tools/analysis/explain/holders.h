// Holders: the owners of the blocks that were live when a request failed, grouped.
//
// Idea: a census (a reference scan) recorded a chain of references for each block. Chains that
// differ only in numbers are one owner: hist[0].grad_fn and hist[1].grad_fn become
// hist[0..1].grad_fn, and model.seen_0 and model.seen_1 become model.seen_*. The same applies to
// chains that differ in their keys, if there are many: sessions["user*"].
//
// Ownership: refers to a Detail, which outlives it. Threads: const functions may be called at the
// same time. Errors: none; without a census there are no owners. Units: bytes; events are counted
// from 1.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_HOLDERS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_HOLDERS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tools/analysis/facts/detail.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

// Returns one chain for chains that differ in numbers only. They must have the same pattern
// (PatternOf).
std::string MergeChains(const std::vector<std::string>& chains);
// Returns the chain of references without its numbers.
std::string PatternOf(const std::string& chain);
// True for a variable of a running function: "stitch: place" is the variable `place` of the
// function `stitch`. An owner with a further step, like "stitch: places[3]", may outlive the call.
bool IsLocal(const std::string& holder);

class Holders {
 public:
  // Selects the census (a reference scan) for this failure. The first choice is the first census
  // that the same thread made after the failure and before its next failure. The second choice is
  // the last one that it made before the failure, the third choice one of another thread. If the
  // trace says that the census was skipped, none is used, because the owners in an earlier census
  // may no longer hold the memory.
  Holders(const Detail& detail, const Facts& facts, const OutOfMemoryFacts& failure);

  // A census names the owners of a few thousand blocks only. If there were more blocks, this
  // function gives each of the others the most common owner of the named blocks with the same
  // source line and size.
  void NameAlike(const std::vector<const Life*>& live);

  bool any() const { return census_ != nullptr; }
  // A clause that says why there is no census; empty if there is one, or if the reason is unknown.
  const std::string& why_left_out() const { return why_left_out_; }
  // Returns the owner of a block, or null if none was found.
  const HeldBlock* Of(const Life& life) const;
  // Returns the owners of these blocks, most bytes first.
  std::vector<HolderFacts> OfAll(const std::vector<const Life*>& lives) const;

 private:
  static const CensusDetail* Find(const Detail& detail, const Facts& facts,
                                  const OutOfMemoryFacts& failure);

  const CensusDetail* census_ = nullptr;
  std::string why_left_out_;
  absl::flat_hash_map<uint64_t, const HeldBlock*> blocks_;  // by address
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_HOLDERS_H_
