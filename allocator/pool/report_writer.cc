#include "allocator/pool/report_writer.h"

#include "allocator/core/counter.h"

namespace vramstow {
namespace {

// Inserts a live block into the report's list of the largest blocks, the largest first.
void NoteHolder(const Span& span, uint64_t stream, OutOfMemoryReport* report) {
  if (span.state != SpanState::kLive) return;
  int place = report->holder_count;
  while (place > 0 && report->holders[place - 1].bytes < span.size) --place;
  if (place == OutOfMemoryReport::kHolders) return;
  if (report->holder_count < OutOfMemoryReport::kHolders) ++report->holder_count;
  for (int i = report->holder_count - 1; i > place; --i) {
    report->holders[i] = report->holders[i - 1];
  }
  report->holders[place] = {span.address, span.size, stream, span.layer};
}

}  // namespace

PoolStats CollectStats(PoolParts* parts) {
  PoolStats stats{};
  const uint32_t count = parts->heaps.count();
  for (uint32_t number = 1; number <= count; ++number) {
    StreamHeap* heap = parts->heaps.at(number);
    if (heap->has_deferred()) {
      MutexLock lock(&heap->mutex);
      heap->FlushDeferred();
    }
    const HeapStats& its = heap->stats;
    stats.allocated_bytes += its.allocated_bytes.load(std::memory_order_relaxed);
    stats.requested_bytes += its.requested_bytes.load(std::memory_order_relaxed);
    stats.pending_bytes += its.pending_bytes.load(std::memory_order_relaxed);
    stats.live_blocks += its.live_blocks.load(std::memory_order_relaxed);
    stats.allocations += its.allocations.load(std::memory_order_relaxed);
    stats.frees += its.frees.load(std::memory_order_relaxed);
    stats.misses += its.misses.load(std::memory_order_relaxed);
    stats.host_bytes += its.host_bytes.load(std::memory_order_relaxed) + sizeof(StreamHeap);
  }
  const PoolCounters& counters = parts->counters;
  stats.host_bytes += parts->chunks.committed_bytes() + parts->segment_store.committed_bytes();
  stats.reserved_bytes = parts->chunks.reserved_bytes();
  stats.peak_reserved_bytes = parts->chunks.budget().peak_bytes();
  stats.peak_allocated_bytes = parts->peak.peak();
  stats.stitches = counters.stitches.load(std::memory_order_relaxed);
  stats.grown_chunks = counters.grown.load(std::memory_order_relaxed);
  stats.moved_chunks = counters.moved.load(std::memory_order_relaxed);
  stats.released_chunks = counters.released.load(std::memory_order_relaxed);
  stats.fence_waits = counters.fence_waits.load(std::memory_order_relaxed);
  stats.fence_wait_ns = counters.fence_wait_ns.load(std::memory_order_relaxed);
  stats.out_of_memory = counters.out_of_memory.load(std::memory_order_relaxed);
  stats.hook_calls = parts->hooks.calls();
  return stats;
}

OutOfMemoryReport WriteReport(PoolParts* parts, const AllocationAttempt& attempt) {
  Bump(&parts->counters.out_of_memory, 1);
  OutOfMemoryReport report{};
  const PoolStats stats = CollectStats(parts);
  ChunkStore& chunks = parts->chunks;
  report.number = stats.out_of_memory;
  report.requested_bytes = attempt.request.size;
  report.stream = attempt.request.stream;
  report.allocated_bytes = stats.allocated_bytes;
  report.reserved_bytes = stats.reserved_bytes;
  report.pending_bytes = stats.pending_bytes;
  report.live_blocks = stats.live_blocks;
  report.limit_bytes = chunks.budget().limit_bytes();
  report.driver_result = attempt.result;
  report.capturing = parts->fences.capturing();
  parts->driver->memory_info(parts->driver->self, &report.device_free_bytes,
                             &report.device_total_bytes);
  for (int i = 0; i < kLadderSteps; ++i) report.tried[i] = attempt.tried[i];
  report.free_bytes = chunks.idle_chunks() * parts->config.chunk_bytes;
  report.free_pieces = chunks.idle_chunks();
  parts->heaps.VisitLocked([&](StreamHeap* heap) {
    heap->mutex.AssertHeld();
    const SpanTable& spans = static_cast<const StreamHeap*>(heap)->spans();
    report.free_bytes += spans.free_bytes();
    report.free_pieces += spans.free_pieces();
    const uint64_t largest = spans.LargestFree();
    if (largest > report.largest_free_bytes) report.largest_free_bytes = largest;
    spans.Visit([&](const Span& span) { NoteHolder(span, heap->key.stream(), &report); });
  });
  parts->events.Step(EventKind::kCacheOutOfMemory, attempt.size, attempt.request.size, 0,
                     attempt.request.stream, attempt.result);
  return report;
}

}  // namespace vramstow
