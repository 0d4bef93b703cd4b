// PeakBlocks: the largest blocks that were live at the peak, found without a list of all of them.
//
// Idea: a block that was live at the peak either is still live when the trace ends, or died since.
// Only the largest few of those that died since the latest peak are stored; a new peak clears them.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: none. Units:
// bytes. Memory: bounded.
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

  // Clears the list at a new peak, because blocks that died before it were not live at it. The cost
  // is O(1) if no block died since the last peak.
  void Forget() { heap_.clear(); }
  // Adds a block that was live at the peak if it is one of the largest. The block may still be live
  // or have died.
  void Offer(const LiveBlock& block);
  // Removes the block that was allocated at event `birth`. It was added when the trace recorded
  // that it was freed; a later event shows that the block is still live.
  void Withdraw(uint64_t birth);

  bool Contains(uint64_t birth) const;
  // Returns the blocks, largest first; blocks of equal size are in order of age, the oldest first.
  std::vector<LiveBlock> Sorted() const;

 private:
  size_t most_;
  std::vector<LiveBlock> heap_;  // the smallest on top
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_PEAK_BLOCKS_H_
