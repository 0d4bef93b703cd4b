// PoolLayer: follows the events of pools: the device memory that they hold, how their caches
// performed, and live memory that was moved to the host.
//
// Idea: memory that a pool holds is reserved. The blocks that a pool hands out are allocated; other
// layers report them.
//
// Ownership: keeps copies; the objects given to the constructor outlive it. Threads: used by one
// thread at a time. Errors: events that could not be understood are in the counts. Units: bytes,
// nanoseconds.
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

  // True if the pool reported anything, so that the reserved memory is known.
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
