#include "tools/analysis/accounts/framework_layer.h"

#include <algorithm>

namespace vramstow {

void FrameworkLayer::Add(const Event& event) {
  if (!accounts_.IsOpening(event)) accounts_.CountCall(event);
  if (!just_freed_.empty()) NoteNext(event);
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
  const auto [place, is_new] = pending_.try_emplace(block.address);
  if (!is_new && place->second.waits) waiting_bytes_ -= place->second.block.size;
  place->second = Pending{block, accounts_.events(), accounts_.now_ns()};
  just_freed_[event.device] = block.address;
}

void FrameworkLayer::Lose(uint64_t address) {
  LiveBlock block;
  if (!blocks_.table().Take(address, &block)) return;
  accounts_.End(block);
  if (space_.pool().any()) space_.Clear(block);
}

void FrameworkLayer::NoteNext(const Event& event) {
  const auto freed = just_freed_.find(event.device);
  if (freed == just_freed_.end()) return;
  const uint64_t address = freed->second;
  just_freed_.erase(freed);
  if (event.kind == EventKind::kFreeCompleted && event.address == address) return;
  const auto known = pending_.find(address);
  if (known == pending_.end() || known->second.waits) return;
  known->second.waits = true;
  waiting_bytes_ += known->second.block.size;
  waiting_peak_bytes_ = std::max(waiting_peak_bytes_, waiting_bytes_);
}

void FrameworkLayer::EndPending(uint64_t address) {
  const auto known = pending_.find(address);
  if (known == pending_.end()) return;
  const Pending pending = known->second;
  pending_.erase(known);
  if (pending.waits) waiting_bytes_ -= pending.block.size;
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
  // Blocks that were freed by the last event of a device wait until the end.
  uint64_t at_end = waiting_bytes_;
  for (const auto& [device, address] : just_freed_) {
    const auto known = pending_.find(address);
    if (known != pending_.end() && !known->second.waits) at_end += known->second.block.size;
  }
  return std::max(waiting_peak_bytes_, at_end);
}

}  // namespace vramstow
