#include "allocator/pool/pool_pages.h"

#include <algorithm>

#include "allocator/core/counter.h"

namespace vramstow {

uint64_t PoolPages::NewChunks(uint64_t if_unknown) {
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;
  const DriverTable* const table = driver();
  if (table->memory_info(table->self, &free_bytes, &total_bytes) != kDriverSuccess) {
    return if_unknown;
  }
  return std::min(free_bytes / page_bytes(), parts_->chunks.ChunksUnderLimit());
}

void PoolPages::MakeUpTo(uint64_t count, uint64_t idle) {
  // Large chunks are dissolved, because pages are restored one by one and each needs a chunk of its
  // own.
  parts_->chunks.DissolveLarge(count);
  if (idle >= count) return;
  uint64_t made = 0;
  parts_->chunks.Make(std::min(count - idle, parts_->chunks.ChunksUnderLimit()), &made);
  Bump(&parts_->counters.grown, made);
}

// Cached memory of any heap is used before the pool grows.
void PoolPages::ReclaimCached(uint64_t count) {
  const uint64_t idle = parts_->chunks.IdleFor(Fences::kEverything);
  if (idle >= count) return;
  parts_->EnsureAllFences();
  trimmer_->StripAll(count - idle, ~uint32_t{0});
}

void PoolPages::ReclaimFreed(uint64_t count) {
  uint64_t idle = parts_->chunks.idle_chunks();
  if (idle >= count || parts_->chunks.segments()) return;
  VisitHeaps(kAnyTag, /*graphs=*/false, [&](StreamHeap* heap) {
    kDeviceLock.AssertHeld();
    heap->mutex.AssertHeld();
    if (idle >= count) return;
    heap->Settle();
    idle += heap->Strip(count - idle, ~uint32_t{0}, Plan(), /*own=*/true).pages;
  });
}

uint64_t PoolPages::Hold(uint64_t address, uint64_t size) {
  const uint64_t page = page_bytes();
  uint64_t at = address / page * page;
  for (; at < address + size; at += page) {
    if (parts_->space.HeapOf(at) == AddressSpace::kNoHeap) break;
    if (parts_->space.PageAt(at).chunk == 0) break;
    parts_->chunks.Register(at);
  }
  return at <= address ? 0 : std::min(at - address, size);
}

void PoolPages::Release(uint64_t address, uint64_t size) {
  const uint64_t page = page_bytes();
  for (uint64_t at = address / page * page; at < address + size; at += page) {
    parts_->chunks.Deregister(at);
  }
}

bool PoolPages::HasWorkEnded() {
  DeviceLock device_lock(&parts_->mutex);
  Fences& fences = parts_->fences;
  if (fences.capturing()) return false;
  return fences.WaitFor(Fences::kEverything, fences.OpenTick(Fences::kEverything), WaitClock());
}

uint64_t PoolPages::IdleBytes() {
  DeviceLock device_lock(&parts_->mutex);
  return parts_->chunks.idle_chunks() * page_bytes();
}

uint64_t PoolPages::ReleaseIdle(uint64_t count) { return trimmer_->ReleaseIdle(count); }

void PoolPages::Trim(uint64_t bytes, uint64_t released) {
  const TrimResult result = trimmer_->Trim({.bytes = bytes}, released);
  if (result.released_bytes != 0) parts_->RunHooks(HookKind::kTrimmed, result.released_bytes);
}

uint64_t PoolPages::BytesOnHost(uint64_t address, uint64_t size) {
  DeviceLock device_lock(&parts_->mutex);
  const uint64_t page = page_bytes();
  const uint64_t end = address + size;
  uint64_t bytes = 0;
  for (uint64_t at = address / page * page; at < end; at += page) {
    if (parts_->chunks.OnHost(at)) bytes += std::min(at + page, end) - std::max(at, address);
  }
  return bytes;
}

bool PoolPages::PinInPlace(uint64_t address, uint64_t size) {
  DeviceLock device_lock(&parts_->mutex);
  const uint64_t page = page_bytes();
  const uint64_t end = address + size;
  for (uint64_t at = address / page * page; at < end; at += page) {
    if (parts_->chunks.OnHost(at)) return false;
  }
  for (uint64_t at = address / page * page; at < end; at += page) {
    Touch(std::max(at, address), AddressSpace::kHeld);
  }
  return true;
}

void PoolPages::MarkOffloaded() {
  ChunkStore& chunks = parts_->chunks;
  if (chunks.makes_large()) parts_->EnsureAllFences();
  VisitHeaps(kAnyTag, /*graphs=*/false, [&](StreamHeap* heap) {
    kDeviceLock.AssertHeld();
    heap->mutex.AssertHeld();
    heap->MarkOffloaded([&](const Span& span) {
      return HasPage(span, [&](uint64_t at) { return chunks.OnHost(at); });
    });
    // Evicting a large chunk has also evicted its free pages.
    if (chunks.makes_large()) heap->DropHostPages();
  });
}

void PoolPages::DropPaused() {
  MarkOffloaded();
  parts_->EnsureAllFences();
  VisitHeaps(kAnyTag, /*graphs=*/false, [](StreamHeap* heap) {
    kDeviceLock.AssertHeld();
    heap->mutex.AssertHeld();
    if (heap->paused()) heap->DropHostPages();
  });
}

void PoolPages::Pause(uint32_t tag, bool graphs) {
  VisitHeaps(tag, graphs, [](StreamHeap* heap) {
    kDeviceLock.AssertHeld();
    heap->mutex.AssertHeld();
    heap->set_paused(true);
  });
}

uint32_t PoolPages::PausedTagFrom(uint32_t least) {
  uint32_t found = kAnyTag;
  VisitHeaps(kAnyTag, /*graphs=*/true, [&](const StreamHeap* heap) {
    const uint32_t tag = heap->key.Get().tag;
    if (heap->paused() && tag >= least && tag < found) found = tag;
  });
  return found;
}

void PoolPages::EndPause(uint32_t tag) {
  ChunkStore& chunks = parts_->chunks;
  VisitHeaps(tag, /*graphs=*/true, [&](StreamHeap* heap) {
    kDeviceLock.AssertHeld();
    heap->mutex.AssertHeld();
    if (!heap->paused()) return;
    bool any = false;
    static_cast<const StreamHeap*>(heap)->spans().Visit([&](const Span& span) {
      if (span.state == SpanState::kHole) return;
      any = any || HasPage(span, [&](uint64_t at) { return chunks.Paused(at); });
    });
    heap->set_paused(any);
  });
}

}  // namespace vramstow
