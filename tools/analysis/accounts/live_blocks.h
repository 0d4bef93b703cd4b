// LiveBlocks: the live blocks of one layer and one kind of memory, by address.
//
// Idea: if an address is allocated again, the earlier block at this address must have been freed,
// although no free was seen.
//
// Ownership: keeps copies; the accounts and the free space outlive it. Threads: used by one thread
// at a time. Errors: a free that was not seen is counted in frees_missed. Units: bytes.
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

  // Adds `block`, which becomes live at `now`.
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
