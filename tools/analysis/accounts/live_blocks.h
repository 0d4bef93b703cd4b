// LiveBlocks: blocks that are live, by address, for one layer and one kind of memory.
//
// Idea: an address that is given out again shows that the block before it is gone, although its
// free was not seen.
//
// Ownership: copies; accounts and space outlive it. Threads: one at a time. Errors: a free that was
// not seen is in the counts. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_LIVE_BLOCKS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_LIVE_BLOCKS_H_

#include <cstdint>

#include "tools/analysis/accounts/accounts.h"
#include "tools/analysis/accounts/block_table.h"
#include "tools/analysis/accounts/free_space.h"

namespace vramstow {

class LiveBlocks {
 public:
  LiveBlocks(Accounts* accounts, FreeSpace* space) : accounts_(*accounts), space_(*space) {}

  // `block` becomes live, at `now`.
  void Add(const LiveBlock& block, const Moment& now) {
    LiveBlock* known;
    if (!table_.Insert(block, &known)) [[unlikely]] {
      ++accounts_.counts().frees_missed;
      if (known->pooled) space_.Clear(*known);
      accounts_.End(*known);
      *known = block;
    }
    accounts_.levels().Born(block, now);
  }

  BlockTable& table() { return table_; }
  const BlockTable& table() const { return table_; }

 private:
  Accounts& accounts_;
  FreeSpace& space_;
  BlockTable table_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_LIVE_BLOCKS_H_
