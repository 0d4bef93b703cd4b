// Accounts: the state that all layers of the analysis share: the current event, the levels, the
// call sites, the lives of blocks and the counts.
//
// Idea: three layers may report the same bytes: the driver, a pool and a framework. Each layer
// follows its own blocks and reports their bytes to the shared Accounts, so that each byte is
// counted once. A layer never reads another layer's blocks.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: none. Units:
// bytes, nanoseconds; events are counted from 1.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_ACCOUNTS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_ACCOUNTS_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "tools/analysis/accounts/event_source.h"
#include "tools/analysis/accounts/levels.h"
#include "tools/analysis/accounts/live_block.h"
#include "tools/analysis/accounts/site_table.h"
#include "tools/analysis/facts/facts.h"
#include "tools/analysis/facts/lives.h"

namespace vramstow {

// The blocks that one call site allocated over the whole time.
struct SiteSum {
  uint64_t allocations = 0;
  uint64_t bytes = 0;
};

class Accounts {
 public:
  // Gets two facts from the source: which call stands for blocks that were allocated before the
  // recording, and how much was free on each device when the recording began.
  explicit Accounts(const EventSource& source);
  Accounts(const Accounts&) = delete;
  Accounts& operator=(const Accounts&) = delete;

  // --- The current event.
  // Makes `event` the current event. `stack` is the number that the source gives its call stack.
  void Begin(const Event& event, uint32_t stack) {
    ++events_;
    now_ns_ = std::max(now_ns_, event.time_ns);
    stack_ = stack;
    if (IsOpening(event)) {
      ++opening_events_;
    } else {
      ++counts_.by_kind[static_cast<uint8_t>(event.kind)];
    }
  }
  uint64_t events() const { return events_; }
  uint64_t now_ns() const { return now_ns_; }
  Moment Now(const Event& event) const { return {events_, event.sequence, now_ns_}; }
  // True if the event reports a block that was allocated before the recording began.
  bool IsOpening(const Event& event) const {
    return opening_call_.has_value() && event.call == *opening_call_;
  }
  std::optional<uint16_t> opening_call() const { return opening_call_; }
  uint64_t opening_events() const { return opening_events_; }

  // --- Who.
  uint32_t SiteOf(const Event& event) { return sites_.Find(stack_, event.library, event.call); }
  // Returns the call site of the event, as SiteOf does; 0 if the event has no call stack.
  uint32_t SiteByStack(const Event& event) { return stack_ != 0 ? SiteOf(event) : 0; }
  const SiteTable& sites() const { return sites_; }
  // Returns the call site of a call stack or, if `stack` is 0, of a library and an entry point.
  uint32_t SiteNumber(uint32_t stack, uint16_t library, uint16_t call) {
    return sites_.Find(stack, library, call);
  }
  const std::vector<SiteSum>& site_sums() const { return site_sums_; }

  // --- Calls.
  void CountCall(const Event& event);
  void CountFailedCall(uint16_t library, uint16_t call, MemoryKind memory);
  // Counts one more free of this kind of memory, under the library and the entry point of the
  // event.
  void CountFree(const Event& event, MemoryKind memory);
  // Removes one free that CountFree has counted.
  void UncountFree(uint16_t library, uint16_t call, MemoryKind memory);
  void CountAllocation(const LiveBlock& block);
  // Records that a framework's blocks lie in the live `block`. From then on the bytes of `block`
  // count as reserved and not as allocated, and its flag LiveBlock::holds is set.
  void Holds(LiveBlock* block);
  // Records a request for this much device memory, granted or not.
  void Request(uint64_t bytes) { largest_request_ = std::max(largest_request_, bytes); }
  uint64_t largest_request() const { return largest_request_; }
  Counts& counts() { return counts_; }
  const Counts& counts() const { return counts_; }

  // --- Blocks.
  // Returns the block that the event allocates.
  LiveBlock BlockOf(const Event& event);
  // Ends the life of `block` with the current event. `free_site` is the call site of the free; 0 if
  // it is unknown.
  void End(const LiveBlock& block, uint32_t free_site = 0);
  // Returns the life of a live block up to now.
  static Life LifeOf(const LiveBlock& block);
  Lives& lives() { return lives_; }
  Levels& levels() { return levels_; }
  const Levels& levels() const { return levels_; }

  // Adds the sums that the trace holds in place of events that it no longer has. Call it before
  // FillFacts.
  void AddSums(const TraceSums& sums);
  // Fills in counts, peaks, sizes, devices and the tallies of each library, kind and entry point.
  // The source gives their names.
  void FillFacts(const EventSource& source, Facts* facts) const;

 private:
  void AddSum(const TraceSum& sum);
  void AddSite(const TraceSum& sum, uint32_t stack, uint16_t library, uint16_t call);
  void FillTallies(const EventSource& source, Facts* facts) const;
  void FillHistogram(Facts* facts) const;
  void FillDevices(const EventSource& source, Facts* facts) const;

  uint64_t events_ = 0;
  uint64_t now_ns_ = 0;
  uint32_t stack_ = 0;
  std::optional<uint16_t> opening_call_;
  uint64_t opening_events_ = 0;
  uint64_t largest_request_ = 0;
  Counts counts_;
  Levels levels_;
  SiteTable sites_;
  std::vector<SiteSum> site_sums_;  // by number of the site
  Lives lives_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_ACCOUNTS_H_
