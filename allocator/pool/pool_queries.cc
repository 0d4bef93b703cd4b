// The functions of Pool that answer queries and change settings.
#include "allocator/pool/pool.h"
#include "allocator/pool/report_writer.h"

namespace vramstow {

PoolStats Pool::Stats() { return CollectStats(&parts_); }

void Pool::ResetPeaks() {
  DeviceLock device_lock(&parts_.mutex);
  parts_.peak.Reset();
  parts_.chunks.budget().ResetPeak();
}

void Pool::SetLimit(uint64_t bytes) {
  DeviceLock device_lock(&parts_.mutex);
  parts_.limit_bytes = bytes;
  parts_.ApplyLimits(true);
}

void Pool::SetShare(uint64_t bytes) {
  DeviceLock device_lock(&parts_.mutex);
  parts_.share_bytes = bytes;
  parts_.ApplyLimits(true);
}

void Pool::SetRoom(uint64_t bytes) {
  DeviceLock device_lock(&parts_.mutex);
  if (parts_.room_bytes == bytes) return;
  parts_.room_bytes = bytes;
  parts_.ApplyLimits(true);
}

void Pool::SetReachable(uint64_t bytes) {
  DeviceLock device_lock(&parts_.mutex);
  parts_.reachable_bytes = bytes;
}

uint64_t Pool::LimitReachedBy(uint64_t bytes) {
  DeviceLock device_lock(&parts_.mutex);
  const MemoryBudget& budget = parts_.chunks.budget();
  const uint64_t limit = budget.limit_bytes();
  if (limit == 0 || limit == parts_.room_bytes || limit >= device_bytes()) return 0;
  const uint64_t reserved = budget.reserved_bytes();
  return reserved >= limit || bytes > limit - reserved ? limit : 0;
}

bool Pool::HasRoomLimit() {
  DeviceLock device_lock(&parts_.mutex);
  return parts_.room_bytes != 0;
}

// Returns the cached bytes of private pools that graphs may still write to. No other request gets
// this memory.
uint64_t Pool::RetainedCache() {
  uint64_t retained = 0;
  parts_.heaps.VisitLocked([&](StreamHeap* heap) {
    heap->mutex.AssertHeld();
    if (!heap->graph_pinned() || heap->paused()) return;
    const uint64_t mapped =
        heap->mapped_bytes(SpanTable::kSmallZone) + heap->mapped_bytes(SpanTable::kLargeZone);
    const uint64_t live = heap->stats.allocated_bytes.load(std::memory_order_relaxed);
    retained += mapped - std::min(mapped, live);
  });
  return retained;
}

// Returns the bytes of live blocks that use device memory. Memory that was evicted to the host or
// discarded uses none.
uint64_t Pool::ResidentBytes(const PoolStats& stats) const {
  const uint64_t away = parts_.exchange.offloaded_bytes() + parts_.exchange.discarded_bytes();
  return stats.allocated_bytes > away ? stats.allocated_bytes - away : 0;
}

uint64_t Pool::Cached(const PoolStats& stats) {
  const uint64_t used = ResidentBytes(stats) + RetainedCache();
  return stats.reserved_bytes > used ? stats.reserved_bytes - used : 0;
}

uint64_t Pool::CachedBytes() {
  DeviceLock device_lock(&parts_.mutex);
  return Cached(Stats());
}

DriverResult Pool::MemoryInfo(uint64_t* free_bytes, uint64_t* total_bytes) {
  const DriverTable* driver = parts_.driver;
  const DriverResult result = driver->memory_info(driver->self, free_bytes, total_bytes);
  if (result == kDriverSuccess) AdjustMemoryInfo(free_bytes, total_bytes);
  return result;
}

void Pool::AdjustMemoryInfo(uint64_t* free_bytes, uint64_t* total_bytes) {
  DeviceLock device_lock(&parts_.mutex);
  const PoolStats stats = Stats();
  const uint64_t resident = ResidentBytes(stats);
  *free_bytes += Cached(stats);
  const uint64_t reachable = parts_.reachable_bytes;
  if (reachable != 0) *free_bytes = reachable - std::min(reachable, stats.allocated_bytes);
  if (*free_bytes > *total_bytes) *free_bytes = *total_bytes;
  const uint64_t limit = parts_.limit_bytes;
  if (limit == 0) return;
  if (*total_bytes > limit) *total_bytes = limit;
  const uint64_t left = resident < limit ? limit - resident : 0;
  if (*free_bytes > left) *free_bytes = left;
}

OutOfMemoryReport Pool::LastReport() {
  DeviceLock device_lock(&parts_.mutex);
  return ladder_.LastReport();
}

const char* Pool::Check() {
  DeviceLock device_lock(&parts_.mutex);
  return parts_.Check();
}

DriverResult Pool::RenewAccess() {
  DeviceLock device_lock(&parts_.mutex);
  const uint32_t heaps = parts_.heaps.count();
  for (uint32_t number = 1; number <= heaps; ++number) {
    HeapLock lock(parts_.heaps.at(number));
    const DriverResult result = parts_.heaps.at(number)->RenewAccess();
    if (result != kDriverSuccess) return result;
  }
  return kDriverSuccess;
}

bool Pool::HasLargeChunk(uint64_t address, uint64_t size) {
  if (!parts_.chunks.makes_large() || segments()) return false;
  DeviceLock device_lock(&parts_.mutex);
  const uint64_t chunk = parts_.config.chunk_bytes;
  for (uint64_t at = address / chunk * chunk; at < address + size; at += chunk) {
    if (parts_.chunks.ExtentOf(at).pages != 1) return true;
  }
  return false;
}

// Callers without a stream use heaps of their own. So free memory of a stream's heap counts as the
// framework's cache. This includes memory that cuMemFreeAsync freed there, because it cannot be
// distinguished.
PoolError Pool::FindOfFramework(uint64_t address, BlockInfo* info) {
  const uint16_t number = parts_.space.HeapOf(address);
  if (number == AddressSpace::kNoHeap) return WhyNoHeap(address);
  StreamHeap* heap = parts_.heaps.at(number);
  HeapLock lock(heap);
  const HeapKey key = heap->key.Get();
  if (key.stream == kUnknownStream || !parts_.serves_framework) return PoolError::kInvalid;
  const SpanTable& spans = static_cast<const StreamHeap*>(heap)->spans();
  const uint32_t index = spans.FindSpan(address);
  if (index == 0) return PoolError::kInvalid;
  const Span& span = spans[index];
  if (span.state == SpanState::kNone || span.state == SpanState::kHole ||
      (span.state == SpanState::kLive && span.layer != Layer::kFramework)) {
    return PoolError::kInvalid;
  }
  *info = {span.address, span.size, span.size, key.stream, key.pool, span.id, span.layer};
  return PoolError::kOk;
}

// --- Private pools, and queries of a framework ---------------------------------------------------

void Pool::KeepPrivate(uint64_t pool, bool keep) {
  if (pool == 0) return;
  DeviceLock device_lock(&parts_.mutex);
  bool any_paused = false;
  parts_.heaps.VisitLocked([&](StreamHeap* heap) {
    kDeviceLock.AssertHeld();
    heap->mutex.AssertHeld();
    if (heap->key.Get().pool != pool) return;
    heap->set_graph_pinned(keep);
    any_paused = any_paused || heap->paused();
  });
  // Paused pages of the private pool need not be restored unless they hold live blocks.
  if (any_paused && !keep) pages_.DropPaused();
}

MappedBytes Pool::Mapped(uint64_t pool) const {
  MappedBytes mapped{};
  const uint32_t count = parts_.heaps.count();
  for (uint32_t number = 1; number <= count; ++number) {
    const StreamHeap* heap = parts_.heaps.at(number);
    const HeapKey key = heap->key.Get();
    if (key.stream == kUnknownStream || (pool != 0 && key.pool != pool)) continue;
    mapped.small += heap->mapped_bytes(SpanTable::kSmallZone);
    mapped.large += heap->mapped_bytes(SpanTable::kLargeZone);
  }
  return mapped;
}

uint64_t Pool::MappedWithoutStream() const { return parts_.heaps.MappedWithoutStream(); }

void Pool::VisitSpans(SpanVisitor visitor, void* context) {
  DeviceLock device_lock(&parts_.mutex);
  parts_.heaps.VisitLocked([&](StreamHeap* heap) {
    heap->mutex.AssertHeld();
    const HeapKey key = heap->key.Get();
    static_cast<const StreamHeap*>(heap)->spans().Visit([&](const Span& span) {
      if (span.state == SpanState::kHole) return;
      const bool block = span.state == SpanState::kLive || span.state == SpanState::kPending;
      visitor(context, {span.address, span.size, block ? span.requested : 0, key.stream, key.pool,
                        block ? span.state : SpanState::kFree, span.layer,
                        span.zone == SpanTable::kSmallZone});
    });
  });
}

}  // namespace vramstow
