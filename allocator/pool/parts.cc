#include "allocator/pool/parts.h"

namespace vramstow {

void PoolParts::ApplyLimits(bool for_framework) {
  uint64_t limit = limit_bytes;
  const uint64_t share = share_bytes + heaps.MappedWithoutStream();
  if (for_framework && share_bytes != 0 && (limit == 0 || share < limit)) limit = share;
  if (room_bytes != 0 && (limit == 0 || room_bytes < limit)) limit = room_bytes;
  chunks.budget().set_limit_bytes(limit);
}

void PoolParts::EnsureAllFences() {
  heaps.VisitLocked([this](StreamHeap* heap) {
    kDeviceLock.AssertHeld();
    heap->mutex.AssertHeld();
    heap->EnsureFences();
    fences.Ensure(heap->timeline, fences.OpenTick(heap->timeline));
  });
  fences.Poll();
}

const char* PoolParts::Check() {
  uint64_t backed = chunks.idle_chunks() * config.chunk_bytes + exchange.stuck_bytes() +
                    exchange.taken_bytes() + segment_store.lost_bytes();
  const char* found = nullptr;
  heaps.VisitLocked([&](StreamHeap* heap) {
    kDeviceLock.AssertHeld();
    heap->mutex.AssertHeld();
    if (found == nullptr) found = heap->Check();
    if (found == nullptr) backed += heap->BackedBytes();
  });
  if (found != nullptr) return found;
  const uint64_t elsewhere = exchange.offloaded_bytes() + exchange.discarded_bytes();
  if (backed != chunks.reserved_bytes() + elsewhere) return "a chunk is neither mapped nor idle";
  return nullptr;
}

void PoolParts::CheckIfAsked() {
  if (!config.check) return;
  const char* found = Check();
  const char* none = nullptr;
  if (found != nullptr) check_failure.compare_exchange_strong(none, found);
}

bool PoolParts::RunHooks(HookKind kind, uint64_t bytes) {
  if (!hooks.Run(kind, bytes)) return false;
  events.HooksRan({kind, bytes});
  return true;
}

}  // namespace vramstow
