#include "tools/analysis/accounts/refusals.h"

#include "base/typed_event.h"

namespace vramstow {

void Refusals::Add(const Event& event) {
  ProvisionalFree* free = frees_.Find(event.thread, RefusedSequence(event));
  if (free == nullptr) {
    ++accounts_.counts().unmatched_refusals;
    return;
  }
  accounts_.CountFailedCall(free->library, free->call, free->memory);
  switch (free->kind) {
    case EventKind::kUnmap:
      UndoUnmap(event, *free);
      break;
    case EventKind::kUnreserve:
      space_.KeepPeak();
      space_.addresses().Reserve(free->address, free->range_size);
      break;
    default:
      UndoFree(event, *free);
      break;
  }
  free->sequence = 0;
}

void Refusals::UndoFree(const Event& event, const ProvisionalFree& free) {
  if (free.kind == EventKind::kFree && !free.Held()) {
    accounts_.UncountFree(free.library, free.call, free.memory);
    ++accounts_.counts().refused_frees;
    if (free.place == BlockPlace::kNowhere && free.address != 0) {
      --accounts_.counts().frees_of_unseen;
    }
  }
  if (free.place == BlockPlace::kNowhere) return;
  if (free.place == BlockPlace::kPhysical) {
    if (memory_.physical().UndoRelease(free.physical, free.address)) {
      Revive(event, free.physical, free.event);
    }
    return;
  }
  accounts_.lives().Forget(free.block.birth);
  const LiveBlock block = accounts_.levels().Revived(free.block, free.event, accounts_.Now(event));
  LiveBlock* known;
  if (memory_.At(free.place).table().Insert(block, &known)) {
    if (block.pooled) segments_.Place(event, block);
    return;
  }
  // The address was allocated again before the refusal, so the block was free after all.
  accounts_.End(block);
}

void Refusals::UndoUnmap(const Event& event, const ProvisionalFree& free) {
  space_.KeepPeak();
  for (const auto& [mapping, change] : free.mappings) {
    if (!space_.addresses().Map(mapping)) continue;
    if (memory_.physical().UndoUnmap(change)) Revive(event, change, free.event);
  }
}

void Refusals::Revive(const Event& event, const PhysicalChange& change, uint64_t died) {
  accounts_.lives().Forget(change.block.birth);
  const LiveBlock block = accounts_.levels().Revived(change.block, died, accounts_.Now(event));
  memory_.physical().Replace(change.memory, block);
}

}  // namespace vramstow
