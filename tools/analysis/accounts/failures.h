// Failures: allocations that were refused, and what was free then.
//
// Ownership: copies; the rest outlives it. Threads: one at a time. Errors: none. Units: bytes.
// Memory: the first kMostOutOfMemory. Cost: of an out-of-memory with a pool: a look at all live
// blocks.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_FAILURES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_FAILURES_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "tools/analysis/accounts/accounts.h"
#include "tools/analysis/accounts/event_source.h"
#include "tools/analysis/accounts/free_space.h"
#include "tools/analysis/accounts/pool_segments.h"
#include "tools/analysis/facts/detail.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

// Blocks that lie in pools' memory, of all layers together.
class PooledBlocks {
 public:
  virtual ~PooledBlocks() = default;
  // Also those that are freed and may not be used again yet.
  virtual void ForEachPooled(const std::function<void(const LiveBlock&)>& visit) const = 0;
  // On one device.
  virtual uint64_t PendingBytes(int16_t device) const = 0;
};

class Failures {
 public:
  Failures(Accounts* accounts, const FreeSpace* space, const PoolSegments* segments,
           const PooledBlocks* blocks)
      : accounts_(*accounts), space_(*space), segments_(*segments), blocks_(*blocks) {}

  // A call that the driver or an allocator refused.
  void Add(const Event& event);

  // Out-of-memory events, with names. `sites`: by number.
  std::vector<OutOfMemoryFacts> Facts(const EventSource& source,
                                      const std::vector<SiteDetail>& sites) const;

 private:
  // An out-of-memory before its names are looked up.
  struct OutOfMemory {
    OutOfMemoryFacts facts;
    uint16_t call;
    uint16_t library;
    uint32_t site = 0;
    uint32_t before = 0;  // the sites beside the largest free range, from 1; 0: nobody
    uint32_t after = 0;
  };

  void FillPool(OutOfMemory* failure) const;
  bool IsOnlyPool(int16_t device) const;
  void FillFree(const FreeMemory& free, uint64_t holes, OutOfMemoryFacts* facts) const;
  static void FillDevice(const DeviceLevel& device, OutOfMemoryFacts* facts);

  Accounts& accounts_;
  const FreeSpace& space_;
  const PoolSegments& segments_;
  const PooledBlocks& blocks_;
  std::vector<OutOfMemory> out_of_memory_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_FAILURES_H_
