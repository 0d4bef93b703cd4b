// FreeSpace: the free memory of pools, or the free addresses in reserved ranges: now, at the peak,
// and at the moment when most of it was unusable.
//
// Idea: free memory of a pool has precedence. Without a pool only holes in reserved addresses can
// be seen. A new peak comes with almost every allocation of a growing process, so the state at the
// peak is saved late: each function that is about to change the free memory calls KeepPeak first.
//
// Ownership: keeps copies; the accounts outlive it. Threads: used by one thread at a time. Errors:
// none. Units: bytes.
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

  // Saves the current free memory as the state at the peak, unless it changed since the peak.
  void KeepPeak() {
    if (peak_of_ != accounts_.levels().peak_event()) SavePeak();
  }
  // Marks the memory of `block`, which lies in a pool, as free.
  void Clear(const LiveBlock& block) {
    KeepPeak();
    pool_.Take(block.address, block.size);
  }
  FreeMemory OfPool() const { return pool_.Free(accounts_.largest_request()); }
  FreeMemory Now() const {
    return pool_.any() ? OfPool() : addresses_.Free(accounts_.largest_request());
  }
  // Compares the state at the end of a timeline interval with the worst state so far, and stores
  // the worse one.
  void NoteWorst(const FreeMemory& state, uint64_t time_ns);

  // Fills in all fields but the holes. Call it at the end of the analysis, after KeepPeak.
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
