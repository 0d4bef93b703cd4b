#include "allocator/placement/planner.h"

#include <algorithm>

#include "base/rounding.h"

namespace vramstow {
namespace {

// How many holes Find examines at most.
constexpr int kMaxLooks = 512;
// How many spans PlanAt examines at most.
constexpr int kMaxSpanLooks = 4096;

}  // namespace

// Marks the whole free pages whose chunks can be moved without waiting.
void Planner::MarkFreePages(const HeapPages& heap, bool recall) {
  mark_ = 0;
  if (!recall || heap.graph_pinned || heap.chunks->shadow_count() == 0) return;
  mark_ = heap.chunks->NewMark();
  const SpanTable& spans = *heap.spans;
  const bool unfenced = heap.MovesUnfenced();
  for (uint8_t zone = 0; zone < SpanTable::kZones; ++zone) {
    spans.free(zone).VisitFrom(spans.slab(), spans.page_bytes(), [&](uint32_t index) {
      const Span& span = spans[index];
      if (!unfenced && !heap.IsUntouched(span)) return true;
      const uint64_t last = spans.PageDown(span.address + span.size);
      for (uint64_t at = spans.PageUp(span.address); at < last; at += spans.page_bytes()) {
        Page& page = heap.space->PageAt(at);
        if (!page.registered()) page.mark = mark_;
      }
      return true;
    });
  }
}

// Returns the sum of ChunkStore::CostOf over all pages of a plan.
uint64_t Planner::CostOf(const HeapPages& heap, const Plan& plan) const {
  if (heap.chunks->shadow_count() == 0) return plan.count;
  const auto can_be_had = [&](uint32_t place) {
    if (mark_ == 0 || (*heap.space)[place].mark != mark_) return false;
    return heap.space->AddressOf(place) - plan.from >= plan.to - plan.from;
  };
  uint64_t cost = 0;
  for (uint64_t i = 0; i < plan.pages && cost < ChunkStore::kImpossible; ++i) {
    const Page& page = heap.space->PageAt(plan.address + i * heap.spans->page_bytes());
    const uint32_t one = heap.chunks->CostOf(page, heap.timeline, can_be_had);
    // A chunk that is mapped at two pages of the plan serves the first one, so the second needs
    // another chunk. With `recall` the second chunk is not counted, because a plan that fails is
    // made again.
    const bool again = one == 0 && mark_ == 0 && heap.chunks->ComesEarlier(page, plan.address);
    cost += again ? heap.chunks->CostOfUnmapping(page) : one;
  }
  return cost;
}

// Returns the lowest address in a hole at which `count` neighbouring pages can be used, or 0.
// Examines each page at most once.
uint64_t Planner::FirstPossible(const HeapPages& heap, const Span& hole, uint64_t count) const {
  if (heap.chunks->shadow_count() == 0) return hole.address;
  const uint64_t page = heap.spans->page_bytes();
  const uint64_t end = hole.address + hole.size;
  Plan one;
  one.pages = 1;
  uint64_t start = hole.address;
  for (uint64_t at = start; start + count * page <= end;) {
    one.address = at;
    at += page;
    if (CostOf(heap, one) >= ChunkStore::kImpossible) {
      start = at;
    } else if (at - start == count * page) {
      return start;
    }
  }
  return 0;
}

// Replaces *plan by the offered plan if that is better. A plan is better if it needs fewer chunks.
// If both need the same number, it is better in a repeating job if it needs fewer driver calls.
// Otherwise it is better if it leaves a smaller free piece, so that the pieces at the edges of
// pages are used up.
void Planner::Offer(const HeapPages& heap, bool repeating, Plan offered, Plan* plan) const {
  if (plan->count != 0 && plan->count < offered.count) return;
  offered.cost = CostOf(heap, offered);
  if (offered.cost >= ChunkStore::kImpossible) return;
  if (plan->count == offered.count) {
    const bool cheaper = offered.cost < plan->cost;
    const bool fuller = offered.left < plan->left;
    if (repeating && plan->cost != offered.cost ? !cheaper : !fuller) return;
  }
  *plan = offered;
}

// Compares the ways to use one hole: alone, or together with the free spans beside it.
void Planner::Consider(const HeapPages& heap, bool repeating, uint32_t hole, uint64_t size,
                       Plan* plan) const {
  const SpanTable& spans = *heap.spans;
  const Span& span = spans[hole];
  const uint64_t page = spans.page_bytes();
  const uint64_t below = spans.IsFree(span.previous) ? spans[span.previous].size : 0;
  const uint64_t above = spans.IsFree(span.next) ? spans[span.next].size : 0;
  // Offers a plan of `count` pages from the address on, with `low` free bytes below them and `high`
  // free bytes above them.
  const auto offer = [&](uint64_t address, uint64_t count, uint64_t low, uint64_t high) {
    kDeviceLock.AssertHeld();
    const uint64_t room = count * page + low + high;
    if (room < size || count * page > span.size) return;
    Plan offered{.address = address,
                 .pages = count,
                 .count = count,
                 .left = room - size,
                 .from = address - low,
                 .to = address + count * page + high};
    Offer(heap, repeating, offered, plan);
  };
  const auto pages_for = [page](uint64_t bytes) { return DivideUp(bytes, page); };
  const uint64_t alone = pages_for(size);
  if (alone * page <= span.size && (plan->count == 0 || plan->count >= alone)) {
    const uint64_t start = FirstPossible(heap, span, alone);
    if (start != 0) offer(start, alone, 0, 0);
  }
  if (below != 0 && below < size) offer(span.address, pages_for(size - below), below, 0);
  if (above != 0 && above < size) {
    const uint64_t count = pages_for(size - above);
    if (count * page <= span.size) offer(span.address + span.size - count * page, count, 0, above);
  }
  if (below != 0 && above != 0) offer(span.address, span.size / page, below, above);
}

// Makes a plan for a block at exactly this address. The plan may need single pages in several
// positions. Returns false if another block lies there, or if unfinished work still uses a mapping
// there.
bool Planner::PlanAt(const HeapPages& heap, uint64_t place, uint64_t size, Plan* plan) const {
  if (place == 0) return false;
  const SpanTable& spans = *heap.spans;
  const uint64_t page = spans.page_bytes();
  const uint64_t end = place + size;
  uint64_t covered = 0;
  int looks = 0;
  const auto cover = [&](uint32_t index) {
    const Span& span = spans[index];
    const uint64_t from = std::max(span.address, place);
    const uint64_t to = std::min(span.address + span.size, end);
    if (from < to) covered += to - from;
    return ++looks < kMaxSpanLooks;
  };
  spans.free(SpanTable::kLargeZone).VisitFrom(spans.slab(), kBlockBytes, cover);
  spans.holes(SpanTable::kLargeZone).VisitFrom(spans.slab(), kBlockBytes, cover);
  if (covered != size) return false;
  *plan = Plan();
  plan->address = spans.PageDown(place);
  plan->pages = (spans.PageUp(end) - plan->address) / page;
  plan->from = plan->address;
  plan->to = spans.PageUp(end);
  plan->repeats = true;
  for (uint64_t at = plan->from; at < plan->to; at += page) {
    if (heap.space->PageAt(at).chunk == 0) ++plan->count;
  }
  plan->cost = CostOf(heap, *plan);
  return plan->count != 0 && plan->cost < ChunkStore::kImpossible;
}

bool Planner::Begin(const HeapPages& heap, PlacementPredictor* predictor, uint64_t size,
                    bool recall, Plan* plan) {
  MarkFreePages(heap, recall);
  const bool large = heap.spans->ZoneOf(size) == SpanTable::kLargeZone;
  const uint64_t place = large && recall ? predictor->Predict(size) : 0;
  repeated_ = Plan();
  has_repeated_ = place != 0 && predictor->Repeating() &&
                  (PlanAt(heap, place, size, &repeated_) ||
                   PlanAt(heap, predictor->Earlier(), size, &repeated_));
  if (!has_repeated_ || repeated_.cost != 0) return false;
  *plan = repeated_;
  return true;
}

bool Planner::Find(const HeapPages& heap, bool repeating, uint64_t size, Plan* plan) const {
  const SpanTable& spans = *heap.spans;
  const SpanIndex& holes = spans.holes(spans.ZoneOf(size));
  *plan = Plan();
  int looks = 0;
  holes.VisitFrom(spans.slab(), spans.page_bytes(), [&](uint32_t hole) {
    kDeviceLock.AssertHeld();
    Consider(heap, repeating, hole, size, plan);
    return ++looks < kMaxLooks;
  });
  if (plan->count == 0) {
    // All holes that were examined may have been too small. A hole of this size is large enough in
    // any case.
    const uint32_t hole = holes.Find(spans.slab(), size + spans.page_bytes());
    if (hole != 0) Consider(heap, repeating, hole, size, plan);
  }
  if (has_repeated_ && (plan->count == 0 || repeated_.count <= plan->count)) *plan = repeated_;
  return plan->count != 0;
}

void Planner::PlanIn(const HeapPages& heap, uint32_t hole, uint64_t size, Plan* plan) const {
  *plan = Plan();
  Consider(heap, /*repeating=*/false, hole, size, plan);
}

DriverResult Planner::Execute(const HeapPages& heap, const Plan& plan) {
  SpanTable& spans = *heap.spans;
  const uint64_t page = spans.page_bytes();
  const uint64_t end = plan.address + plan.pages * page;
  for (;;) {
    if (!spans.EnsureSpare(2)) return kDriverOutOfMemory;
    const uint32_t hole = spans.FindHole(plan.address, end);
    if (hole == 0) return kDriverSuccess;
    const uint64_t from = std::max(spans[hole].address, plan.address);
    const uint64_t size = std::min(spans[hole].address + spans[hole].size, end) - from;
    uint32_t tick = 0;
    const DriverResult result = heap.chunks->Place(from, size / page, heap.timeline, &tick);
    if (result != kDriverSuccess) return result;
    spans.FillHole(hole, from, size, tick);
    if (size == end - plan.address) return kDriverSuccess;
  }
}

}  // namespace vramstow
