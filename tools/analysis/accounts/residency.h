// Residency: which live memory lay in host memory, from when to when, and why it went there.
//
// Idea: one event says that a run of pages left the device, another that it came back. A run whose
// mapping changes otherwise was given up. Runs that are away are kept by address. A run that came
// back is kept as a Life, so that a report draws it as it draws blocks. Its owner is found at the
// end, from the blocks that lived there then.
//
// Ownership: copies. Threads: one at a time. Errors: none. Units: bytes, nanoseconds, events
// counted from 1. Memory: kMax lives.
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
  // A kOffload or kReturn: a run of pages is away from now on, or back.
  void Add(const Event& event, uint64_t now, uint64_t now_ns);
  // The run came back, was mapped anew or given up.
  void End(uint64_t address, uint64_t size, uint64_t now, uint64_t now_ns);
  bool any() const { return !away_.empty(); }

  // The runs that were away, by birth; nothing is known afterwards.
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

// The owners of memory that went to the host: the sites of the blocks that lived there then, most
// first.
std::vector<OffloadSite> FindOffloadSites(const std::vector<Life>& away,
                                          const std::vector<Life>& blocks);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_RESIDENCY_H_
