// CacheTally: what pools took from the device and gave back, what their caches did, and flushes.
//
// Idea: segments that are given back directly one after the other are one flush.
//
// Ownership: copies; accounts outlive it. Threads: one at a time. Errors: none. Units: bytes,
// nanoseconds. Memory: the first kMaxFlushes flushes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_CACHE_TALLY_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_CACHE_TALLY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/analysis/accounts/accounts.h"
#include "tools/analysis/facts/detail.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

class CacheTally {
 public:
  explicit CacheTally(Accounts* accounts) : accounts_(*accounts) {}

  // A pool took memory from the device, or gave it back with this event.
  void Taken(uint64_t bytes);
  void GivenBack(const Event& event, uint64_t bytes);
  // Something else happened: what is given back from now on is another flush.
  void EndFlush() {
    if (is_flushing_) KeepFlush();
  }
  // A kCacheTrim says who caused the flush that is going on.
  void Trimmed(const Event& trim);
  void Missed() { ++facts_.misses; }
  void Stitched() { ++facts_.stitches; }
  void WaitedForFence(uint64_t nanoseconds) {
    ++facts_.fence_waits;
    facts_.fence_wait_ns += nanoseconds;
  }

  // At the end. `sites`: by number.
  CacheFacts Facts(const std::vector<SiteDetail>& sites) const;

 private:
  void KeepFlush();

  Accounts& accounts_;
  CacheFacts facts_;
  FlushFacts flush_;  // that is going on
  bool is_flushing_ = false;
  uint32_t flush_site_ = 0;
  std::vector<uint32_t> flush_sites_;  // of facts_.flushes
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_CACHE_TALLY_H_
