#include "tools/analysis/accounts/framework_layer.h"

#include <algorithm>

namespace vramstow {

void FrameworkLayer::Add(const Event& event) {
  if (!accounts_.IsOpening(event)) accounts_.CountCall(event);
  switch (event.kind) {
    case EventKind::kAllocate:
      return AddAllocate(event);
    case EventKind::kFree:
      return AddFree(event);
    case EventKind::kFreeCompleted:
      return EndPending(event.address);
    default:
      return;
  }
}

void FrameworkLayer::AddAllocate(const Event& event) {
  if (event.result != 0) return failures_.Add(event);
  failures_.NoteServed(event);
  LiveBlock block = accounts_.BlockOf(event);
  block.pooled = true;
  block.opened = accounts_.IsOpening(event);
  if (!block.opened) {
    accounts_.CountAllocation(block);
  } else if (IsDeviceMemory(block.memory)) {
    accounts_.Request(block.requested);
  }
  blocks_.Add(block, accounts_.Now(event));
  segments_.Place(event, block);
}

void FrameworkLayer::AddFree(const Event& event) {
  LiveBlock block;
  if (!blocks_.table().Take(event.address, &block)) {
    if (event.address != 0) ++accounts_.counts().frees_of_unseen;
    accounts_.CountFree(event, event.memory);
    return;
  }
  accounts_.CountFree(event, block.memory);
  if (block.opened) ++accounts_.counts().frees_of_unseen;
  accounts_.End(block, accounts_.SiteByStack(event));
  if (!reports_completed_frees_) {
    if (space_.pool().any()) space_.Clear(block);
    return;
  }
  pending_.insert_or_assign(block.address, Pending{block, accounts_.events(), accounts_.now_ns()});
  pending_bytes_ += block.size;
  pending_peak_bytes_ = std::max(pending_peak_bytes_, pending_bytes_);
}

void FrameworkLayer::EndPending(uint64_t address) {
  const auto known = pending_.find(address);
  if (known == pending_.end()) return;
  const Pending pending = known->second;
  pending_.erase(known);
  pending_bytes_ -= pending.block.size;
  if (space_.pool().any()) space_.Clear(pending.block);
  // Usually the memory may be used again at once after a free; then no separate life of the pending
  // block is stored.
  if (pending.since + 1 >= accounts_.events()) return;
  Life life = LifeOf(pending);
  life.death = accounts_.events();
  life.death_ns = accounts_.now_ns();
  accounts_.lives().Add(life);
}

Life FrameworkLayer::LifeOf(const Pending& pending) {
  Life life = Accounts::LifeOf(pending.block);
  life.pending = true;
  life.birth = pending.since;
  life.birth_ns = pending.since_ns;
  return life;
}

void FrameworkLayer::EndLives() {
  for (const auto& [address, pending] : pending_) accounts_.lives().Add(LifeOf(pending));
}

std::optional<uint64_t> FrameworkLayer::pending_peak_bytes() const {
  if (!reports_completed_frees_) return std::nullopt;
  return pending_peak_bytes_;
}

}  // namespace vramstow
