// SiteSamples: how much device memory of each call site was live, sampled over the whole run, and
// its growth per hour.
//
// Idea: memory that an iteration allocates and frees is live at some moments and not at others, so
// the lowest of many sampled levels is the memory that remains. Growth is the difference of the
// lowest levels of two quarters of the run; the first quarter is ignored as start-up. A trace of
// limited size no longer has its oldest events, but has samples that were computed from them
// (tracer/fold/fold_samples.h). A process frees its memory when it ends, so the samples of frees
// after the last allocation do not count. While a process that is still running has nothing to do,
// its memory stays at the level that it had; these samples count.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: none. Units:
// bytes, nanoseconds. Memory: 256 bytes for each call site. Cost: a comparison for most events.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_SITE_SAMPLES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_SITE_SAMPLES_H_

#include <array>
#include <cstdint>
#include <vector>

#include "tools/analysis/accounts/accounts.h"
#include "tools/analysis/facts/detail.h"
#include "tools/analysis/facts/site_facts.h"
#include "tracer/format/sample_clock.h"
#include "tracer/format/sums.h"

namespace vramstow {

class SiteSamples {
 public:
  // Records all samples whose time is before `time_ns`. Must be called before an event at this time
  // changes the levels.
  void Pass(uint64_t time_ns, const Levels& levels) {
    if (clock_.IsDue(time_ns)) PassMoments(time_ns, levels);
  }
  // Must be called when an event at this time has changed the levels.
  void Note(uint64_t time_ns, const Levels& levels) {
    if (levels.allocated() > allocated_) last_rise_ns_ = time_ns;
    allocated_ = levels.allocated();
  }
  // Adds samples that the trace has in place of events that it no longer has. The times of these
  // samples must not be later than the last call of Pass. The last of these events was at
  // `until_ns`. `accounts` has the call sites.
  void AddSums(const std::vector<SumSamples>& samples, uint64_t until_ns, Accounts* accounts);
  // Returns the growth by the hour. `sites` is indexed by number of call site.
  HourFacts Growth(const std::vector<SiteDetail>& sites, uint64_t end_ns) const;

 private:
  using Row = std::array<uint32_t, kMaxSamples>;

  void PassMoments(uint64_t time_ns, const Levels& levels);
  static void Halve(Row* row);
  void AddTo(const SumSamples& samples, Row* row) const;
  // Returns the number of samples before the process freed its memory to end.
  size_t CountBeforeEnd() const;

  SampleClock clock_;
  uint64_t allocated_ = 0;     // at the last call of Note
  uint64_t last_rise_ns_ = 0;  // when the allocated memory rose for the last time
  Row all_ = {};
  std::vector<Row> sites_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_SITE_SAMPLES_H_
