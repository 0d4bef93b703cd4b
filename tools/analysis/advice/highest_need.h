// HighestNeed: computes the highest number of bytes that the tensors of a device need in one
// iteration: as recorded, or if some of them were smaller or absent for a while.
//
// Ownership: keeps its own copies. Threads: const functions may be called at the same time. Errors:
// none. Units: bytes; events are counted from 1.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_HIGHEST_NEED_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_HIGHEST_NEED_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "tools/analysis/facts/detail.h"

namespace vramstow {

// Bytes that are not needed from one event to another; negative if more are needed.
struct SavedBytes {
  int64_t bytes = 0;
  uint64_t begin = 0;
  uint64_t end = kStillLive;
};

class HighestNeed {
 public:
  // Reads the lives of [begin, end), which are events.
  HighestNeed(const Detail& detail, int device, uint64_t begin, uint64_t end);

  uint64_t With(const std::vector<SavedBytes>& savings) const;

 private:
  using Steps = std::vector<std::pair<uint64_t, int64_t>>;  // by event

  static uint64_t HighestOf(const Steps& steps);
  void Add(int64_t bytes, uint64_t begin, uint64_t end, Steps* steps) const;

  uint64_t begin_;
  uint64_t end_;
  Steps steps_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_HIGHEST_NEED_H_
