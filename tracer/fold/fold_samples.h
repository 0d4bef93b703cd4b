// FoldSamples samples, over the whole run, how much device memory of each call site is live while
// events are folded (replaced by sums).
//
// Idea: the analysis computes from these levels how much a call site grows in an hour. It does not
// use blocks for this, because a block that replaces an older one also looks new. The analysis
// samples the same levels at the same moments (SampleClock), so that its samples continue these.
//
// Ownership: a value in memory of zeros, for the life of the trace. Threads: one at a time. Errors:
// none. No heap. Units: bytes; samples in kSampleUnit; sites by their numbers, where 0 stands for
// all sites that have no room.
#ifndef VRAMSTOW_TRACER_FOLD_FOLD_SAMPLES_H_
#define VRAMSTOW_TRACER_FOLD_FOLD_SAMPLES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tracer/format/sample_clock.h"
#include "tracer/format/sums.h"

namespace vramstow {

class FoldSamples {
 public:
  static constexpr size_t kMaxSites = 3 * (size_t{1} << 14);

  // Resets the live memory to 0, but not the samples.
  void Begin() {
    all_.now = 0;
    for (size_t i = 0; i < used_; ++i) rows_[i].now = 0;
  }
  void Add(uint32_t site, uint64_t bytes) {
    used_ = std::max(used_, site + size_t{1});
    rows_[site].now += bytes;
    all_.now += bytes;
  }
  void Remove(uint32_t site, uint64_t bytes) {
    rows_[site].now -= bytes;
    all_.now -= bytes;
  }
  // Takes the samples that are due, before an event at this time changes a level.
  void Pass(uint64_t time_ns) {
    if (!clock_.IsDue(time_ns)) return;
    clock_.Pass(
        time_ns,
        [this](size_t i) {
          Store(&all_, i);
          for (size_t site = 0; site < used_; ++site) Store(&rows_[site], i);
        },
        [this] {
          Halve(&all_);
          for (size_t site = 0; site < used_; ++site) Halve(&rows_[site]);
        });
  }

  // Returns the smallest power of two that the highest levels of no more than `most` sites reach.
  uint32_t LevelOfMost(size_t most) const {
    uint32_t level = 1;
    while (level < uint32_t{1} << 31 && CountOf(level) > most) level *= 2;
    return level;
  }
  // Returns the levels of a site, or null if the site has never reached the level `level`.
  const uint32_t* Of(uint32_t site, uint32_t level) const {
    return site < used_ && Highest(rows_[site]) >= level ? rows_[site].levels : nullptr;
  }
  const uint32_t* OfAll() const { return all_.levels; }
  const SampleClock& clock() const { return clock_; }

 private:
  struct Row {
    uint64_t now;
    uint32_t levels[kMaxSamples];
  };

  static void Store(Row* row, size_t i) { row->levels[i] = SampleOf(row->now); }
  static void Halve(Row* row) {
    for (size_t i = 0; i < kMaxSamples / 2; ++i) row->levels[i] = row->levels[2 * i + 1];
  }
  uint32_t Highest(const Row& row) const {
    return clock_.count() == 0 ? 0 : *std::max_element(row.levels, row.levels + clock_.count());
  }
  size_t CountOf(uint32_t level) const {
    return static_cast<size_t>(std::count_if(
        rows_, rows_ + used_, [=, this](const Row& row) { return Highest(row) >= level; }));
  }

  SampleClock clock_;
  size_t used_;  // the number of rows in use
  Row all_;
  Row rows_[kMaxSites + 1];
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FOLD_FOLD_SAMPLES_H_
