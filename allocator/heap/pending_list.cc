#include "allocator/heap/pending_list.h"

namespace vramstow {

bool PendingList::Open(Fences* fences, uint32_t timeline, bool ordered) {
  fences_ = fences;
  timeline_ = timeline;
  ordered_ = ordered;
  return uses_.Open(kMaxUses);
}

bool PendingList::RecordUse(SpanTable* spans, uint32_t index, uint32_t timeline) {
  Span& span = (*spans)[index];
  if (ordered_ && timeline == timeline_) return true;
  for (uint32_t use = span.uses; use != 0; use = uses_[use].next) {
    if (uses_[use].timeline == timeline) return true;
  }
  if (!uses_.EnsureSpare(1)) return false;
  const uint32_t use = uses_.New();
  uses_[use] = {span.uses, timeline, 0};
  span.uses = use;
  return true;
}

void PendingList::Add(SpanTable* spans, uint32_t index) {
  Span& span = (*spans)[index];
  for (uint32_t use = span.uses; use != 0; use = uses_[use].next) {
    uses_[use].tick = fences_->OpenTick(uses_[use].timeline);
  }
  span.state = SpanState::kPending;
  spans->Link(&head_, index);
}

void PendingList::Remove(SpanTable* spans, uint32_t index) {
  spans->Unlink(&head_, index);
  Span& span = (*spans)[index];
  while (span.uses != 0) {
    const uint32_t use = span.uses;
    span.uses = uses_[use].next;
    uses_.Delete(use);
  }
}

bool PendingList::IsDone(const Span& span) const {
  const bool own = ordered_ && !span.offloaded;
  if (!own && !fences_->Completed(timeline_, span.tick)) return false;
  for (uint32_t use = span.uses; use != 0; use = uses_[use].next) {
    if (!fences_->Completed(uses_[use].timeline, uses_[use].tick)) return false;
  }
  return true;
}

void PendingList::EnsureFences(const SpanTable& spans) {
  for (uint32_t index = head_; index != 0; index = spans[index].list_next) {
    const Span& span = spans[index];
    fences_->Ensure(timeline_, span.tick);
    for (uint32_t use = span.uses; use != 0; use = uses_[use].next) {
      fences_->Ensure(uses_[use].timeline, uses_[use].tick);
    }
  }
}

bool PendingList::WaitForUses(const SpanTable& spans, uint64_t deadline_ns) {
  bool all = true;
  for (uint32_t i = head_; i != 0; i = spans[i].list_next) {
    for (uint32_t use = spans[i].uses; use != 0; use = uses_[use].next) {
      all &= fences_->WaitFor(uses_[use].timeline, uses_[use].tick, deadline_ns);
    }
  }
  return all;
}

}  // namespace vramstow
