#include "tools/analysis/accounts/peak_blocks.h"

#include <algorithm>

namespace vramstow {
namespace {

// Compares by several fields, so that no two blocks are equal and the same events always give the
// same list.
bool IsLarger(const LiveBlock& a, const LiveBlock& b) {
  return a.size != b.size ? a.size > b.size : a.birth < b.birth;
}

}  // namespace

void PeakBlocks::Offer(const LiveBlock& block) {
  if (heap_.size() == most_) {
    if (!IsLarger(block, heap_.front())) return;
    std::pop_heap(heap_.begin(), heap_.end(), IsLarger);
    heap_.pop_back();
  }
  heap_.push_back(block);
  std::push_heap(heap_.begin(), heap_.end(), IsLarger);
}

void PeakBlocks::Withdraw(uint64_t birth) {
  std::erase_if(heap_, [birth](const LiveBlock& block) { return block.birth == birth; });
  std::make_heap(heap_.begin(), heap_.end(), IsLarger);
}

bool PeakBlocks::Contains(uint64_t birth) const {
  return std::any_of(heap_.begin(), heap_.end(),
                     [birth](const LiveBlock& block) { return block.birth == birth; });
}

std::vector<LiveBlock> PeakBlocks::Sorted() const {
  std::vector<LiveBlock> sorted = heap_;
  std::sort(sorted.begin(), sorted.end(), IsLarger);
  return sorted;
}

}  // namespace vramstow
