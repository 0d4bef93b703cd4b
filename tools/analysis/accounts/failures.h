// Failures: allocations that were refused, and how much memory was free then.
//
// Idea: not every refusal reaches the program. PyTorch also requests memory that it can do without,
// and marks such requests (FailureEnd). A library that is refused may release its cache and ask
// again. If the same thread, library and line repeats the request and it is then served, the
// program saw no error. Refusals that PyTorch can do without, and refusals that a library repeats,
// are counted separately and are not explained.
//
// Ownership: keeps copies; the objects given to the constructor outlive it. Threads: used by one
// thread at a time. Errors: none. Units: bytes. Memory: the first kMaxOutOfMemory - 1 failures, and
// the last. Cost: an out-of-memory with a pool takes one traversal of all live blocks.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_FAILURES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_FAILURES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/event.h"
#include "tools/analysis/accounts/accounts.h"
#include "tools/analysis/accounts/event_source.h"
#include "tools/analysis/accounts/free_space.h"
#include "tools/analysis/accounts/pool_segments.h"
#include "tools/analysis/facts/detail.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

// The blocks of all layers that lie in memory of pools.
class PooledBlocks {
 public:
  virtual ~PooledBlocks() = default;
  // Visits all blocks that lie in memory of pools, including freed blocks whose memory may not be
  // used again yet.
  virtual void ForEachPooled(const std::function<void(const LiveBlock&)>& visit) const = 0;
  // Returns the bytes of freed blocks on one device that may not be used again yet.
  virtual uint64_t PendingBytes(int16_t device) const = 0;
};

class Failures {
 public:
  Failures(Accounts* accounts, const FreeSpace* space, const PoolSegments* segments,
           const PooledBlocks* blocks)
      : accounts_(*accounts), space_(*space), segments_(*segments), blocks_(*blocks) {}

  // Adds a call that the driver or an allocator refused.
  void Add(const Event& event);
  // Examines a call that was granted.
  void NoteServed(const Event& event) {
    if (!refused_.empty() || given_up_.has_value()) Answer(event);
  }
  // Ends the list. Must be called after the last event and before the counts are read. `told` has
  // the facts that the trace has about the end of the program; the name of the error in it may be
  // replaced.
  void End(const EventSource& source, std::map<std::string, std::string>* trace_metadata);

  // Returns the last failed request of each device: the number of its event.
  std::map<int, uint64_t> LastEvents() const;
  // Returns the out-of-memory events, with names. `sites` is indexed by number of call site.
  std::vector<OutOfMemoryFacts> Facts(const EventSource& source,
                                      const std::vector<SiteDetail>& sites) const;

 private:
  // An out-of-memory before its names are looked up.
  struct OutOfMemory {
    OutOfMemoryFacts facts;
    uint16_t call;
    uint16_t library;
    uint32_t site = 0;
    // The numbers of the call sites before and after the largest free range, plus 1; 0 if there is
    // none.
    uint32_t before = 0;
    uint32_t after = 0;
    bool is_retried = false;
  };
  // A request of a thread that the driver refused and that was not served yet.
  struct Refused {
    Event request;
    uint32_t site = 0;
    uint64_t count = 0;  // consecutive refusals
  };
  // The number of refused requests that were served when the same library asked again.
  struct Retried {
    uint16_t library = 0;
    int16_t device = kNoDevice;
    uint64_t count = 0;
  };

  OutOfMemory Describe(const Event& event);
  void Keep(OutOfMemory failure);
  void NoteRefused(const Event& event);
  void Answer(const Event& event);
  void NoteRetried(const Refused& refused);
  void FillPool(OutOfMemory* failure) const;
  bool IsOnlyPool(int16_t device) const;
  // Returns the bytes that pools hold, without the driver's blocks outside of pools.
  uint64_t HeldByPools(int16_t device, bool is_only_pool) const;
  void FillFree(const FreeMemory& free, uint64_t holes, OutOfMemoryFacts* facts) const;
  static void FillDevice(const DeviceLevel& device, OutOfMemoryFacts* facts);

  Accounts& accounts_;
  const FreeSpace& space_;
  const PoolSegments& segments_;
  const PooledBlocks& blocks_;
  std::vector<OutOfMemory> out_of_memory_;
  absl::flat_hash_map<uint32_t, Refused> refused_;  // by thread
  std::vector<Retried> retried_;
  // The last refused request that PyTorch could do without. It is cleared when memory is granted to
  // the same thread.
  std::optional<OutOfMemory> given_up_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_FAILURES_H_
