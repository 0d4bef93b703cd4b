// CacheTally: what pools took from the device and released to it, how their caches performed, and
// their flushes.
//
// Idea: consecutive releases of segments are one flush.
//
// Ownership: keeps copies; the accounts outlive it. Threads: used by one thread at a time. Errors:
// none. Units: bytes, nanoseconds. Memory: bounded by the first kMaxFlushes flushes.
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

  // The function Taken records that a pool took memory from the device. The function GivenBack
  // records that the pool released memory to the device with this event.
  void Taken(uint64_t bytes);
  void GivenBack(const Event& event, uint64_t bytes);
  // Ends the current flush (consecutive releases of segments), because an event of another kind
  // came. The next release begins a new flush.
  void EndFlush() {
    if (is_flushing_) KeepFlush();
  }
  // Records the cause of the current flush, which a kCacheTrim event gives.
  void Trimmed(const Event& trim);
  void Missed() { ++facts_.misses; }
  void Stitched() { ++facts_.stitches; }
  void WaitedForFence(uint64_t nanoseconds) {
    ++facts_.fence_waits;
    facts_.fence_wait_ns += nanoseconds;
  }

  // Returns the facts at the end of the analysis. `sites` is indexed by the number of the call
  // site.
  CacheFacts Facts(const std::vector<SiteDetail>& sites) const;
  // Returns the last event of each flush in these facts that empty_cache() caused.
  std::vector<uint64_t> EmptyCacheCalls(const CacheFacts& facts) const;

 private:
  void KeepFlush();

  Accounts& accounts_;
  CacheFacts facts_;
  FlushFacts flush_;  // the current flush
  bool is_flushing_ = false;
  uint32_t flush_site_ = 0;
  uint64_t flush_event_ = 0;            // the last release of flush_
  std::vector<uint32_t> flush_sites_;   // of facts_.flushes
  std::vector<uint64_t> flush_events_;  // the same
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_CACHE_TALLY_H_
