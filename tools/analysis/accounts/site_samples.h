// SiteSamples: how much device memory of each call site was live, sampled over the whole run; from
// that, how it grows by the hour.
//
// Idea: what an iteration takes and gives back is live at some moments and not at others, so that
// the lowest level of many moments is what stays. Growth is told between two quarters of the run by
// their lowest levels; the first quarter is left to the start. A bounded trace has the samples of
// events that are gone (tracer/fold/fold_samples.h).
//
// Ownership: copies. Threads: one at a time. Errors: none. Units: bytes, nanoseconds. Memory: 256
// bytes for each call site. Cost: a comparison for most events.
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
  // Before an event at this time changes the levels.
  void Pass(uint64_t time_ns, const Levels& levels) {
    if (clock_.IsDue(time_ns)) PassMoments(time_ns, levels);
  }
  // The samples of events that are gone, whose moments have been passed. `accounts` knows sites.
  void AddSums(const std::vector<SumSamples>& samples, Accounts* accounts);
  // `sites`: by their numbers.
  HourFacts Growth(const std::vector<SiteDetail>& sites, uint64_t end_ns) const;

 private:
  using Row = std::array<uint32_t, kMaxSamples>;

  void PassMoments(uint64_t time_ns, const Levels& levels);
  static void Halve(Row* row);
  void AddTo(const SumSamples& samples, Row* row) const;

  SampleClock clock_;
  Row all_ = {};
  std::vector<Row> sites_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_SITE_SAMPLES_H_
