// FreeSpace: what is free: memory of pools, or addresses in reserved ranges; now, at the peak, and
// at the worst moment.
//
// Idea: free memory of a pool is what counts. Without a pool only holes in reserved addresses can
// be seen. A new peak comes with almost every allocation of a growing process, so the state at the
// peak is kept late: whoever is about to change what is free calls KeepPeak first.
//
// Ownership: copies; accounts outlive it. Threads: one at a time. Errors: none. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_FREE_SPACE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_FREE_SPACE_H_

#include <cstdint>

#include "tools/analysis/accounts/accounts.h"
#include "tools/analysis/accounts/address_ranges.h"
#include "tools/analysis/accounts/pool_space.h"

namespace vramstow {

class FreeSpace {
 public:
  explicit FreeSpace(const Accounts* accounts) : accounts_(*accounts) {}

  PoolSpace& pool() { return pool_; }
  const PoolSpace& pool() const { return pool_; }
  AddressRanges& addresses() { return addresses_; }
  const AddressRanges& addresses() const { return addresses_; }

  // Keeps what is free as the state at the peak, if no change came since the peak.
  void KeepPeak() {
    if (peak_of_ != accounts_.levels().peak_event()) SavePeak();
  }
  // `block`, which lies in a pool, is free from now on.
  void Clear(const LiveBlock& block) {
    KeepPeak();
    pool_.Take(block.address, block.size);
  }
  FreeMemory OfPool() const { return pool_.Free(accounts_.largest_request()); }
  FreeMemory Now() const {
    return pool_.any() ? OfPool() : addresses_.Free(accounts_.largest_request());
  }
  // An interval of the timeline ends in this state.
  void NoteWorst(const FreeMemory& state, uint64_t time_ns);

  // All but the holes. At the end of the analysis, after KeepPeak.
  void FillFacts(FragmentationFacts* facts) const;

 private:
  void SavePeak();

  const Accounts& accounts_;
  PoolSpace pool_;
  AddressRanges addresses_;
  FreeMemory peak_;
  uint64_t peak_of_ = 0;  // the peak (Levels::peak_event) that peak_ belongs to
  FreeMemory worst_;
  uint64_t worst_time_ns_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_FREE_SPACE_H_
