#include "allocator/placement/stripper.h"

namespace vramstow {

// True if the chunk of a whole page of the free span must stay: it is registered, or it is a large
// chunk that pages outside of the span need as well.
bool Stripper::Stays(const Span& span, uint64_t at) const {
  ChunkStore& chunks = *heap_.chunks;
  const ChunkStore::Extent extent = chunks.ExtentOf(at);
  if (extent.pages == 1) return chunks.IsRegistered(at);
  if (!takes_large_) return true;
  const uint64_t end = extent.address + extent.pages * heap_.spans->page_bytes();
  if (extent.address < span.address || end > span.address + span.size) return true;
  for (uint64_t page = extent.address; page < end; page += heap_.spans->page_bytes()) {
    if (chunks.IsRegistered(page)) return true;
  }
  return false;
}

// Returns a run of whole pages of a free span whose chunks may be detached, starting at one end.
// The run skips pages that must retain their chunks, and ends before the next such page. An empty
// run means that no chunk may be detached.
Stripper::Run Stripper::PagesThatMayGo(const Span& span, bool from_below) const {
  const SpanTable& spans = *heap_.spans;
  const uint64_t page = spans.page_bytes();
  uint64_t first = spans.PageUp(span.address);
  uint64_t last = spans.PageDown(span.address + span.size);
  if (first >= last) return {first, first};
  if (heap_.chunks->registered_pages() == 0 && !heap_.chunks->any_large()) return {first, last};
  const auto stays = [&](uint64_t at) {
    kDeviceLock.AssertHeld();
    return Stays(span, at);
  };
  if (from_below) {
    while (first < last && stays(first)) first += page;
    uint64_t end = first;
    while (end < last && !stays(end)) end += page;
    return {first, end};
  }
  while (first < last && stays(last - page)) last -= page;
  uint64_t begin = last;
  while (begin > first && !stays(begin - page)) begin -= page;
  return {begin, last};
}

// Moves the chunks of whole pages of a free span to the store, starting at the end beside a hole if
// there is one. Stops when `count` of the moved chunks were device memory. Returns how many were
// device memory.
uint64_t Stripper::StripSpan(uint32_t index, uint64_t count, DriverResult* result) {
  SpanTable& spans = *heap_.spans;
  if (!spans.EnsureSpare(2)) return 0;
  const Span& span = spans[index];
  const uint64_t page = spans.page_bytes();
  const bool from_below = spans.IsHole(span.previous) && !spans.IsHole(span.next);
  const auto [first, last] = PagesThatMayGo(span, from_below);
  const uint64_t pages = (last - first) / page;
  uint64_t done = 0;
  uint64_t of_device = 0;
  while (of_device < count && done < pages) {
    const uint64_t address = from_below ? first + done * page : last - (done + 1) * page;
    const bool on_host = heap_.chunks->OnHost(address);
    const uint64_t going = heap_.chunks->ExtentOf(address).pages;
    *result = heap_.chunks->Detach(address, heap_.timeline, span.tick);
    if (*result != kDriverSuccess) break;
    done += going;
    of_device += on_host ? 0 : going;
  }
  if (done == 0) return 0;
  if (from_below) {
    spans.MakeHole(index, first, first + done * page);
  } else {
    spans.MakeHole(index, last - done * page, last);
  }
  return of_device;
}

bool Stripper::IsParked(uint32_t index) const {
  if (heap_.chunks->segments()) return false;
  const Span& span = (*heap_.spans)[index];
  const uint64_t page = heap_.spans->page_bytes();
  for (uint64_t at = span.address / page * page; at < span.address + span.size; at += page) {
    if (heap_.chunks->Parked(at)) return true;
  }
  return false;
}

// Works from the top down, so that the rest of the span keeps its number.
void Stripper::DropHostPages(uint32_t index) {
  SpanTable& spans = *heap_.spans;
  const uint64_t page = spans.page_bytes();
  const uint64_t bottom = spans[index].address;
  for (;;) {
    const Span& span = spans[index];
    if (!heap_.IsUntouched(span) || !spans.EnsureSpare(2)) return;
    const uint64_t first = spans.PageUp(span.address);
    uint64_t to = spans.PageDown(span.address + span.size);
    while (to > first && !heap_.chunks->OnHost(to - page)) to -= page;
    uint64_t from = to;
    while (from > first && heap_.chunks->OnHost(from - page) &&
           heap_.chunks->Detach(from - page, heap_.timeline, span.tick) == kDriverSuccess) {
      from -= page;
    }
    if (from >= to) return;
    spans.MakeHole(index, from, to);
    if (from == bottom) return;
  }
}

bool Stripper::HasHostPage(const Span& span) const {
  const SpanTable& spans = *heap_.spans;
  const uint64_t last = spans.PageDown(span.address + span.size);
  for (uint64_t at = spans.PageUp(span.address); at < last; at += spans.page_bytes()) {
    if (heap_.chunks->OnHost(at)) return true;
  }
  return false;
}

void Stripper::DropHostPages() {
  const SpanTable& spans = *heap_.spans;
  for (uint8_t zone = 0; zone < SpanTable::kZones;) {
    uint32_t found = 0;
    spans.free(zone).VisitFrom(spans.slab(), spans.page_bytes(), [&](uint32_t index) {
      kDeviceLock.AssertHeld();
      if (heap_.IsUntouched(spans[index]) && HasHostPage(spans[index])) found = index;
      return found == 0;
    });
    const uint64_t before = spans.free_bytes();
    if (found != 0) DropHostPages(found);
    // No page is left in this zone, or none can be detached.
    if (spans.free_bytes() == before) ++zone;
  }
}

// Finds up to kBatch free spans with whole pages whose chunks may be detached; *waiting becomes the
// number of such pages that still wait for a fence.
int Stripper::FindStrippable(uint32_t before_epoch, const Plan& plan, bool own, uint32_t* batch,
                             uint64_t* waiting) const {
  const SpanTable& spans = *heap_.spans;
  const bool unfenced = own && heap_.MovesUnfenced() && !takes_large_;
  int found = 0;
  *waiting = 0;
  for (uint8_t zone = 0; zone < SpanTable::kZones && found < kBatch; ++zone) {
    spans.free(zone).VisitFrom(spans.slab(), spans.page_bytes(), [&](uint32_t index) {
      kDeviceLock.AssertHeld();
      const Span& span = spans[index];
      if (plan.Touches(span) || span.epoch > before_epoch) return true;
      const Run run = PagesThatMayGo(span, true);
      if (run.first == run.last) return true;
      if (!unfenced && !heap_.IsUntouched(span)) {
        *waiting += (run.last - run.first) / spans.page_bytes();
        return true;
      }
      batch[found++] = index;
      return found < kBatch;
    });
  }
  return found;
}

void Stripper::StripBatches(uint64_t count, uint32_t before_epoch, const Plan& plan, bool own,
                            StripResult* strip) {
  for (bool progress = true; progress && strip->pages < count;) {
    progress = false;
    uint32_t batch[kBatch];
    const int found = FindStrippable(before_epoch, plan, own, batch, &strip->waiting);
    for (int i = 0; i < found && strip->pages < count; ++i) {
      const uint64_t done = StripSpan(batch[i], count - strip->pages, &strip->result);
      strip->pages += done;
      if (done > 0) progress = true;
      if (strip->result != kDriverSuccess) return;
    }
  }
}

StripResult Stripper::Strip(uint64_t count, uint32_t before_epoch, const Plan& plan, bool own) {
  StripResult strip;
  if (heap_.graph_pinned) return strip;
  StripBatches(count, before_epoch, plan, own, &strip);
  takes_large_ = heap_.chunks->any_large();
  if (takes_large_ && strip.result == kDriverSuccess) {
    StripBatches(count, before_epoch, plan, own, &strip);
  }
  takes_large_ = false;
  return strip;
}

}  // namespace vramstow
