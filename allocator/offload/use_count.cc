#include "allocator/offload/use_count.h"

#include <algorithm>
#include <utility>

#include "allocator/offload/policy.h"

namespace vramstow {

void UseCount::Look(uint32_t clock) { look_before_clock_ = std::exchange(last_look_clock_, clock); }

void UseCount::Restart(uint32_t clock) {
  from_clock_ = clock;
  pool_->CountUsesAnew();
}

uint64_t UseCount::ListOftenUsed(uint64_t most, uint32_t clock) {
  pages_->Fill(PagesThatAre::kOffloaded, PoolPages::kAnyTag, {RankUses}, clock);
  pages_->DropRank(0);
  if (pages_->count() == 0) Restart(clock);
  pages_->DropRanksBelow(kOften);
  pages_->DropUntouchedSince(look_before_clock_);
  const uint64_t count = std::min(pages_->count(), most);
  pages_->PutLargestFirst(count);
  return count;
}

uint64_t UseCount::ListResting(uint64_t most, uint32_t clock) {
  const uint64_t often = ListOftenUsed(most, clock);
  if (often == 0) return 0;
  pages_->Fill(PagesThatAre::kResident, PoolPages::kAnyTag, kColdest, clock);
  pages_->DropPinned();
  pages_->DropTouchedSince(from_clock_);
  const uint64_t count = std::min(often, pages_->count());
  // If all other pages were used meanwhile, perhaps some of them are not used from now on.
  if (count == 0) Restart(clock);
  pages_->PutSmallestFirst(count);
  return count;
}

}  // namespace vramstow
