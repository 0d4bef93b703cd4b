// PeakBlocks: the largest blocks that were live at the peak, found without a list of all of them.
//
// Idea: a block that was live at the peak either is live still when the trace ends, or died since.
// Only the largest few of those that died since the latest peak are kept; a new peak forgets them.
//
// Ownership: copies. Threads: one at a time. Errors: none. Units: bytes. Memory: bounded.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_PEAK_BLOCKS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_PEAK_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/analysis/accounts/live_block.h"

namespace vramstow {

class PeakBlocks {
 public:
  explicit PeakBlocks(size_t most) : most_(most) {}

  // A new peak: what died before it was not live at it. O(1) where nothing died since the last.
  void Forget() { heap_.clear(); }
  // `block` was live at the peak, whether it still is or not.
  void Offer(const LiveBlock& block);
  // A block that was offered because it died turns out to be live.
  void Withdraw(uint64_t birth);

  bool Contains(uint64_t birth) const;
  // The largest first; of equal ones the older first.
  std::vector<LiveBlock> Sorted() const;

 private:
  size_t most_;
  std::vector<LiveBlock> heap_;  // the smallest on top
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_PEAK_BLOCKS_H_
