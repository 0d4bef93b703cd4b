#include "allocator/pool/stream_heap.h"

namespace vramstow {
namespace {

// Prepare makes this many records available, so that a later Take needs no system call.
constexpr uint32_t kSpareSpans = 1024;
constexpr uint32_t kSpareBlocks = 1024;
constexpr uint64_t kFirstRegionBytes = uint64_t{256} << 20;

}  // namespace

bool StreamHeap::Open(const HeapDependencies& with, const HeapKey& heap_key, uint16_t heap_number,
                      uint32_t heap_timeline) {
  with_ = with;
  number = heap_number;
  MutexLock lock(&mutex);
  SetKey(heap_key, heap_timeline);
  const PoolBounds& bounds = with.bounds;
  if (spans_.Open(with.page_bytes, with.small_bytes, bounds.spans, bounds.regions) &&
      pending_.Open(with.fences, heap_timeline, on_stream, bounds.uses) && Prepare()) {
    return true;
  }
  Close();
  return false;
}

void StreamHeap::Close() {
  spans_.Close();
  pending_.Close();
  map_.Close();
  deferred_.Close();
}

void StreamHeap::SetKey(const HeapKey& new_key, uint32_t new_timeline) {
  key.Set(new_key);
  timeline = new_timeline;
  // A stream without a timeline is treated like an unknown stream, which is safe but slower.
  on_stream = new_key.stream != kUnknownStream && new_timeline != Fences::kEverything;
  graph_pinned_ = new_key.pool != 0;
  SetServed();
}

HeapPages StreamHeap::Pages() {
  return {&spans_, with_.chunks, with_.space, with_.fences, timeline, on_stream, graph_pinned_};
}

// --- Allocating ----------------------------------------------------------------------------------

uint32_t StreamHeap::RemoveFromBin(uint64_t size) {
  uint32_t index = 0;
  if (spans_[bins_.First(size)].zone == SpanTable::kLargeZone) {
    // In a repeating job, use only the block at the address of the previous iteration.
    PlacementPredictor& predictor = placement_.predictor();
    const uint64_t place = predictor.Predict(size);
    if (place != 0 && predictor.Repeating()) {
      index = bins_.RemoveAt(&spans_, size, place);
      if (index == 0) return RemoveFromIndex(size);
      predictor.OnHit();
    }
  }
  if (index == 0) index = bins_.Take(spans_, size);
  Span& span = spans_[index];
  span.state = SpanState::kLive;
  if (span.zone == SpanTable::kLargeZone) {
    span.epoch = placement_.predictor().OnServed(size, span.address);
  }
  return index;
}

uint32_t StreamHeap::RemoveFromIndex(uint64_t size) {
  if (deferred_.any()) {
    FlushAllDeferred();
    return Take(size);
  }
  if (gated_) return 0;
  EmptyBins(~Bins::kTiny);
  if (bins_.bytes() > MostTinyBytes()) EmptyBins(Bins::kTiny);
  // If there is no room for the records of a cut, 0 is returned, and the slow path makes room.
  if (!spans_.CanCut() || !map_.HasRoom(1)) return 0;
  for (;;) {
    uint32_t index = 0;
    if (spans_.ZoneOf(size) == SpanTable::kLargeZone) {
      index = RemoveLargeSpan(size);
    } else {
      const uint32_t found = spans_.free(SpanTable::kSmallZone).Find(spans_.slab(), size);
      if (found != 0) index = Cut(found, 0, size);
    }
    if (index != 0 || bins_.empty()) return index;
    EmptyBins(Bins::kTiny);
  }
}

uint32_t StreamHeap::RemoveLargeSpan(uint64_t size) {
  const bool may_free_up = !on_stream && !pending_.empty();
  const LargePlacement::Choice choice = placement_.Choose(spans_, with_.space, size, may_free_up);
  if (choice.span == 0) return 0;
  const uint32_t index = Cut(choice.span, choice.offset, size);
  spans_[index].epoch = placement_.predictor().OnServed(size, spans_[index].address);
  return index;
}

uint32_t StreamHeap::RemoveFromAnyZone(uint64_t size) {
  EmptyBins();
  for (uint8_t zone = 0; zone < SpanTable::kZones; ++zone) {
    const uint32_t index = spans_.free(zone).Find(spans_.slab(), size);
    if (index == 0) continue;
    const bool large = zone == SpanTable::kLargeZone;
    return Cut(index, large ? LargePlacement::OffsetIn(spans_, index, size) : 0, size);
  }
  return 0;
}

uint32_t StreamHeap::RemoveAt(uint64_t address, uint64_t size) {
  Settle();
  const uint32_t index = spans_.FindSpan(address);
  if (!spans_.IsFree(index)) return 0;
  const uint64_t offset = address - spans_[index].address;
  if (spans_[index].size - offset < size) return 0;
  return Cut(index, offset, size);
}

// Turns a part of a free span into a live block.
uint32_t StreamHeap::Cut(uint32_t index, uint64_t offset, uint64_t size) {
  map_.Prefetch(spans_[index].address);
  index = spans_.CutFree(index, offset, size);
  Span& span = spans_[index];
  span.state = SpanState::kLive;
  span.epoch = PlacementPredictor::kNoName;
  map_.Insert(span.address, index);
  return index;
}

// --- Freeing -------------------------------------------------------------------------------------

void StreamHeap::FlushAllDeferred() {
  deferred_.Flush(map_, [this](uint32_t index) {
    mutex.AssertHeld();
    FreeLive(index);
  });
}

void StreamHeap::Give(uint32_t index, uint32_t epoch) {
  Span& span = spans_[index];
  if (span.zone == SpanTable::kLargeZone) placement_.predictor().OnFreed(span.epoch);
  span.epoch = epoch;
  span.tick = with_.fences->OpenTick(timeline);
  // Host memory is slow, so the block is not reused; it waits until its pages can be dropped.
  if (pending_.MustWait(span)) {
    pending_.Add(&spans_, index);
    Bump(&stats.pending_bytes, span.size);
    return;
  }
  // Joining the block with its neighbours will read them soon.
  __builtin_prefetch(&spans_[span.previous]);
  __builtin_prefetch(&spans_[span.next]);
  bins_.Put(&spans_, index, [this](uint32_t dropped) {
    mutex.AssertHeld();
    JoinBinned(dropped);
  });
}

void StreamHeap::JoinBinned(uint32_t index) {
  map_.Remove(spans_[index].address, index);
  spans_.JoinFree(index);
}

void StreamHeap::EmptyBins(uint64_t which) {
  bins_.Empty(&spans_, which, [this](uint32_t index) {
    mutex.AssertHeld();
    JoinBinned(index);
  });
}

// Frees a pending block whose fences have completed. Returns the free span.
uint32_t StreamHeap::Retire(uint32_t index) {
  pending_.Remove(&spans_, index);
  const Span& span = spans_[index];
  map_.Remove(span.address, index);
  Subtract(&stats.pending_bytes, span.size);
  with_.events->Block(EventKind::kFreeCompleted, span.layer, span.address, span.size,
                      span.requested, key.stream(), Served::kUnknown);
  return spans_.JoinFree(index);
}

// Frees pending blocks as Settle does, but without the device's lock and not in host memory.
bool StreamHeap::SettleUnmoved() {
  bool any = !bins_.empty();
  EmptyBins();
  for (uint32_t index = pending_.first(); index != 0;) {
    const uint32_t following = spans_[index].list_next;
    if (!spans_[index].offloaded && pending_.IsDone(spans_[index])) {
      Retire(index);
      any = true;
    }
    index = following;
  }
  return any;
}

// --- Slow steps ----------------------------------------------------------------------------------

bool StreamHeap::Settle() {
  bool any = !bins_.empty();
  EmptyBins();
  for (uint32_t index = pending_.first(); index != 0;) {
    const uint32_t following = spans_[index].list_next;
    const HeapPages pages = Pages();
    const bool offloaded = spans_[index].offloaded;
    if (pending_.IsDone(spans_[index]) && !(offloaded && Stripper(pages).IsParked(index))) {
      const uint32_t free = Retire(index);
      if (offloaded) Stripper(pages).DropHostPages(free);
      any = true;
    }
    index = following;
  }
  return any;
}

bool StreamHeap::Prepare() {
  const bool ready = spans_.EnsureSpare(kSpareSpans) && map_.EnsureRoom(kSpareBlocks);
  const uint64_t small_bytes = spans_.mapped_bytes(SpanTable::kSmallZone);
  const uint64_t bits = deferred_.tracks() ? small_bytes / DeferredFrees::kBitsReach : 0;
  stats.host_bytes.store(
      spans_.committed_bytes() + pending_.committed_bytes() + map_.bytes() + bits,
      std::memory_order_relaxed);
  // Deferred frees are tracked by bits only in regions that the heap retains. A segment does not
  // qualify, because it can be released and then reused by another heap.
  const bool stays = !with_.chunks->segments();
  const uint64_t live = stats.live_blocks.load(std::memory_order_relaxed);
  if (!deferred_.tracks() && stays && live >= DeferredFrees::kTracksFrom) deferred_.Track(spans_);
  return ready;
}

DriverResult StreamHeap::AddRegion(uint8_t zone, uint64_t size) {
  if (!spans_.EnsureRoomForRegion()) return kDriverOutOfMemory;
  uint64_t wanted = next_region_ > kFirstRegionBytes ? next_region_ : kFirstRegionBytes;
  if (wanted > with_.largest_region) wanted = with_.largest_region;
  if (wanted < size) wanted = size;
  uint64_t address = 0;
  uint64_t region_size = 0;
  DriverResult result = with_.space->ReserveRegion(wanted, number, &address, &region_size);
  if (result == kDriverOutOfMemory && wanted > size) {
    result = with_.space->ReserveRegion(size, number, &address, &region_size);
  }
  if (result != kDriverSuccess) return result;
  next_region_ = region_size * 2;
  spans_.AddHoleRegion(address, region_size, zone);
  deferred_.NoteRegion(spans_, spans_.region(spans_.region_count() - 1));
  return kDriverSuccess;
}

bool StreamHeap::WaitForFrees(uint64_t deadline_ns) {
  // No pending block or free span has a later tick than the one that is open now.
  const bool own = with_.fences->WaitFor(timeline, with_.fences->OpenTick(timeline), deadline_ns);
  return pending_.WaitForUses(spans_, deadline_ns) && own;
}

void StreamHeap::CloseGate(uint32_t end_tick) {
  EmptyBins();
  gated_ = true;
  gate_tick_ = end_tick;
  // Blocks that are freed before the work of the destroyed stream has finished must wait as well.
  pending_.SetOrder(timeline, false);
}

bool StreamHeap::IsGateOpen() {
  if (gated_ && with_.fences->Completed(timeline, gate_tick_)) {
    gated_ = false;
    pending_.SetOrder(timeline, on_stream);
  }
  return !gated_;
}

bool StreamHeap::WaitForGate(uint64_t deadline_ns) {
  if (gated_) with_.fences->WaitFor(timeline, gate_tick_, deadline_ns);
  return IsGateOpen();
}

// --- Change of the key ---------------------------------------------------------------------------

void StreamHeap::Detach() {
  EmptyBins();
  // All work of the stream has finished, so the spans get tick 0, which counts as complete.
  if (on_stream) spans_.VisitMutable([](Span* span) { span->tick = 0; });
  timeline = Fences::kEverything;
  on_stream = false;
  gated_ = false;
  pending_.SetOrder(timeline, on_stream);
  detached_ = true;
  SetServed();
}

bool StreamHeap::IsVacant() const {
  if (graph_pinned_ || paused_ || !pending_.empty()) return false;
  if (stats.live_blocks.load(std::memory_order_relaxed) != 0) return false;
  bool untouched = true;
  spans_.Visit([&](const Span& span) {
    const bool free = span.state == SpanState::kFree;
    untouched = untouched && (!free || with_.fences->Completed(timeline, span.tick));
  });
  return untouched;
}

void StreamHeap::Rename(const HeapKey& new_key, uint32_t new_timeline) {
  spans_.VisitMutable([](Span* span) { span->tick = 0; });
  detached_ = false;
  SetKey(new_key, new_timeline);
  pending_.SetOrder(timeline, on_stream);
}

// --- Chunks --------------------------------------------------------------------------------------

bool StreamHeap::ServeAnywhere() {
  const bool confident = placement_.predictor().Confident();
  placement_.predictor().GiveUp();
  return confident;
}

DriverResult StreamHeap::MakePlan(uint64_t size, bool recall, Plan* plan) {
  EmptyBins();
  const HeapPages pages = Pages();
  if (planner_.Begin(pages, &placement_.predictor(), size, recall, plan)) return kDriverSuccess;
  if (planner_.Find(pages, repeating(), size, plan)) return kDriverSuccess;
  const DriverResult result = AddRegion(spans_.ZoneOf(size), spans_.PageUp(size));
  if (result != kDriverSuccess) return result;
  planner_.PlanIn(pages, spans_.region(spans_.region_count() - 1).first, size, plan);
  return kDriverSuccess;
}

DriverResult StreamHeap::Execute(const Plan& plan) { return Planner::Execute(Pages(), plan); }

uint64_t StreamHeap::Recall(const Plan& plan) {
  const HeapPages pages = Pages();
  return ChunkMoves(pages).Recall(plan, planner_.mark());
}

bool StreamHeap::RestoreMappings() {
  if (graph_pinned_ || with_.chunks->shadow_count() == 0) return false;
  EmptyBins();
  const HeapPages pages = Pages();
  return ChunkMoves(pages).RestoreMappings();
}

uint64_t StreamHeap::StripByInterference(uint64_t count, const Plan& plan, bool safe) {
  if (count == 0 || graph_pinned_ || !repeating() || !with_.chunks->MayShadow(count)) return 0;
  EmptyBins();
  const HeapPages pages = Pages();
  return ChunkMoves(pages).StripByInterference(count, plan, safe, &placement_, with_.interference);
}

StripResult StreamHeap::Strip(uint64_t count, uint32_t before_epoch, const Plan& plan, bool own) {
  if (graph_pinned_) return {};
  EmptyBins();
  const HeapPages pages = Pages();
  return Stripper(pages).Strip(count, before_epoch, plan, own);
}

void StreamHeap::DropHostPages() {
  EmptyBins();
  const HeapPages pages = Pages();
  Stripper(pages).DropHostPages();
}

DriverResult StreamHeap::RenewAccess() {
  for (uint32_t r = 0; r < spans_.region_count(); ++r) {
    const SpanTable::Region& region = spans_.region(r);
    for (uint64_t at = 0; at < region.size; at += spans_.page_bytes()) {
      if (with_.space->PageAt(region.address + at).mapped == 0) continue;
      const DriverResult result = with_.chunks->RenewAccess(region.address + at);
      if (result != kDriverSuccess) return result;
    }
  }
  return kDriverSuccess;
}

void StreamHeap::UnmapAll() {
  for (uint32_t r = 0; r < spans_.region_count(); ++r) {
    const SpanTable::Region& region = spans_.region(r);
    for (uint64_t at = 0; at < region.size; at += spans_.page_bytes()) {
      with_.chunks->Unmap(region.address + at);
    }
  }
}

uint32_t StreamHeap::FindAround(uint64_t address) const {
  const uint32_t exact = FindLive(address);
  if (exact != 0) return exact;
  const uint32_t index = spans_.FindSpan(address);
  return index != 0 && spans_[index].state == SpanState::kLive ? index : 0;
}

}  // namespace vramstow
