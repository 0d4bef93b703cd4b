// Residency: the live memory that was evicted to host memory, with the begin, the end and the
// reason of each stay on the host.
//
// Idea: one event says that a run of pages was evicted from the device, another that it was
// restored. The stay also ends if the mapping of the run changes in another way. Runs on the host
// are stored by address. A run that was restored is stored as a Life, so that a report draws it as
// it draws blocks. Its owner is found at the end, from the blocks that were live there at that
// time.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: none. Units:
// bytes, nanoseconds; events are counted from 1. Memory: kMax lives.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_RESIDENCY_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_RESIDENCY_H_

#include <cstdint>
#include <map>
#include <vector>

#include "base/event.h"
#include "tools/analysis/facts/facts.h"
#include "tools/analysis/facts/lives.h"

namespace vramstow {

class Residency {
 public:
  // Adds a kOffload or kReturn event: a run of pages was evicted to the host, or restored.
  void Add(const Event& event, uint64_t now, uint64_t now_ns);
  // Ends the stay on the host of a run of pages that was restored, mapped anew or released.
  void End(uint64_t address, uint64_t size, uint64_t now, uint64_t now_ns);
  bool any() const { return !away_.empty(); }

  // Returns the runs of pages that were on the host, in order of birth. The object is empty
  // afterwards.
  std::vector<Life> Take();
  const OffloadFacts& facts() const { return facts_; }

 private:
  static constexpr size_t kMax = size_t{1} << 18;

  void Keep(Life life);

  std::map<uint64_t, Life> away_;  // by address
  std::vector<Life> over_;
  uint64_t away_bytes_ = 0;
  OffloadFacts facts_;
};

// Returns the owners of memory that was evicted to the host: the call sites of the blocks that were
// live there at that time, largest first.
std::vector<OffloadSite> FindOffloadSites(const std::vector<Life>& away,
                                          const std::vector<Life>& blocks);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_RESIDENCY_H_
