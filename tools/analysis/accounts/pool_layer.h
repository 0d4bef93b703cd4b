// PoolLayer: the events of pools: what they hold of the device, what their caches did, and live
// memory that was moved to the host.
//
// Idea: what a pool holds is reserved. Other layers report the memory that it hands out as blocks,
// and that is allocated.
//
// Ownership: copies; the rest outlives it. Threads: one at a time. Errors: what could not be
// understood is in the counts. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_POOL_LAYER_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_POOL_LAYER_H_

#include "tools/analysis/accounts/accounts.h"
#include "tools/analysis/accounts/cache_tally.h"
#include "tools/analysis/accounts/memory_looks.h"
#include "tools/analysis/accounts/pool_segments.h"
#include "tools/analysis/accounts/residency.h"

namespace vramstow {

class PoolLayer {
 public:
  PoolLayer(Accounts* accounts, PoolSegments* segments, MemoryLooks* looks)
      : accounts_(*accounts), segments_(*segments), looks_(*looks), cache_(accounts) {}

  void Add(const Event& event);

  // Whether the pool reported anything, so that what is reserved is known.
  bool any() const { return any_; }
  CacheTally& cache() { return cache_; }
  const CacheTally& cache() const { return cache_; }
  Residency& residency() { return residency_; }
  const Residency& residency() const { return residency_; }

 private:
  void Take(const Event& event, bool grows);
  void GiveBack(const Event& event, bool shrinks);

  Accounts& accounts_;
  PoolSegments& segments_;
  MemoryLooks& looks_;
  CacheTally cache_;
  Residency residency_;
  bool any_ = false;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_POOL_LAYER_H_
