// How chunks leave the pages of a heap. The device's lock is held.
#include "allocator/heap/heap.h"

namespace vramstow {
namespace {

// Free spans, or runs of pages, that are dealt with in one go.
constexpr int kBatch = 64;
// Mark of a page whose chunk is wanted elsewhere.
constexpr uint32_t kWanted = ~uint32_t{0};

}  // namespace

// Cuts [from, to), pages that are unmapped now, out of a free span that is in no index.
void Heap::MakeHole(uint32_t index, uint64_t from, uint64_t to) {
  Zone& zone = zones_[spans_[index].zone];
  if (from > spans_[index].address) {
    const uint32_t upper = SplitAt(index, from - spans_[index].address);
    zone.free.Insert(&spans_, index);
    index = upper;
  }
  if (to < spans_[index].address + spans_[index].size) {
    zone.free.Insert(&spans_, SplitAt(index, to - spans_[index].address));
  }
  spans_[index].state = SpanState::kHole;
  const auto absorb = [this](uint32_t low, uint32_t high) {
    spans_[low].size += spans_[high].size;
    spans_[low].next = spans_[high].next;
    if (spans_[high].next != 0) spans_[spans_[high].next].previous = low;
    spans_.Delete(high);
  };
  const uint32_t next = spans_[index].next;
  if (next != 0 && spans_[next].state == SpanState::kHole) {
    zone.holes.Remove(&spans_, next);
    absorb(index, next);
  }
  const uint32_t previous = spans_[index].previous;
  if (previous != 0 && spans_[previous].state == SpanState::kHole) {
    zone.holes.Remove(&spans_, previous);
    absorb(previous, index);
    index = previous;
  }
  zone.holes.Insert(&spans_, index);
}

// Takes the chunks of whole pages of a free span, beside a hole if there is one, until `count` were
// of the device. Returns how many were.
uint64_t Heap::StripSpan(uint32_t index, uint64_t count, DriverResult* result) {
  if (!spans_.EnsureSpare(2)) return 0;
  Span& span = spans_[index];
  const uint64_t page = with_.page_bytes;
  const uint64_t first = PageUp(span.address);
  const uint64_t last = PageDown(span.address + span.size);
  const uint64_t pages = (last - first) / page;
  const auto is_hole = [this](uint32_t i) { return i != 0 && spans_[i].state == SpanState::kHole; };
  const bool from_below = is_hole(span.previous) && !is_hole(span.next);
  uint64_t done = 0;
  uint64_t of_device = 0;
  while (of_device < count && done < pages) {
    const uint64_t address = from_below ? first + done * page : last - (done + 1) * page;
    const bool on_host = with_.chunks->OnHost(address);
    *result = with_.chunks->Detach(address, timeline, span.tick);
    if (*result != kDriverSuccess) break;
    ++done;
    of_device += on_host ? 0 : 1;
  }
  if (done == 0) return 0;
  Bump(&stats.mapped_bytes[span.zone], ~(done * page) + 1);
  zones_[span.zone].free.Remove(&spans_, index);
  if (from_below) {
    MakeHole(index, first, first + done * page);
  } else {
    MakeHole(index, last - done * page, last);
  }
  return of_device;
}

// The chunks of a free span's whole pages that lie in host memory go to the store, unless work may
// still touch them. From the top down, so that what is left to look at keeps its number.
void Heap::DropHostPages(uint32_t index) {
  const uint64_t page = with_.page_bytes;
  const uint64_t bottom = spans_[index].address;
  for (;;) {
    const Span& span = spans_[index];
    if (!with_.fences->Completed(timeline, span.tick) || !spans_.EnsureSpare(2)) return;
    const uint64_t first = PageUp(span.address);
    uint64_t to = PageDown(span.address + span.size);
    while (to > first && !with_.chunks->OnHost(to - page)) to -= page;
    uint64_t from = to;
    while (from > first && with_.chunks->OnHost(from - page) &&
           with_.chunks->Detach(from - page, timeline, span.tick) == kDriverSuccess) {
      from -= page;
    }
    if (from >= to) return;
    Bump(&stats.mapped_bytes[span.zone], ~(to - from) + 1);
    zones_[span.zone].free.Remove(&spans_, index);
    MakeHole(index, from, to);
    if (from == bottom) return;
  }
}

// The chunks of [from, to), whole pages of a free span, go to the store. False: no memory for
// records.
bool Heap::DetachKeepMapped(uint32_t index, uint64_t from, uint64_t to) {
  if (!spans_.EnsureSpare(2)) return false;
  const Span& span = spans_[index];
  for (uint64_t at = from; at < to; at += with_.page_bytes) {
    with_.chunks->DetachKeepMapped(at, timeline, span.tick);
  }
  Bump(&stats.mapped_bytes[span.zone], ~(to - from) + 1);
  zones_[span.zone].free.Remove(&spans_, index);
  MakeHole(index, from, to);
  return true;
}

// Calls visit(span, page) for the whole free pages outside of the plan that may leave, until it
// gives false.
template <typename Visit>
void Heap::VisitMovable(const Plan& plan, Visit visit) const {
  const bool unfenced = MovesUnfenced();
  bool going = true;
  for (const Zone& zone : zones_) {
    if (!going) break;
    zone.free.VisitFrom(spans_, with_.page_bytes, [&](uint32_t index) {
      const Span& span = spans_[index];
      if (span.address < plan.to && plan.from < span.address + span.size) return true;
      if (!unfenced && !with_.fences->Completed(timeline, span.tick)) return true;
      const uint64_t last = PageDown(span.address + span.size);
      for (uint64_t at = PageUp(span.address); going && at < last; at += with_.page_bytes) {
        going = visit(index, &with_.space->PageAt(at));
      }
      return going;
    });
  }
}

// A free span with a whole page that is `wanted`, and that lies outside of the plan; or 0.
template <typename Wanted>
uint32_t Heap::FindSpanWith(const Plan& plan, Wanted wanted) const {
  uint32_t found = 0;
  VisitMovable(plan, [&](uint32_t index, const Page* page) {
    if (wanted(*page)) found = index;
    return found == 0;
  });
  return found;
}

// From its end on, so that the span keeps its number as long as there is something left of it.
uint64_t Heap::RecallFrom(uint32_t index) {
  const uint64_t page = with_.page_bytes;
  const uint64_t first = PageUp(spans_[index].address);
  const uint64_t start = spans_[index].address;
  const auto wanted = [&](uint64_t at) { return with_.space->PageAt(at).mark == kWanted; };
  uint64_t done = 0;
  for (uint64_t at = PageDown(start + spans_[index].size); at > first;) {
    at -= page;
    if (!wanted(at)) continue;
    const uint64_t end = at + page;
    while (at > first && wanted(at - page)) at -= page;
    for (uint64_t each = at; each < end; each += page) with_.space->PageAt(each).mark = 0;
    if (!DetachKeepMapped(index, at, end)) return done;
    done += (end - at) / page;
    if (at == start) break;
  }
  return done;
}

// The chunks of so many pages that are marked as wanted go to the store.
uint64_t Heap::DetachWanted(uint64_t wanted, const Plan& plan) {
  uint64_t left = 0;
  while (left < wanted) {
    const uint32_t index =
        FindSpanWith(plan, [](const Page& page) { return page.mark == kWanted; });
    const uint64_t done = index != 0 ? RecallFrom(index) : 0;
    if (done == 0) break;
    left += done;
  }
  return left;
}

// Learns when the pages of the round are in use, and when those of the plan that lack a chunk will
// be. False: nobody knows.
bool Heap::BuildInterference(const Plan& plan, SlotMask* wanted) {
  InterferenceMap* interference = with_.interference;
  const uint64_t round = predictor_.round();
  if (round == 0 || !interference->Begin(with_.space)) return false;
  bool all = true;
  predictor_.VisitRound([&](uint64_t size, uint64_t address, uint64_t from, uint64_t to) {
    const uint64_t end = address + size;
    const uint64_t pages = (PageUp(end) - PageDown(address)) >> page_shift_;
    all = all && SpendLookahead(pages + 1);
    if (!all) return;
    SlotMask slots;
    slots.AddRequests(from, to, round);
    for (uint64_t at = PageDown(address); at < end && all; at += with_.page_bytes) {
      all = interference->Note(at, slots);
    }
  });
  wanted->AddRequests(0, predictor_.Life(), round);
  for (uint64_t i = 0; i < plan.pages; ++i) {
    const Page& page = with_.space->PageAt(plan.address + i * with_.page_bytes);
    if (page.chunk == 0) wanted->Add(interference->Of(page));
  }
  return all;
}

uint64_t Heap::StripByInterference(uint64_t count, const Plan& plan, bool safe) {
  if (count == 0 || graph_pinned || !predictor_.Repeating()) return 0;
  if (!with_.chunks->MayShadow(count)) return 0;
  EmptyBins(~uint64_t{0});
  SlotMask needs;
  if (!BuildInterference(plan, &needs)) {
    with_.interference->End();
    return 0;
  }
  const auto cost_of = [&](const Page& page) {
    return needs.Common(with_.chunks->UseOf(page, *with_.interference));
  };
  uint64_t pages[SlotMask::kSlots + 1] = {};  // by what they cost
  VisitMovable(plan, [&](uint32_t, const Page* page) {
    if (!with_.chunks->IsHost(page->chunk)) ++pages[cost_of(*page)];
    return true;
  });
  uint32_t most = 0;
  for (uint64_t found = pages[0]; found < count && !safe && most < SlotMask::kSlots;) {
    found += pages[++most];
  }
  uint64_t wanted = 0;
  VisitMovable(plan, [&](uint32_t, Page* page) {
    if (with_.chunks->IsHost(page->chunk) || cost_of(*page) > most) return true;
    page->mark = kWanted;
    return ++wanted != count;
  });
  with_.interference->End();
  return DetachWanted(wanted, plan);
}

uint64_t Heap::Recall(const Plan& plan) {
  if (mark_ == 0) return 0;
  uint64_t wanted = 0;
  for (uint64_t i = 0; i < plan.pages; ++i) {
    const Page& page = with_.space->PageAt(plan.address + i * with_.page_bytes);
    if (page.chunk != 0 || page.mapped == 0) continue;
    const uint32_t place = with_.chunks->PlaceOf(page);
    if (place == 0 || (*with_.space)[place].mark != mark_) continue;
    (*with_.space)[place].mark = kWanted;
    ++wanted;
  }
  const uint64_t recalled = DetachWanted(wanted, plan);
  // What lies in the plan itself stays there.
  for (uint64_t at = plan.from; recalled < wanted && at < plan.to; at += with_.page_bytes) {
    if (with_.space->PageAt(at).mark == kWanted) with_.space->PageAt(at).mark = 0;
  }
  return recalled;
}

// Takes chunks that have a home out of a free span, up to kBatch runs of pages; *runs says where
// they belong.
int Heap::DetachForRestore(uint32_t index, Plan* runs) {
  const uint64_t size = with_.page_bytes;
  const uint64_t start = spans_[index].address;
  const uint64_t first = PageUp(start);
  const auto home_of = [&](uint64_t at) { return with_.chunks->HomeOf(with_.space->PageAt(at)); };
  int found = 0;
  for (uint64_t at = PageDown(start + spans_[index].size); at > first && found < kBatch;) {
    at -= size;
    uint32_t home = home_of(at);
    if (home == 0) continue;
    uint64_t count = 1;
    while (at > first && home_of(at - size) == home - 1 && home != 1) {
      at -= size;
      --home;
      ++count;
    }
    if (!DetachKeepMapped(index, at, at + count * size)) break;
    runs[found] = Plan();
    runs[found].address = with_.space->AddressOf(home);
    runs[found++].pages = count;
    if (at == start) break;
  }
  return found;
}

bool Heap::RestoreMappings() {
  if (graph_pinned || with_.chunks->shadow_count() == 0) return false;
  EmptyBins(~uint64_t{0});
  for (bool any = false;; any = true) {
    const uint32_t index =
        FindSpanWith(Plan(), [this](const Page& page) { return with_.chunks->HomeOf(page) != 0; });
    if (index == 0) return any;
    Plan runs[kBatch];
    const int found = DetachForRestore(index, runs);
    if (found == 0) return any;
    for (int i = 0; i < found; ++i) {
      if (Execute(runs[i]) != kDriverSuccess) return any;
    }
  }
}

Heap::StripResult Heap::Strip(uint64_t count, uint32_t before_epoch, const Plan& plan, bool own) {
  StripResult strip;
  if (graph_pinned) return strip;
  EmptyBins(~uint64_t{0});
  const bool unfenced = own && MovesUnfenced();
  const uint64_t page = with_.page_bytes;
  for (bool progress = true; progress && strip.pages < count;) {
    progress = false;
    strip.waiting = 0;
    uint32_t batch[kBatch];
    int found = 0;
    for (Zone& zone : zones_) {
      zone.free.VisitFrom(spans_, page, [&](uint32_t index) {
        const Span& span = spans_[index];
        const uint64_t first = PageUp(span.address);
        const uint64_t last = PageDown(span.address + span.size);
        if (first >= last) return true;
        if (span.address < plan.to && plan.from < span.address + span.size) return true;
        if (span.epoch > before_epoch) return true;
        if (!unfenced && !with_.fences->Completed(timeline, span.tick)) {
          strip.waiting += (last - first) / page;
          return true;
        }
        batch[found++] = index;
        return found < kBatch;
      });
      if (found == kBatch) break;
    }
    for (int i = 0; i < found && strip.pages < count; ++i) {
      const uint64_t done = StripSpan(batch[i], count - strip.pages, &strip.result);
      strip.pages += done;
      if (done > 0) progress = true;
      if (strip.result != kDriverSuccess) return strip;
    }
  }
  return strip;
}

}  // namespace vramstow
