// FoldSums counts the folded events (older events of a trace that are replaced by sums).
//
// Ownership: the object owns all its data and uses no heap. It has no constructor: the caller
// provides memory that is filled with zeros and exists as long as the trace. Threads: one at a
// time. Errors: all call sites beyond kMaxSites are counted together as one unknown site. Units:
// bytes, events.
#ifndef VRAMSTOW_TRACER_FOLD_FOLD_SUMS_H_
#define VRAMSTOW_TRACER_FOLD_FOLD_SUMS_H_

#include <cstddef>
#include <cstdint>

#include "base/event.h"
#include "tracer/fold/fold_levels.h"
#include "tracer/format/sums.h"

namespace vramstow {

class FoldSums {
 public:
  static constexpr size_t kSites = size_t{1} << 16;
  static constexpr size_t kMaxSites = kSites / 4 * 3;
  static_assert(kMaxSites == FoldSamples::kMaxSites);

  // Adds an event to the sums. `freed` is the kind of memory that the event freed.
  void Add(const Event& event, MemoryKind freed, FoldLevels* levels);
  void CountLost(uint64_t events) { totals_.lost_events += events; }
  void CountLeftOut() { ++totals_.left_out; }
  void LookedUntil(uint64_t time_ns) {
    if (time_ns > totals_.until_ns) totals_.until_ns = time_ns;
  }

  SumTotals Totals(const FoldLevels& levels) const {
    SumTotals totals = totals_;
    levels.FillTotals(&totals);
    return totals;
  }
  // Stores the next sum in *sum; *at is 0 for the first one. Returns false if there are no more.
  bool NextSum(const FoldLevels& levels, size_t* at, TraceSum* sum) const;
  // Stores the next samples in *samples; *at is 0 for the first ones. There are samples of all
  // sites together, and of each site that has ever reached the level `level`. Returns false if
  // there are no more.
  bool NextSamples(const FoldLevels& levels, uint32_t level, size_t* at, SumSamples* samples) const;

  // Returns the number of the event's call site. Numbers begin at 1; 0 means that there are too
  // many call sites.
  uint32_t SiteNumber(const Event& event) { return SiteOf(event).number; }

 private:
  struct Site {
    uint64_t key;  // 0 if empty
    uint64_t allocations;
    uint64_t bytes;
    uint32_t number;
  };
  struct SizeClass {
    uint64_t allocations;
    uint64_t bytes;
  };

  void AddAllocation(const Event& event, FoldLevels* levels);
  Site& SiteOf(const Event& event);
  static void FillTally(const FoldTally& tally, TraceSum* sum);
  bool FillSum(const FoldLevels& levels, size_t at, TraceSum* sum) const;

  SumTotals totals_;
  uint64_t kinds_[256];
  SizeClass sizes_[65];
  size_t site_count_;
  Site unknown_site_;
  Site sites_[kSites];
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FOLD_FOLD_SUMS_H_
