#include "allocator/placement/chunk_moves.h"

#include "allocator/placement/planner.h"

namespace vramstow {

// Calls visit(span, page) for the whole free pages outside of the plan whose chunks may move, until
// visit returns false.
template <typename Visit>
void ChunkMoves::VisitMovable(const Plan& plan, Visit visit) const {
  const SpanTable& spans = *heap_.spans;
  const bool unfenced = heap_.MovesUnfenced();
  bool going = true;
  for (uint8_t zone = 0; zone < SpanTable::kZones && going; ++zone) {
    spans.free(zone).VisitFrom(spans.slab(), spans.page_bytes(), [&](uint32_t index) {
      const Span& span = spans[index];
      if (plan.Touches(span) || (!unfenced && !heap_.IsUntouched(span))) return true;
      const uint64_t last = spans.PageDown(span.address + span.size);
      for (uint64_t at = spans.PageUp(span.address); going && at < last; at += spans.page_bytes()) {
        Page& page = PageAt(at);
        if (!page.registered() && !heap_.chunks->IsLarge(page)) going = visit(index, &page);
      }
      return going;
    });
  }
}

// Returns a free span outside of the plan with a whole page for which wanted(page) is true, or 0.
template <typename Wanted>
uint32_t ChunkMoves::FindSpanWith(const Plan& plan, Wanted wanted) const {
  uint32_t found = 0;
  VisitMovable(plan, [&](uint32_t index, const Page* page) {
    if (wanted(*page)) found = index;
    return found == 0;
  });
  return found;
}

// Moves the chunks of [from, to), whole pages of a free span, to the store. Returns false if there
// is no memory for records.
bool ChunkMoves::DetachKeepMapped(uint32_t index, uint64_t from, uint64_t to) {
  SpanTable& spans = *heap_.spans;
  if (!spans.EnsureSpare(2)) return false;
  for (uint64_t at = from; at < to; at += spans.page_bytes()) {
    heap_.chunks->DetachKeepMapped(at, heap_.timeline, spans[index].tick);
  }
  spans.MakeHole(index, from, to);
  return true;
}

// Works backwards from the span's end, so that the rest of the span keeps its number.
uint64_t ChunkMoves::DetachWantedFrom(uint32_t index) {
  const SpanTable& spans = *heap_.spans;
  const uint64_t page = spans.page_bytes();
  const uint64_t start = spans[index].address;
  const uint64_t first = spans.PageUp(start);
  const auto wanted = [&](uint64_t at) { return PageAt(at).mark == kWanted; };
  uint64_t done = 0;
  for (uint64_t at = spans.PageDown(start + spans[index].size); at > first;) {
    at -= page;
    if (!wanted(at)) continue;
    const uint64_t end = at + page;
    while (at > first && wanted(at - page)) at -= page;
    for (uint64_t each = at; each < end; each += page) PageAt(each).mark = 0;
    if (!DetachKeepMapped(index, at, end)) return done;
    done += (end - at) / page;
    if (at == start) break;
  }
  return done;
}

// Moves the chunks of pages with the mark kWanted to the store, until at least `wanted` chunks were
// moved or no such page is left. Returns the number of chunks that were moved.
uint64_t ChunkMoves::DetachWanted(uint64_t wanted, const Plan& plan) {
  uint64_t left = 0;
  while (left < wanted) {
    const uint32_t index =
        FindSpanWith(plan, [](const Page& page) { return page.mark == kWanted; });
    const uint64_t done = index != 0 ? DetachWantedFrom(index) : 0;
    if (done == 0) break;
    left += done;
  }
  return left;
}

// Computes in which time slots each page of the iteration is in use, and in which slots the plan's
// pages that lack a chunk will be in use. Returns false if that is unknown.
bool ChunkMoves::BuildInterference(const Plan& plan, LargePlacement* placement,
                                   InterferenceMap* interference, SlotMask* wanted) const {
  const SpanTable& spans = *heap_.spans;
  const PlacementPredictor& predictor = placement->predictor();
  const uint64_t round = predictor.round();
  if (round == 0 || !interference->Begin(heap_.space)) return false;
  bool all = true;
  predictor.VisitRound([&](uint64_t size, uint64_t address, uint64_t from, uint64_t to) {
    kDeviceLock.AssertHeld();
    const uint64_t end = address + size;
    const uint64_t first = spans.PageDown(address);
    const uint64_t pages = (spans.PageUp(end) - first) >> spans.page_shift();
    all = all && placement->budget().Spend(pages + 1, predictor.count());
    if (!all) return;
    SlotMask slots;
    slots.AddRequests(from, to, round);
    for (uint64_t at = first; at < end && all; at += spans.page_bytes()) {
      all = interference->Note(at, slots);
    }
  });
  wanted->AddRequests(0, predictor.Life(), round);
  for (uint64_t i = 0; i < plan.pages; ++i) {
    const Page& page = PageAt(plan.address + i * spans.page_bytes());
    if (page.chunk == 0) wanted->Add(interference->Of(page));
  }
  return all;
}

uint64_t ChunkMoves::StripByInterference(uint64_t count, const Plan& plan, bool safe,
                                         LargePlacement* placement, InterferenceMap* interference) {
  SlotMask needs;
  if (!BuildInterference(plan, placement, interference, &needs)) {
    interference->End();
    return 0;
  }
  // Counts the slots (parts of the iteration) in which both the plan and another page of the chunk
  // need the chunk.
  const auto cost_of = [&](const Page& page) {
    kDeviceLock.AssertHeld();
    SlotMask use;
    heap_.chunks->VisitMappings(page.chunk, [&](const Page& other) {
      kDeviceLock.AssertHeld();
      use.Add(interference->Of(other));
    });
    return needs.Common(use);
  };
  uint64_t pages[SlotMask::kSlots + 1] = {};  // by what they cost
  VisitMovable(plan, [&](uint32_t, const Page* page) {
    if (!heap_.chunks->IsHost(page->chunk)) ++pages[cost_of(*page)];
    return true;
  });
  uint32_t most = 0;
  for (uint64_t found = pages[0]; found < count && !safe && most < SlotMask::kSlots;) {
    found += pages[++most];
  }
  uint64_t wanted = 0;
  VisitMovable(plan, [&](uint32_t, Page* page) {
    if (heap_.chunks->IsHost(page->chunk) || cost_of(*page) > most) return true;
    page->mark = kWanted;
    return ++wanted != count;
  });
  interference->End();
  return DetachWanted(wanted, plan);
}

uint64_t ChunkMoves::Recall(const Plan& plan, uint32_t mark) {
  if (mark == 0) return 0;
  const uint64_t page_bytes = heap_.spans->page_bytes();
  uint64_t wanted = 0;
  for (uint64_t i = 0; i < plan.pages; ++i) {
    const Page& page = PageAt(plan.address + i * page_bytes);
    if (page.chunk != 0 || page.mapped == 0) continue;
    const uint32_t place = heap_.chunks->PlaceOf(page);
    if (place == 0 || (*heap_.space)[place].mark != mark) continue;
    (*heap_.space)[place].mark = kWanted;
    ++wanted;
  }
  const uint64_t recalled = DetachWanted(wanted, plan);
  // Chunks that lie in the plan itself stay where they are.
  for (uint64_t at = plan.from; recalled < wanted && at < plan.to; at += page_bytes) {
    if (PageAt(at).mark == kWanted) PageAt(at).mark = 0;
  }
  return recalled;
}

// Detaches chunks from a free span so that they can return to the pages they came from. It stops
// after kBatch runs of such pages, and stores these runs in *runs.
int ChunkMoves::DetachForRestore(uint32_t index, Plan* runs) {
  const SpanTable& spans = *heap_.spans;
  const uint64_t size = spans.page_bytes();
  const uint64_t start = spans[index].address;
  const uint64_t first = spans.PageUp(start);
  const auto home_of = [&](uint64_t at) {
    kDeviceLock.AssertHeld();
    Page& page = PageAt(at);
    return page.registered() ? 0 : heap_.chunks->HomeOf(page);
  };
  int found = 0;
  for (uint64_t at = spans.PageDown(start + spans[index].size); at > first && found < kBatch;) {
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
    runs[found].address = heap_.space->AddressOf(home);
    runs[found++].pages = count;
    if (at == start) break;
  }
  return found;
}

bool ChunkMoves::RestoreMappings() {
  for (bool any = false;; any = true) {
    const uint32_t index = FindSpanWith(Plan(), [this](const Page& page) {
      kDeviceLock.AssertHeld();
      return heap_.chunks->HomeOf(page) != 0;
    });
    if (index == 0) return any;
    Plan runs[kBatch];
    const int found = DetachForRestore(index, runs);
    if (found == 0) return any;
    for (int i = 0; i < found; ++i) {
      if (Planner::Execute(heap_, runs[i]) != kDriverSuccess) return any;
    }
  }
}

}  // namespace vramstow
