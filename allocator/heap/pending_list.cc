#include "allocator/heap/pending_list.h"

namespace vramstow {

bool PendingList::Open(Fences* fences, uint32_t timeline, bool ordered, uint32_t max_uses) {
  fences_ = fences;
  timeline_ = timeline;
  ordered_ = ordered;
  return uses_.Open(max_uses);
}

void PendingList::RecordUse(SpanTable* spans, uint32_t index, uint32_t timeline) {
  Span& span = (*spans)[index];
  if ((ordered_ && timeline == timeline_) || span.uses == kByEveryStream) return;
  for (uint32_t use = span.uses; use != 0; use = uses_[use].next) {
    if (uses_[use].timeline == timeline) return;
  }
  if (!uses_.EnsureSpare(1)) {
    DeleteUses(&span);
    span.uses = kByEveryStream;
    return;
  }
  const uint32_t use = uses_.New();
  uses_[use] = {span.uses, timeline, 0};
  span.uses = use;
}

void PendingList::Add(SpanTable* spans, uint32_t index) {
  Span& span = (*spans)[index];
  if (span.uses == kByEveryStream) {
    span.id = fences_->OpenTick(Fences::kEverything);
  } else {
    for (uint32_t use = span.uses; use != 0; use = uses_[use].next) {
      uses_[use].tick = fences_->OpenTick(uses_[use].timeline);
    }
  }
  span.state = SpanState::kPending;
  spans->Link(&head_, index);
}

void PendingList::Remove(SpanTable* spans, uint32_t index) {
  spans->Unlink(&head_, index);
  DeleteUses(&(*spans)[index]);
}

void PendingList::DeleteUses(Span* span) {
  if (span->uses == kByEveryStream) span->uses = 0;
  while (span->uses != 0) {
    const uint32_t use = span->uses;
    span->uses = uses_[use].next;
    uses_.Delete(use);
  }
}

template <typename Visit>
void PendingList::VisitUses(const Span& span, Visit visit) const {
  if (span.uses == kByEveryStream) {
    visit(Fences::kEverything, static_cast<uint32_t>(span.id));
    return;
  }
  for (uint32_t use = span.uses; use != 0; use = uses_[use].next) {
    visit(uses_[use].timeline, uses_[use].tick);
  }
}

bool PendingList::IsDone(const Span& span) const {
  const bool own = ordered_ && !span.offloaded;
  if (!own && !fences_->Completed(timeline_, span.tick)) return false;
  bool all = true;
  VisitUses(span, [&](uint32_t timeline, uint32_t tick) {
    all = all && fences_->Completed(timeline, tick);
  });
  return all;
}

void PendingList::EnsureFences(const SpanTable& spans) {
  for (uint32_t index = head_; index != 0; index = spans[index].list_next) {
    const Span& span = spans[index];
    fences_->Ensure(timeline_, span.tick);
    VisitUses(span, [&](uint32_t timeline, uint32_t tick) {
      kDeviceLock.AssertHeld();
      fences_->Ensure(timeline, tick);
    });
  }
}

bool PendingList::WaitForUses(const SpanTable& spans, uint64_t deadline_ns) {
  bool all = true;
  for (uint32_t i = head_; i != 0; i = spans[i].list_next) {
    VisitUses(spans[i], [&](uint32_t timeline, uint32_t tick) {
      kDeviceLock.AssertHeld();
      all &= fences_->WaitFor(timeline, tick, deadline_ns);
    });
  }
  return all;
}

}  // namespace vramstow
