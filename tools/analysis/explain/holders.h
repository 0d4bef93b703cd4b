// Holders: what held the blocks that were live when a request failed, told together.
//
// Idea: a census told a chain for each block. Chains that differ only in numbers are one holder:
// hist[0].grad_fn and hist[1].grad_fn are hist[0..1].grad_fn, and model.seen_0 and model.seen_1 are
// model.seen_*. So are chains that differ in their keys, where there are many: sessions["user*"].
//
// Ownership: refers to a Detail, which outlives it. Threads: const calls are free. Errors: none;
// without a census nobody holds anything. Units: bytes, events counted from 1.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_HOLDERS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_EXPLAIN_HOLDERS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tools/analysis/facts/detail.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

// One chain for chains that differ in numbers only. They have the same pattern (PatternOf).
std::string MergeChains(const std::vector<std::string>& chains);
// The chain without its numbers.
std::string PatternOf(const std::string& chain);
// "stitch: place", a variable of a function that runs; "stitch: places[3]" may outlive the call.
bool IsLocal(const std::string& holder);

class Holders {
 public:
  // By the census that belongs to this failure: the first one of its thread after it, before the
  // thread's next failure; else the last one before; else another thread's. None where the trace
  // says that it was left out: what held memory earlier need not hold it now.
  Holders(const Detail& detail, const Facts& facts, const OutOfMemoryFacts& failure);

  // A census names some thousands of blocks. If it found more, this gives each other block the
  // holder of most of the named blocks with its line and size.
  void NameAlike(const std::vector<const Life*>& live);

  bool any() const { return census_ != nullptr; }
  // Why there is none, half a sentence; empty: there is one, or nobody says.
  const std::string& why_left_out() const { return why_left_out_; }
  // Null: nobody was found.
  const HeldBlock* Of(const Life& life) const;
  // The holders of these blocks, those of the most bytes first.
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
