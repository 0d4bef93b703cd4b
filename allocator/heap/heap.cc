#include "allocator/heap/heap.h"

#include <algorithm>
#include <bit>

namespace vramstow {

bool Heap::Open(const HeapDependencies& around, const HeapKey& heap_key, uint16_t heap_number,
                uint32_t heap_timeline) {
  with_ = around;
  key = heap_key;
  number = heap_number;
  timeline = heap_timeline;
  page_shift_ = std::countr_zero(around.page_bytes);
  // A stream that has no timeline of its own is treated as unknown: safe, only slower.
  on_stream = heap_key.stream != kUnknownStream && heap_timeline != Fences::kEverything;
  if (!spans_.Open(kMaxSpans)) return false;
  regions_ = static_cast<Region*>(AllocateHostMemory(kMaxRegions * sizeof(Region)));
  if (regions_ == nullptr || !uses_.Open(kMaxUses) || !Prepare()) {
    Close();
    return false;
  }
  return true;
}

void Heap::Close() {
  spans_.Close();
  uses_.Close();
  map_.Close();
  bits_.Close();
  if (regions_ != nullptr) FreeHostMemory(regions_, kMaxRegions * sizeof(Region));
  regions_ = nullptr;
}

// --- Bins ---------------------------------------------------------------------------------------

uint32_t Heap::TakeFromBin(uint64_t size) {
  const uint32_t number_of_bin = BinOf(size);
  Bin& bin = bins_[number_of_bin];
  uint32_t* link = &bin.head;
  if (spans_[bin.head].zone == kLargeZone) {
    // In a job that repeats, only the block that lay at the place of the round before.
    const uint64_t place = predictor_.Predict(size);
    if (place != 0 && predictor_.Repeating()) {
      int looks = 0;
      while (*link != 0 && spans_[*link].address != place && ++looks < kBinLooks) {
        link = &spans_[*link].list_next;
      }
      if (*link == 0 || spans_[*link].address != place) return TakeFromIndex(size);
      predictor_.OnHit();
    }
  }
  const uint32_t index = *link;
  Span& span = spans_[index];
  *link = span.list_next;
  if (bin.head == 0) full_bins_ &= ~(uint64_t{1} << number_of_bin);
  quick_bytes_ -= size;
  span.state = SpanState::kLive;
  if (span.zone == kLargeZone) span.epoch = predictor_.OnServed(size, span.address);
  return index;
}

void Heap::EmptyBin(uint32_t number_of_bin) {
  Bin& bin = bins_[number_of_bin];
  full_bins_ &= ~(uint64_t{1} << number_of_bin);
  while (bin.head != 0) {
    const uint32_t index = bin.head;
    Span& span = spans_[index];
    bin.head = span.list_next;
    quick_bytes_ -= span.size;
    map_.Remove(span.address, index);
    Join(index);
  }
}

void Heap::EmptyBins(uint64_t which) {
  while ((full_bins_ & which) != 0) {
    EmptyBin(static_cast<uint32_t>(std::countr_zero(full_bins_ & which)));
  }
}

// --- Taking -------------------------------------------------------------------------------------

uint32_t Heap::TakeFromIndex(uint64_t size) {
  if (deferred_count.load(std::memory_order_relaxed) != 0) {
    FlushAllDeferred();
    return Take(size);
  }
  if (gated_) return 0;
  EmptyBins(~kTinyMask);
  if (quick_bytes_ > MostTinyBytes()) EmptyBins(kTinyMask);
  // Cutting makes at most two records; where there is no room for them, the slow path makes it.
  if (spans_.spare() < 2 || !map_.HasRoom(1)) return 0;
  Zone& zone = zones_[ZoneOf(size)];
  for (;;) {
    if (ZoneOf(size) == kLargeZone) {
      const uint32_t index = TakeLarge(size);
      if (index != 0) return index;
    }
    const uint32_t index = ZoneOf(size) == kLargeZone ? 0 : zone.free.Find(spans_, size);
    if (index != 0) {
      map_.Prefetch(spans_[index].address);
      zone.free.Remove(&spans_, index);
      return Cut(index, size);
    }
    if (full_bins_ == 0) return 0;
    EmptyBins(kTinyMask);
  }
}

uint32_t Heap::TakeAnywhere(uint64_t size) {
  EmptyBins(~uint64_t{0});
  for (Zone& zone : zones_) {
    const uint32_t index = zone.free.Find(spans_, size);
    if (index == 0) continue;
    zone.free.Remove(&spans_, index);
    return Cut(index, size);
  }
  return 0;
}

// Where in a free span a block opens the fewest whole pages: at its start, at its end, or at the
// first page boundary. Whole free pages are what can be moved, so they are the thing to save.
[[gnu::always_inline]] inline Heap::Fit Heap::FitIn(const Span& span, uint64_t size) const {
  const uint64_t slack = span.size - size;
  const uint64_t end = span.address + span.size;
  const uint64_t first = PageUp(span.address);
  // Not below the first, so that the differences below are never negative.
  const uint64_t last = std::max(PageDown(end), first);
  const uint64_t low_end = std::max(std::min(PageUp(span.address + size), last), first);
  const uint64_t high_start = std::min(std::max(PageDown(end - size), first), last);
  const uint64_t at_start = (low_end - first) >> page_shift_;
  const uint64_t at_end = (last - high_start) >> page_shift_;
  const bool high = at_end < at_start;
  const Fit fit{high ? slack : 0, high ? at_end : at_start};
  if (PageDown(size) != size) return fit;
  // A block of whole pages loses nothing at a boundary, and gives whole pages back.
  const uint64_t gap = first - span.address;
  const uint64_t whole = size >> page_shift_;
  return gap <= slack && whole <= fit.pages && last > first ? Fit{gap, whole} : fit;
}

// Of the free spans that are large enough the one where the block opens the fewest whole pages; of
// equals the lowest, so that a repeating job finds the same places again. Bounded: looks at a few
// of the smallest.
uint32_t Heap::FindLarge(uint64_t size) const {
  constexpr int kPagesShift = 40;  // above an address in units of kBlockBytes
  // A block of so many bytes opens at least so many pages, wherever it lies.
  const uint64_t pages = size >> page_shift_;
  const uint64_t least = pages > 0 ? pages - 1 : 0;
  const uint64_t enough = (least + 1) << kPagesShift;
  return zones_[kLargeZone].free.FindBest(spans_, size, kLooks, enough, [&](const Span& span) {
    const uint64_t place = span.address / kBlockBytes & ((uint64_t{1} << kPagesShift) - 1);
    return FitIn(span, size).pages << kPagesShift | place;
  });
}

// The free span that holds the place where this request was served in the round before, or 0.
// Bounded: looks at so many spans.
uint32_t Heap::FindRepeated(uint64_t size, uint64_t place) const {
  constexpr int kMostLooks = 256;
  uint32_t found = 0;
  int looks = 0;
  zones_[kLargeZone].free.VisitFrom(spans_, size, [&](uint32_t index) {
    if (Holds(index, place, size)) found = index;
    return found == 0 && ++looks < kMostLooks;
  });
  return found;
}

// For a request that cannot lie where it lay in the round before: a free place that the round needs
// for as little as possible while the block lives, so that it displaces no others, and where it
// opens no more pages than elsewhere; or 0.
uint32_t Heap::FindQuiet(uint64_t size, uint64_t pages, uint64_t* place) {
  constexpr int kMostLooks = 16;
  const uint64_t round = predictor_.round();
  if (!SpendLookahead(kMostLooks * round)) return 0;
  const uint64_t life = predictor_.Life();
  uint32_t best = 0;
  uint64_t least = ~uint64_t{0};
  int looks = 0;
  zones_[kLargeZone].free.VisitFrom(spans_, size, [&](uint32_t index) {
    const Span& span = spans_[index];
    const Fit fit = FitIn(span, size);
    if (fit.pages > pages) return true;
    const uint64_t from = span.address + fit.offset;
    uint64_t disturbed = 0;
    predictor_.VisitRound([&](uint64_t other, uint64_t at, uint64_t first, uint64_t last) {
      if (first == 0 || (first >= life && last <= round)) return;
      const uint64_t low = std::max(at, from);
      const uint64_t high = std::min(at + other, from + size);
      if (low < high) disturbed += high - low;
    });
    if (disturbed < least) {
      least = disturbed;
      best = index;
      *place = from;
    }
    return least != 0 && ++looks < kMostLooks;
  });
  return best;
}

uint32_t Heap::TakeLarge(uint64_t size) {
  uint64_t place = predictor_.Predict(size);
  uint32_t index = FindLarge(size);
  bool chosen = false;  // the place, not only the span
  if (place != 0 && predictor_.Repeating()) {
    // What would be taken anyway is mostly what was taken in the round before.
    uint32_t there = index != 0 && Holds(index, place, size) ? index : FindRepeated(size, place);
    if (there == 0 && !Moved(place, size)) {
      const uint64_t earlier = predictor_.Earlier();
      if (earlier != 0 && earlier != place) {
        there = FindRepeated(size, earlier);
        place = earlier;
      }
    }
    chosen = there != 0;
    if (chosen) {
      index = there;
      predictor_.OnHit();
    } else {
      // Its pages have moved, and may come home: without a driver call, or not at all. What lies
      // there may have been freed, and the work on it be done.
      if (predictor_.Confident() && (Moved(place, size) || (!on_stream && pending_head_ != 0)))
        return 0;
      if (index != 0 && predictor_.Confident()) {
        place = 0;
        const uint32_t quiet = FindQuiet(size, FitIn(spans_[index], size).pages, &place);
        if (quiet != 0) index = quiet;
        chosen = quiet != 0;
      }
      predictor_.OnMiss();
    }
  }
  if (index == 0) return 0;
  map_.Prefetch(spans_[index].address);
  zones_[kLargeZone].free.Remove(&spans_, index);
  index = chosen ? CutAt(index, place - spans_[index].address, size) : Cut(index, size);
  spans_[index].epoch = predictor_.OnServed(size, spans_[index].address);
  return index;
}

// Makes a live block out of a free span that was taken out of the index; the rest goes back.
uint32_t Heap::Cut(uint32_t index, uint64_t size) {
  const bool choose = spans_[index].size != size && spans_[index].zone == kLargeZone;
  return CutAt(index, choose ? FitIn(spans_[index], size).offset : 0, size);
}

uint32_t Heap::CutAt(uint32_t index, uint64_t offset, uint64_t size) {
  if (offset != 0) {
    const uint32_t upper = SplitAt(index, offset);
    zones_[spans_[index].zone].free.Insert(&spans_, index);
    index = upper;
  }
  if (spans_[index].size != size) {
    const uint32_t rest = SplitAt(index, size);
    zones_[spans_[rest].zone].free.Insert(&spans_, rest);
  }
  Span& span = spans_[index];
  span.state = SpanState::kLive;
  span.epoch = PlacementPredictor::kNoName;
  map_.Insert(span.address, index);
  return index;
}

// The span keeps the lower part, a new one gets the upper.
uint32_t Heap::SplitAt(uint32_t index, uint64_t offset) {
  const uint32_t upper = spans_.New();
  Span& low = spans_[index];
  Span& high = spans_[upper];
  high.address = low.address + offset;
  high.size = low.size - offset;
  high.previous = index;
  high.next = low.next;
  high.tick = low.tick;
  high.epoch = low.epoch;
  high.state = low.state;
  high.zone = low.zone;
  if (low.next != 0) spans_[low.next].previous = upper;
  low.next = upper;
  low.size = offset;
  return upper;
}

// --- Giving back --------------------------------------------------------------------------------

void Heap::FlushAllDeferred() {
  for (uint32_t i = 0; i < kDeferred; ++i, ++deferred_next_) {
    const uint32_t place = deferred_next_ % kDeferred;
    const uint32_t index = found_[place];
    found_[place] = 0;
    if (index != 0) TakeBack(index);
  }
  for (uint32_t i = 0; i < kDeferred; ++i, ++deferred_next_) {
    const uint32_t place = deferred_next_ % kDeferred;
    const uint64_t address = deferred_[place];
    deferred_[place] = 0;
    if (address != 0) TakeBack(map_.Find(address));
  }
  deferred_count.store(0, std::memory_order_relaxed);
}

// From now on it is known without a look at the records where small blocks begin. Nothing is
// deferred.
void Heap::Track() {
  for (uint32_t r = 0; r < region_count_; ++r) {
    const Region& region = regions_[r];
    // What is not covered is freed the ordinary way.
    if (region.zone != kSmallZone || !bits_.Cover(region.address, region.size)) continue;
    for (uint32_t i = region.first; i != 0; i = spans_[i].next) {
      if (spans_[i].state == SpanState::kLive) bits_.Set(spans_[i].address);
    }
  }
  tracks_ = true;
  defers_ = narrow_;
}

void Heap::Give(uint32_t index, uint32_t epoch) {
  Span& span = spans_[index];
  if (span.zone == kLargeZone) predictor_.OnFreed(span.epoch);
  span.epoch = epoch;
  span.tick = with_.fences->OpenTick(timeline);
  // What lies in host memory is slow: better a miss than to use it again.
  if (!on_stream || span.uses != 0 || span.offloaded) {
    for (uint32_t use = span.uses; use != 0; use = uses_[use].next) {
      uses_[use].tick = with_.fences->OpenTick(uses_[use].timeline);
    }
    span.state = SpanState::kPending;
    Link(&pending_head_, index);
    Bump(&stats.pending_bytes, span.size);
    return;
  }
  const uint32_t number_of_bin = BinOf(span.size);
  Bin& bin = bins_[number_of_bin];
  // Joining will want them soon.
  __builtin_prefetch(&spans_[span.previous]);
  __builtin_prefetch(&spans_[span.next]);
  if (bin.size != span.size) {
    EmptyBin(number_of_bin);
    bin.size = span.size;
  }
  span.state = SpanState::kQuick;
  span.list_next = bin.head;
  bin.head = index;
  full_bins_ |= uint64_t{1} << number_of_bin;
  quick_bytes_ += span.size;
}

// Joins a span that is in no list with its free neighbours, and puts the result into the index.
// The lowest of the joined spans keeps its number, which is returned.
uint32_t Heap::Join(uint32_t index) {
  Zone& zone = zones_[spans_[index].zone];
  spans_[index].state = SpanState::kFree;
  const auto absorb = [this](uint32_t low, uint32_t high) {
    Span& a = spans_[low];
    const Span& b = spans_[high];
    a.size += b.size;
    a.next = b.next;
    if (b.next != 0) spans_[b.next].previous = low;
    if (b.tick > a.tick) a.tick = b.tick;
    if (b.epoch > a.epoch) a.epoch = b.epoch;
    spans_.Delete(high);
  };
  const uint32_t next = spans_[index].next;
  if (next != 0 && spans_[next].state == SpanState::kFree) {
    zone.free.Remove(&spans_, next);
    absorb(index, next);
  }
  const uint32_t previous = spans_[index].previous;
  if (previous != 0 && spans_[previous].state == SpanState::kFree) {
    zone.free.Remove(&spans_, previous);
    absorb(previous, index);
    index = previous;
  }
  zone.free.Insert(&spans_, index);
  return index;
}

void Heap::Link(uint32_t* head, uint32_t index) {
  Span& span = spans_[index];
  span.list_previous = 0;
  span.list_next = *head;
  if (*head != 0) spans_[*head].list_previous = index;
  *head = index;
}

void Heap::Unlink(uint32_t* head, uint32_t index) {
  const Span& span = spans_[index];
  if (span.list_next != 0) spans_[span.list_next].list_previous = span.list_previous;
  if (span.list_previous != 0) {
    spans_[span.list_previous].list_next = span.list_next;
  } else {
    *head = span.list_next;
  }
}

// --- Uses by other streams
// ------------------------------------------------------------------------

bool Heap::RecordUse(uint32_t index, uint32_t used_by) {
  Span& span = spans_[index];
  if (on_stream && used_by == timeline) return true;
  for (uint32_t use = span.uses; use != 0; use = uses_[use].next) {
    if (uses_[use].timeline == used_by) return true;
  }
  if (!uses_.EnsureSpare(1)) return false;
  const uint32_t use = uses_.New();
  uses_[use] = {span.uses, used_by, 0};
  span.uses = use;
  return true;
}

void Heap::DropUses(Span* span) {
  while (span->uses != 0) {
    const uint32_t use = span->uses;
    span->uses = uses_[use].next;
    uses_.Delete(use);
  }
}

bool Heap::UsesPassed(const Span& span) const {
  const bool own = on_stream && !span.offloaded;
  if (!own && !with_.fences->Completed(timeline, span.tick)) return false;
  for (uint32_t use = span.uses; use != 0; use = uses_[use].next) {
    if (!with_.fences->Completed(uses_[use].timeline, uses_[use].tick)) return false;
  }
  return true;
}

// A pending block whose fences have passed becomes free.
void Heap::Retire(uint32_t index) {
  Span& span = spans_[index];
  Unlink(&pending_head_, index);
  DropUses(&span);
  map_.Remove(span.address, index);
  Bump(&stats.pending_bytes, ~span.size + 1);
  with_.events->Block(EventKind::kFreeCompleted, span.layer, span.address, span.size,
                      span.requested, key.stream, Served::kUnknown);
  const bool offloaded = span.offloaded;
  const uint32_t joined = Join(index);
  if (offloaded) DropHostPages(joined);
}

bool Heap::SettlePending(bool may_unmap) {
  bool any = full_bins_ != 0;
  EmptyBins(~uint64_t{0});
  for (uint32_t index = pending_head_; index != 0;) {
    const uint32_t following = spans_[index].list_next;
    if ((may_unmap || !spans_[index].offloaded) && UsesPassed(spans_[index])) {
      Retire(index);
      any = true;
    }
    index = following;
  }
  return any;
}

void Heap::EnsureFences() {
  Fences* fences = with_.fences;
  for (uint32_t index = pending_head_; index != 0; index = spans_[index].list_next) {
    const Span& span = spans_[index];
    fences->Ensure(timeline, span.tick);
    for (uint32_t use = span.uses; use != 0; use = uses_[use].next) {
      fences->Ensure(uses_[use].timeline, uses_[use].tick);
    }
  }
}

}  // namespace vramstow
