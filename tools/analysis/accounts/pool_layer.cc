#include "tools/analysis/accounts/pool_layer.h"

#include <optional>

#include "base/typed_event.h"

namespace vramstow {

void PoolLayer::Add(const Event& event) {
  if (event.kind == EventKind::kTouch) return;  // only used by replay
  if (event.kind == EventKind::kOffload || event.kind == EventKind::kReturn) {
    return residency_.Add(event, accounts_.events(), accounts_.now_ns());
  }
  if (residency_.any() && (event.kind == EventKind::kMap || event.kind == EventKind::kUnmap)) {
    residency_.End(event.address, event.size, accounts_.events(), accounts_.now_ns());
  }
  any_ = true;
  if (event.kind == EventKind::kCacheTrim) cache_.Trimmed(event);
  if (event.kind != EventKind::kFree && event.kind != EventKind::kUnmap) cache_.EndFlush();
  switch (event.kind) {
    case EventKind::kAllocate:
      return Take(event, false);
    case EventKind::kMap:
      return Take(event, true);
    case EventKind::kFree:
      return GiveBack(event, false);
    case EventKind::kUnmap:
      return GiveBack(event, true);
    case EventKind::kRefused:
      ++accounts_.counts().unmatched_refusals;
      return;
    case EventKind::kMemoryInfo:
      return looks_.Add(event);
    case EventKind::kCacheMiss:
      return cache_.Missed();
    case EventKind::kCacheStitch:
      return cache_.Stitched();
    case EventKind::kCacheFenceWait:
      return cache_.WaitedForFence(FenceWaitEvent::Of(event).waited_ns);
    default:
      return;  // such events are only counted by kind
  }
}

void PoolLayer::Take(const Event& event, bool grows) {
  if (event.result != 0) return;
  const std::optional<uint64_t> bytes = segments_.Take(event, grows);
  if (bytes.has_value() && !accounts_.IsOpening(event)) cache_.Taken(*bytes);
}

void PoolLayer::GiveBack(const Event& event, bool shrinks) {
  const uint64_t bytes = segments_.GiveBack(event, shrinks);
  if (bytes != 0) cache_.GivenBack(event, bytes);
}

}  // namespace vramstow
