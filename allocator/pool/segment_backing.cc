#include "allocator/pool/segment_backing.h"

#include "allocator/core/counter.h"
#include "base/rounding.h"
#include "base/units.h"

namespace vramstow {
namespace {

// Blocks of at most kLargestSharing bytes share segments of kSharedSegmentBytes; a larger block
// gets a segment of its own. The sizes are those of PyTorch's allocator
// (c10/cuda/CUDACachingAllocator).
constexpr uint64_t kSharedSegmentBytes = 20 * kMiB;
constexpr uint64_t kLargestSharing = 10 * kMiB;

}  // namespace

bool SegmentBacking::SwitchToSegments(DriverResult result) {
  ChunkStore& chunks = parts_->chunks;
  const PoolConfig& config = parts_->config;
  if (config.backing != PoolBacking::kAny || chunks.segments() || !parts_->device.plain ||
      !IsRefusal(result) || chunks.pages_in_use() != 0) {
    return false;
  }
  trimmer_->ReleaseIdle(~uint64_t{0});
  if (chunks.reserved_bytes() != 0) return false;
  chunks.UseSegments();
  parts_->backing = this;
  if (config.refused.hear != nullptr) config.refused.hear(config.refused.context, result);
  return true;
}

// Adds a segment to the heap, unless it exceeds the limit or the device's memory.
DriverResult SegmentBacking::AddSegment(AllocationAttempt* attempt, uint64_t bytes) {
  ChunkStore& chunks = parts_->chunks;
  const uint64_t page = parts_->config.chunk_bytes;
  if (bytes / page > chunks.ChunksUnderLimit() || bytes > parts_->device.total_bytes) {
    return kDriverOutOfMemory;
  }
  const uint64_t since = parts_->Now();
  const uint64_t before = chunks.reserved_bytes();
  SpanTable& spans = attempt->heap->spans();
  uint64_t address = 0;
  uint64_t usable = 0;
  DriverResult result = kDriverOutOfMemory;
  attempt->no_records = !spans.EnsureRoomForRegion();
  if (!attempt->no_records) {
    result = parts_->segment_store.Make(bytes / page, attempt->heap->number, &address, &usable);
  }
  if (result == kDriverOutOfMemory && parts_->space.full()) attempt->no_records = true;
  if (result == kDriverSuccess) {
    const uint8_t zone = spans.ZoneOf(attempt->size);
    spans.AddFreeRegion(address, usable * page, zone, parts_->epochs.now());
  }
  const uint64_t made = result == kDriverSuccess ? chunks.reserved_bytes() - before : 0;
  Bump(&parts_->counters.grown, made / page);
  if (made != 0) {
    parts_->events.Step(EventKind::kCacheGrow, made, attempt->size, 0, attempt->request.stream,
                        result);
  }
  attempt->Note(LadderStep::kGrow, made, parts_->Now() - since);
  return result;
}

// Adds a segment that other blocks can share. If that fails, adds a segment for this block alone.
// If that fails, too, frees other segments and tries again for this block alone.
DriverResult SegmentBacking::AddFirstFitting(AllocationAttempt* attempt, uint64_t shared,
                                             uint64_t least) {
  DriverResult result = AddSegment(attempt, shared);
  if (result != kDriverSuccess && least < shared) result = AddSegment(attempt, least);
  if (result != kDriverSuccess && MakeRoom(attempt, least / parts_->config.chunk_bytes)) {
    result = AddSegment(attempt, least);
  }
  return result;
}

bool SegmentBacking::Serve(AllocationAttempt* attempt) {
  if (attempt->heap->ServeAnywhere() && attempt->Take(Served::kHit)) return true;
  attempt->relaxed->Begin();
  const uint64_t page = parts_->config.chunk_bytes;
  const uint64_t least = RoundUp(attempt->size, page);
  const bool shares = attempt->size > parts_->config.small_bytes && attempt->size < kLargestSharing;
  const uint64_t shared = shares ? RoundUp(kSharedSegmentBytes, page) : least;
  // The loop runs at most twice: the first segment may show that the driver does not align
  // segments.
  for (int round = 0; round < 2; ++round) {
    attempt->result = AddFirstFitting(attempt, shared, least);
    attempt->lacking = attempt->result == kDriverSuccess ? 0 : least / page;
    if (attempt->result != kDriverSuccess) return false;
    if (attempt->Take(Served::kGrow)) return true;
  }
  return false;
}

// Releases free segments, those of this heap first. Returns true if any was released.
bool SegmentBacking::MakeRoom(AllocationAttempt* attempt, uint64_t pages) {
  const uint64_t since = parts_->Now();
  const uint64_t limit = parts_->chunks.ChunksUnderLimit();
  // The pool may still grow by `limit` pages, so only the other pages must be freed.
  if (limit < pages) pages -= limit;
  Fences& fences = parts_->fences;
  fences.Ensure(attempt->heap->timeline, fences.OpenTick(attempt->heap->timeline));
  fences.Poll();
  uint64_t released = StripFree(attempt->heap, pages, ~uint32_t{0}, false).pages;
  Bump(&parts_->counters.released, released);
  if (released < pages) {
    released += trimmer_->StripOthers(attempt, pages - released, ~uint32_t{0});
  }
  attempt->Note(LadderStep::kTrimOthers, released * parts_->config.chunk_bytes,
                parts_->Now() - since);
  return released != 0;
}

StripResult SegmentBacking::StripFree(StreamHeap* heap, uint64_t pages, uint32_t before_epoch,
                                      bool no_more) {
  StripResult released;
  if (heap->graph_pinned()) return released;
  heap->EmptyBins();
  SpanTable& spans = heap->spans();
  for (uint32_t r = 0; r < spans.region_count() && released.pages < pages;) {
    const SpanTable::Region region = spans.region(r);
    const Span& span = spans[region.first];
    const uint64_t size = region.size / spans.page_bytes();
    const bool whole = span.state == SpanState::kFree && span.size == region.size;
    const bool fits = !no_more || size <= pages - released.pages;
    if (!whole || !fits || span.epoch > before_epoch) {
      ++r;
    } else if (!parts_->fences.Completed(heap->timeline, span.tick)) {
      released.waiting += size;
      ++r;
    } else {
      released.result = parts_->segment_store.Release(region.address, true);
      if (released.result != kDriverSuccess) return released;
      spans.ForgetFreeRegion(r);
      released.pages += size;
    }
  }
  return released;
}

void SegmentBacking::DropAll(StreamHeap* heap, PoolEnd end) {
  if (end == PoolEnd::kDriverGone) return;
  MutexLock lock(&heap->mutex);
  const SpanTable& spans = heap->spans();
  for (uint32_t r = 0; r < spans.region_count(); ++r) {
    const uint64_t address = spans.region(r).address;
    if (parts_->segment_store.IsSegment(address))
      parts_->segment_store.Release(address, end == PoolEnd::kAlive);
  }
}

}  // namespace vramstow
