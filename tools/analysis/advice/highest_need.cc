#include "tools/analysis/advice/highest_need.h"

#include <algorithm>

namespace vramstow {

HighestNeed::HighestNeed(const Detail& detail, int device, uint64_t begin, uint64_t end)
    : begin_(begin), end_(end) {
  for (const Life& life : detail.lives) {
    if (!life.tensor || life.pending || life.device != device) continue;
    Add(static_cast<int64_t>(life.size), life.birth, life.death, &steps_);
  }
}

void HighestNeed::Add(int64_t bytes, uint64_t begin, uint64_t end, Steps* steps) const {
  begin = std::max(begin, begin_);
  if (begin >= std::min(end, end_)) return;
  steps->emplace_back(begin, bytes);
  if (end < end_) steps->emplace_back(end, -bytes);
}

uint64_t HighestNeed::With(const std::vector<SavedBytes>& savings) const {
  Steps steps = steps_;
  for (const SavedBytes& saved : savings) Add(-saved.bytes, saved.begin, saved.end, &steps);
  std::ranges::sort(steps, {}, &std::pair<uint64_t, int64_t>::first);
  return HighestOf(steps);
}

uint64_t HighestNeed::HighestOf(const Steps& steps) {
  int64_t bytes = 0;
  int64_t highest = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    bytes += steps[i].second;
    const bool is_last_of_event = i + 1 == steps.size() || steps[i + 1].first != steps[i].first;
    if (is_last_of_event) highest = std::max(highest, bytes);
  }
  return static_cast<uint64_t>(highest);
}

}  // namespace vramstow
