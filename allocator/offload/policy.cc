#include "allocator/offload/policy.h"

#include <algorithm>

#include "base/units.h"

namespace vramstow {
namespace {

constexpr int kGaps = 4;

// Returns the interval between two consecutive touches. `ago` says how many touches ago the
// interval was; 0 is the latest one. Returns 0 if there was no such interval or it was not
// observed.
uint64_t GapAt(uint64_t gaps, int ago) { return gaps >> (16 * ago) & 0xFFFF; }

uint64_t AgeOf(const PageUse& use) { return use.now > use.touched ? use.now - use.touched : 0; }

// True if two intervals are about equal. Iterations do not always have exactly the same number of
// submissions.
bool AreAlike(uint64_t a, uint64_t b) {
  const uint64_t larger = std::max(a, b);
  return larger - std::min(a, b) <= larger / 8 + 1;
}

}  // namespace

uint64_t RankColdest(const void*, const PageUse& use) {
  return uint64_t{use.touched} << 32 | (use.block_id & 0xFFFFFFFFU);
}

uint64_t RankSizeWeighted(const void*, const PageUse& use) {
  const uint64_t kibibytes = std::max<uint64_t>(use.block_bytes / kKiB, 1);
  return ~((AgeOf(use) + 1) * kibibytes);
}

uint64_t RankUses(const void*, const PageUse& use) { return use.uses; }

uint64_t ExpectedTouch(const PageUse& use) {
  const uint64_t latest = GapAt(use.gaps, 0);
  uint64_t gap = 0;
  for (int ago = 1; ago < kGaps && gap == 0 && latest != 0; ++ago) {
    const uint64_t earlier = GapAt(use.gaps, ago);
    if (earlier != 0 && AreAlike(earlier, latest)) gap = GapAt(use.gaps, ago - 1);
  }
  // No interval has repeated yet. The longest one is a better guess than the short ones of a burst.
  if (gap == 0) {
    for (int ago = 0; ago < kGaps; ++ago) gap = std::max(gap, GapAt(use.gaps, ago));
  }
  const uint64_t expected = use.touched + gap;
  // If the expected touch did not happen, or no interval is known, expect the next touch after the
  // page's current age has passed once more.
  return expected > use.now ? expected : use.now + AgeOf(use) + 1;
}

uint64_t RankNextUse(const void*, const PageUse& use) {
  // Among pages with the same expected touch, those of the oldest block leave first. The clock has
  // 32 bits, so the expected touch needs less than two bits more.
  constexpr uint64_t kLatest = (uint64_t{1} << 40) - 1;
  return (kLatest - ExpectedTouch(use)) << 24 | (use.block_id & 0xFFFFFFU);
}

OffloadPolicy MakeOffloadPolicy(OffloadChoice choice) {
  switch (choice) {
    case OffloadChoice::kSize:
      return {RankSizeWeighted};
    case OffloadChoice::kNextUse:
      return {RankNextUse};
    case OffloadChoice::kColdest:
      break;
  }
  return {RankColdest};
}

}  // namespace vramstow
