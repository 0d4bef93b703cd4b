// PeakLevel: a number of live bytes and blocks, and its value at the peak of the process.
//
// Idea: a new peak comes with almost every allocation of a growing process, so nothing may be
// copied then. Peaks are numbered instead (the epoch), and a level saves its value when it changes
// for the first time after a peak. A level that did not change since then still has that value.
//
// Ownership: a plain value. Threads: used by one thread at a time. Errors: none. Units: bytes,
// blocks.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_PEAK_LEVEL_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_PEAK_LEVEL_H_

#include <algorithm>
#include <cstdint>

#include "tools/analysis/facts/facts.h"

namespace vramstow {

class PeakLevel {
 public:
  // Adds a block. `epoch` is the number of the latest peak before this change.
  void Add(uint64_t bytes, uint64_t epoch) {
    SaveBefore(epoch);
    now_.bytes += bytes;
    now_.blocks += 1;
    highest_bytes_ = std::max(highest_bytes_, now_.bytes);
  }
  void Remove(uint64_t bytes, uint64_t epoch) {
    SaveBefore(epoch);
    now_.bytes -= bytes;
    now_.blocks -= 1;
  }

  // Raises the highest value to at least `bytes`, because another source has recorded that level.
  void WasAsHighAs(uint64_t bytes) { highest_bytes_ = std::max(highest_bytes_, bytes); }

  const Amount& now() const { return now_; }
  uint64_t highest_bytes() const { return highest_bytes_; }
  const Amount& AtPeak(uint64_t epoch) const { return epoch_ == epoch ? at_peak_ : now_; }

 private:
  void SaveBefore(uint64_t epoch) {
    if (epoch_ == epoch) return;
    epoch_ = epoch;
    at_peak_ = now_;
  }

  Amount now_;
  Amount at_peak_;
  uint64_t epoch_ = 0;  // the peak that at_peak_ belongs to; epoch 0 is the empty begin
  uint64_t highest_bytes_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_PEAK_LEVEL_H_
