// Lives: when each block lived, where it lay, and which call site made it.
//
// Idea: most questions ("what was live at that moment?", "what outlives an iteration?") concern
// blocks, not events. A life is stored when it ends. So that a long trace needs no more memory than
// a short one, the number of lives is bounded: when the list is full, one half is dropped: the
// lives with the smallest product of bytes and events lived. Dropped lives are counted; sums that
// have to be exact are not made from lives.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: none. Units:
// bytes, nanoseconds; events are counted from 1. Memory: kMax lives.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_LIVES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_LIVES_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/event.h"

namespace vramstow {

inline constexpr uint64_t kStillLive = ~uint64_t{0};

struct Life {
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t requested = 0;
  uint64_t birth = 0;           // the event that made it
  uint64_t death = kStillLive;  // the event that ended it
  uint64_t birth_ns = 0;
  uint64_t death_ns = kStillLive;
  // The stream that uses the block. For a segment, this is the stream of its blocks.
  uint64_t stream = kUnknownStream;
  uint32_t site = 0;       // by SiteTable's numbers; 0 if unknown
  uint32_t free_site = 0;  // the call site that freed it
  int16_t device = kNoDevice;
  uint16_t library = kUnknownName;  // the library that made the call
  bool tensor = false;              // requested from a framework's allocator, not from the driver
  bool opened = false;              // was there before the first event
  bool pending = false;             // freed, but not reusable yet

  bool LivesAt(uint64_t event) const { return birth <= event && event < death; }
};

class Lives {
 public:
  static constexpr size_t kMax = size_t{1} << 20;

  explicit Lives(size_t most = kMax) : most_(most) {}

  void Add(const Life& life) {
    if (least_area_ != 0 && AreaOf(life) < least_area_) {
      ++left_out_;
      return;
    }
    lives_.push_back(life);
    if (lives_.size() >= most_) DropHalf();
  }

  // Removes a life that was just added, because its block turned out to be still live.
  void Forget(uint64_t birth) {
    for (size_t i = lives_.size(); i-- > 0 && lives_.size() - i < 64;) {
      if (lives_[i].birth != birth) continue;
      lives_.erase(lives_.begin() + static_cast<ptrdiff_t>(i));
      return;
    }
  }

  const std::vector<Life>& lives() const { return lives_; }
  uint64_t left_out() const { return left_out_; }
  std::vector<Life> Take() { return std::move(lives_); }

 private:
  static double AreaOf(const Life& life) {
    const uint64_t end = life.death == kStillLive ? ~uint64_t{0} >> 1 : life.death;
    // If many lives are equal, only some of them must be dropped, so a small pseudo-random number
    // is added to each.
    const auto jitter = static_cast<double>(life.birth * 0x9e3779b97f4a7c15 >> 54);
    return static_cast<double>(life.size) * static_cast<double>(end - life.birth) *
           (1 + jitter / (1 << 24));
  }
  void DropHalf();

  size_t most_;
  std::vector<Life> lives_;
  double least_area_ = 0;
  uint64_t left_out_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_LIVES_H_
