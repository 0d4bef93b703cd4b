// What a driver refused: it was told before the driver was asked, and is undone here.
#include "tools/analysis/analyzer.h"

namespace vramstow {

void Analyzer::AddRefused(const Event& event) {
  Announcement* announcement = announcements_.Find(event.thread, event.object);
  if (announcement == nullptr) {
    ++counts_.unmatched_refusals;
    return;
  }
  ++levels_.Library(announcement->library).failed;
  ++levels_.Call(announcement->call).failed;
  ++levels_.Kind(announcement->memory).failed;
  switch (announcement->kind) {
    case EventKind::kUnmap:
      UndoUnmap(*announcement, Now(event));
      break;
    case EventKind::kUnreserve:
      KeepPeakFragmentation();
      address_space_.Reserve(announcement->address, announcement->range_size);
      break;
    default:
      UndoFree(event, *announcement);
      break;
  }
  announcement->sequence = 0;
}

void Analyzer::UndoFree(const Event& event, const Announcement& announcement) {
  const Moment now = Now(event);
  if (announcement.kind == EventKind::kFree) {
    --counts_.frees;
    ++counts_.refused_frees;
    --levels_.Library(announcement.library).frees;
    --levels_.Call(announcement.call).frees;
    --levels_.Kind(announcement.memory).frees;
    if (announcement.place == BlockPlace::kNowhere && announcement.address != 0) {
      --counts_.frees_of_unseen;
    }
  }
  if (announcement.place == BlockPlace::kNowhere) return;
  if (announcement.place != BlockPlace::kPhysical) {
    lives_.Forget(announcement.block.birth);
    const LiveBlock block = levels_.Revived(announcement.block, announcement.event, now);
    LiveBlock* known;
    if (Table(announcement.place)->Insert(block, &known)) {
      if (block.pooled) PlaceInPool(event, block);
      return;
    }
    // Somebody else was given the address in between: then it was free after all.
    Die(block);
    return;
  }
  const PhysicalChange& change = announcement.physical;
  if (!physical_.UndoRelease(change, announcement.address)) return;
  lives_.Forget(change.block.birth);
  physical_.Replace(change.memory, levels_.Revived(change.block, announcement.event, now));
}

void Analyzer::UndoUnmap(const Announcement& announcement, const Moment& now) {
  KeepPeakFragmentation();
  for (const auto& [mapping, change] : announcement.mappings) {
    if (!address_space_.Map(mapping)) continue;
    if (!physical_.UndoUnmap(change)) continue;
    lives_.Forget(change.block.birth);
    physical_.Replace(change.memory, levels_.Revived(change.block, announcement.event, now));
  }
}

}  // namespace vramstow
