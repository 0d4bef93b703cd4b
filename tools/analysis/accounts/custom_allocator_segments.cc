#include "tools/analysis/accounts/custom_allocator_segments.h"

#include <algorithm>
#include <utility>

namespace vramstow {

void CustomAllocatorSegments::NoteBlock(const Event& event, const LiveBlock& block) {
  if (block.memory != MemoryKind::kDevice || block.pooled || event.device == kNoDevice) return;
  Add({block.address, block.size, kUnknownMemory, event.thread});
}

void CustomAllocatorSegments::NoteMapping(const Event& event, uint64_t memory) {
  const LiveBlock* block = memory_.physical().Find(memory);
  if (block == nullptr || block->holds || block->imported) return;
  if (block->memory != MemoryKind::kPhysical) return;
  const Candidate candidate = {event.address, event.size, memory, event.thread};
  const auto before = has_held_.find(event.address);
  if (before != has_held_.end() && before->second == event.size) return Mark(candidate);
  Add(candidate);
}

void CustomAllocatorSegments::Add(const Candidate& candidate) {
  if (candidates_.size() == kMaxCandidates) candidates_.erase(candidates_.begin());
  candidates_.push_back(candidate);
}

void CustomAllocatorSegments::Look(const Event& tensor) {
  // Marking a candidate may change the list of candidates, so the candidates of this thread are
  // removed from the list first.
  const auto others =
      std::stable_partition(candidates_.begin(), candidates_.end(),
                            [&tensor](const auto& one) { return one.thread == tensor.thread; });
  const std::vector<Candidate> own(candidates_.begin(), others);
  candidates_.erase(candidates_.begin(), others);
  for (const Candidate& one : own) {
    const bool overlaps =
        one.address < tensor.address + tensor.size && tensor.address < one.address + one.size;
    if (overlaps) Mark(one);
  }
}

void CustomAllocatorSegments::Mark(const Candidate& candidate) {
  LiveBlock* block = candidate.memory == kUnknownMemory
                         ? memory_.At(BlockPlace::kAddresses).table().Find(candidate.address)
                         : memory_.physical().Find(candidate.memory);
  if (block == nullptr || block->holds) return;
  accounts_.Holds(block);
  if (candidate.memory != kUnknownMemory) has_held_[candidate.address] = candidate.size;
}

}  // namespace vramstow
