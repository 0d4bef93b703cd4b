// Segments: memory of the plain driver as what a pool is made of, where there is no virtual memory.
// The same heaps, bins, fences and limits cut blocks from it; but its physical memory cannot move,
// so nothing is stitched, and a segment goes back to the device when all of it is free.
#include "allocator/core/counter.h"
#include "allocator/pool/pool.h"

namespace vramstow {
namespace {

// Blocks up to the second size share segments of the first; a larger one gets a segment of its own.
// The sizes are those of PyTorch's allocator (c10/cuda/CUDACachingAllocator).
constexpr uint64_t kSharedSegmentBytes = 20 * kMiB;
constexpr uint64_t kLargestSharing = 10 * kMiB;

// Whether the driver says that it does no such thing, rather than that there is no memory now.
bool IsRefusal(DriverResult result) {
  return result == kDriverInvalidValue || result == kDriverInvalidDevice ||
         result == kDriverSystemCallFailed || result == kDriverNotPermitted ||
         result == kDriverNotSupported || result == kDriverUnknown;
}

}  // namespace

// --- The store ----------------------------------------------------------------------------------

// A segment has one record: `handle` is the address that the driver gave, `pages` how many pages
// are of use, `mappings` how many were paid for.
DriverResult ChunkStore::MakeSegment(uint64_t pages, uint16_t heap, uint64_t* address,
                                     uint64_t* usable) {
  if (!chunks_.EnsureSpare(1)) return kDriverOutOfMemory;
  committed_.store(chunks_.committed_bytes(), std::memory_order_relaxed);
  const uint64_t page = chunk_bytes();
  const uint64_t taken = pages + (odd_segments_ ? 1 : 0);
  uint64_t base = 0;
  DriverResult result = driver_->allocate(driver_->self, taken * page, &base);
  events_->Segment(EventKind::kAllocate, base, taken * page, result);
  if (result != kDriverSuccess) return result;
  // No driver is known that does not align whole pages. Where one does not, parts of two are lost.
  if (base % page != 0) odd_segments_ = true;
  *address = (base + page - 1) / page * page;
  *usable = base % page == 0 ? taken : taken - 1;
  result = *usable == 0 ? kDriverOutOfMemory : space_->TakeSegment(*address, *usable * page, heap);
  if (result != kDriverSuccess) {
    events_->Segment(EventKind::kFree, base, taken * page, kDriverSuccess);
    driver_->free(driver_->self, base);
    return result;
  }
  const uint32_t index = chunks_.New();
  Chunk& chunk = chunks_[index];
  chunk.handle = base;
  chunk.place = space_->NumberOf(*address);
  chunk.pages = static_cast<uint32_t>(*usable);
  chunk.mappings = static_cast<uint32_t>(taken);
  for (uint64_t i = 0; i < *usable; ++i)
    (*space_)[chunk.place + static_cast<uint32_t>(i)].chunk = index;
  stuck_device_ += taken - *usable;
  NoteReserved(taken * page);
  return kDriverSuccess;
}

DriverResult ChunkStore::ReleaseSegment(uint64_t address, bool alive) {
  const uint32_t index = space_->PageAt(address).chunk;
  const Chunk chunk = chunks_[index];
  const uint64_t size = chunk.pages * chunk_bytes();
  const uint16_t heap = space_->HeapOf(address);
  // From here on the driver may give the addresses to somebody else.
  space_->DropSegment(address, size);
  const uint64_t paid = chunk.mappings * chunk_bytes();
  const uint64_t told = events_->Segment(EventKind::kFree, chunk.handle, paid, kDriverSuccess);
  const DriverResult result = alive ? driver_->free(driver_->self, chunk.handle) : kDriverSuccess;
  if (result != kDriverSuccess) {
    events_->Refused(told, result);
    space_->TakeSegment(address, size, heap);
    return result;
  }
  for (uint32_t i = 0; i < chunk.pages; ++i) (*space_)[chunk.place + i] = Page();
  stuck_device_ -= chunk.mappings - chunk.pages;
  reserved_.store(reserved_bytes() - paid, std::memory_order_relaxed);
  chunks_.Delete(index);
  return kDriverSuccess;
}

// --- A heap -------------------------------------------------------------------------------------

DriverResult Heap::AddSegment(uint64_t size, uint64_t bytes) {
  if (region_count_ == kMaxRegions || !spans_.EnsureSpare(1)) return kDriverOutOfMemory;
  uint64_t address = 0;
  uint64_t usable = 0;
  const DriverResult result =
      with_.chunks->MakeSegment(bytes / with_.page_bytes, number, &address, &usable);
  if (result != kDriverSuccess) return result;
  const uint8_t zone = ZoneOf(size);
  const uint32_t index = spans_.New();
  Span& span = spans_[index];
  span.address = address;
  span.size = usable * with_.page_bytes;
  span.epoch = with_.epochs->now();
  span.state = SpanState::kFree;
  span.zone = zone;
  Bump(&stats.mapped_bytes[zone], span.size);
  zones_[zone].free.Insert(&spans_, index);
  regions_[region_count_++] = {address, span.size, index, zone};
  return kDriverSuccess;
}

Heap::StripResult Heap::ReleaseSegments(uint64_t pages, uint32_t before_epoch, bool no_more) {
  StripResult released;
  if (graph_pinned) return released;
  EmptyBins(~uint64_t{0});
  for (uint32_t r = 0; r < region_count_ && released.pages < pages;) {
    const Region region = regions_[r];
    const Span& span = spans_[region.first];
    const uint64_t size = region.size / with_.page_bytes;
    const bool whole = span.state == SpanState::kFree && span.size == region.size;
    const bool fits = !no_more || size <= pages - released.pages;
    if (!whole || !fits || span.epoch > before_epoch) {
      ++r;
      continue;
    }
    if (!with_.fences->Completed(timeline, span.tick)) {
      released.waiting += size;
      ++r;
      continue;
    }
    released.result = with_.chunks->ReleaseSegment(region.address, true);
    if (released.result != kDriverSuccess) return released;
    ForgetSegment(r);
    released.pages += size;
  }
  return released;
}

// A region of which nothing but one span is left.
void Heap::ForgetSegment(uint32_t r) {
  const Region region = regions_[r];
  Bump(&stats.mapped_bytes[region.zone], ~region.size + 1);
  zones_[region.zone].free.Remove(&spans_, region.first);
  spans_.Delete(region.first);
  regions_[r] = regions_[--region_count_];
}

void Heap::DropSegments(bool alive) {
  for (uint32_t r = 0; r < region_count_; ++r) {
    if (with_.space->PageAt(regions_[r].address).chunk != 0) {
      with_.chunks->ReleaseSegment(regions_[r].address, alive);
    }
  }
}

// --- The pool -----------------------------------------------------------------------------------

// Virtual memory was refused before anything was made of it: from now on without. The device's lock
// is held.
bool Pool::TurnToSegments(DriverResult result) {
  if (config_.backing != PoolBacking::kAny || segments() || !device_.plain || !IsRefusal(result) ||
      chunks_.pages_in_use() != 0) {
    return false;
  }
  ReleaseIdle(~uint64_t{0});
  if (chunks_.reserved_bytes() != 0) return false;
  chunks_.UseSegments();
  if (config_.refused.hear != nullptr) config_.refused.hear(config_.refused.context, result);
  return true;
}

// Up to the limit, and no more than there ever was.
DriverResult Pool::AddSegment(AllocationAttempt* attempt, uint64_t bytes) {
  const uint64_t pages = bytes / config_.chunk_bytes;
  if (pages > chunks_.ChunksUnderLimit() || bytes > device_.total_bytes) return kDriverOutOfMemory;
  const uint64_t since = Now();
  const uint64_t before = chunks_.reserved_bytes();
  const DriverResult result = attempt->heap->AddSegment(attempt->size, bytes);
  const uint64_t made = result == kDriverSuccess ? chunks_.reserved_bytes() - before : 0;
  Bump(&grown_, made / config_.chunk_bytes);
  if (made != 0) {
    events_.Step(EventKind::kCacheGrow, made, attempt->size, 0, attempt->request.stream, result);
  }
  Note(attempt, LadderStep::kGrow, made, since);
  return result;
}

// Step 3 where step 2 cannot be: a new segment, if need be for old ones that are free.
bool Pool::TrySegments(AllocationAttempt* attempt) {
  Heap* heap = attempt->heap;
  if (heap->ServeAnywhere()) {
    attempt->index = heap->Take(attempt->size);
    attempt->served = Served::kHit;
    if (attempt->index != 0) return true;
  }
  attempt->relaxed->Begin();
  const uint64_t page = config_.chunk_bytes;
  const uint64_t least = (attempt->size + page - 1) / page * page;
  uint64_t shared = least;
  if (attempt->size > config_.small_bytes && attempt->size < kLargestSharing) {
    shared = (kSharedSegmentBytes + page - 1) / page * page;
  }
  attempt->served = Served::kGrow;
  // Twice at most: the first may show that the driver does not align segments.
  for (int round = 0; round < 2; ++round) {
    attempt->result = AddSegment(attempt, shared);
    if (attempt->result != kDriverSuccess && least < shared)
      attempt->result = AddSegment(attempt, least);
    if (attempt->result != kDriverSuccess && MakeRoom(attempt, least / page)) {
      attempt->result = AddSegment(attempt, least);
    }
    attempt->lacking = attempt->result == kDriverSuccess ? 0 : least / page;
    if (attempt->result != kDriverSuccess) return false;
    attempt->index = heap->Take(attempt->size);
    if (attempt->index != 0) return true;
  }
  return false;
}

// Segments that are free go back, of this heap first. True if any did.
bool Pool::MakeRoom(AllocationAttempt* attempt, uint64_t pages) {
  const uint64_t since = Now();
  const uint64_t limit = chunks_.ChunksUnderLimit();
  // Under a limit only what is missing has to go.
  if (limit < pages) pages -= limit;
  fences_.Ensure(attempt->heap->timeline, fences_.OpenTick(attempt->heap->timeline));
  fences_.Poll();
  uint64_t released = attempt->heap->ReleaseSegments(pages, ~uint32_t{0}, false).pages;
  Bump(&released_, released);
  if (released < pages) released += StripOthers(attempt, pages - released, ~uint32_t{0});
  Note(attempt, LadderStep::kTrimOthers, released * config_.chunk_bytes, since);
  return released != 0;
}

}  // namespace vramstow
