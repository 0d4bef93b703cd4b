// Where a block finds room that needs chunks, and how they come there. The device's lock is held.
#include <algorithm>

#include "allocator/heap/heap.h"

namespace vramstow {
namespace {

// Holes that a plan looks at.
constexpr int kMaxLooks = 512;
// Pages of a hole at which a plan looks for a place where no work comes any more.
constexpr uint64_t kMaxPageLooks = 16384;
// Spans at which the plan for a place looks.
constexpr int kMaxSpanLooks = 4096;

}  // namespace

// Whether some of the pages of a place have no chunk now. Those of a heap's own regions change only
// under its lock.
bool Heap::Moved(uint64_t place, uint64_t size) const {
  const uint64_t end = place + size;
  for (uint64_t at = PageDown(place); at < end; at += with_.page_bytes) {
    if (with_.space->PageAt(at).chunk == 0) return true;
  }
  return false;
}

// Work of this heap's own stream may be under way on a chunk that moves within it: its order holds.
// While something is captured, the order of what was submitted says nothing.
bool Heap::MovesUnfenced() const {
  return on_stream && with_.chunks->shadows() && !with_.fences->capturing();
}

// Marks the whole free pages whose chunks can be had without a wait.
void Heap::MarkFreePages(bool recall) {
  mark_ = 0;
  if (!recall || graph_pinned || with_.chunks->shadow_count() == 0) return;
  mark_ = with_.chunks->NewMark();
  const bool unfenced = MovesUnfenced();
  for (const Zone& zone : zones_) {
    zone.free.VisitFrom(spans_, with_.page_bytes, [&](uint32_t index) {
      const Span& span = spans_[index];
      if (!unfenced && !with_.fences->Completed(timeline, span.tick)) return true;
      const uint64_t last = PageDown(span.address + span.size);
      for (uint64_t at = PageUp(span.address); at < last; at += with_.page_bytes) {
        with_.space->PageAt(at).mark = mark_;
      }
      return true;
    });
  }
}

// Of all pages of a plan, what ChunkStore::CostOf says.
uint64_t Heap::CostOf(const Plan& plan) const {
  if (with_.chunks->shadow_count() == 0) return plan.count;
  const auto can_be_had = [&](uint32_t place) {
    if (mark_ == 0 || (*with_.space)[place].mark != mark_) return false;
    return with_.space->AddressOf(place) - plan.from >= plan.to - plan.from;
  };
  uint64_t cost = 0;
  for (uint64_t i = 0; i < plan.pages && cost < ChunkStore::kImpossible; ++i) {
    const Page& page = with_.space->PageAt(plan.address + i * with_.page_bytes);
    cost += with_.chunks->CostOf(page, timeline, can_be_had);
  }
  return cost;
}

// The lowest place in a hole where so many pages can be used; 0: there is none near its start.
uint64_t Heap::FirstPossible(const Span& hole, uint64_t count) const {
  if (with_.chunks->shadow_count() == 0) return hole.address;
  const uint64_t page = with_.page_bytes;
  const uint64_t end = hole.address + hole.size;
  Plan one;
  one.pages = 1;
  uint64_t start = hole.address;
  uint64_t at = start;
  for (uint64_t looks = 0; start + count * page <= end && looks < kMaxPageLooks; ++looks) {
    one.address = at;
    at += page;
    if (CostOf(one) >= ChunkStore::kImpossible) {
      start = at;
    } else if (at - start == count * page) {
      return start;
    }
  }
  return 0;
}

// Compares the ways to use one hole: by itself, or together with the free spans beside it.
void Heap::Consider(uint32_t hole, uint64_t size, Plan* plan) const {
  const Span& span = spans_[hole];
  const uint64_t page = with_.page_bytes;
  const auto size_of_free = [this](uint32_t index) {
    return index != 0 && spans_[index].state == SpanState::kFree ? spans_[index].size : 0;
  };
  const uint64_t below = size_of_free(span.previous);
  const uint64_t above = size_of_free(span.next);
  // The fewest chunks; in a repeating job the fewest steps of the driver; then the one that leaves
  // the smallest piece over, so that the pieces at the edges of pages get used up.
  const bool repeating = predictor_.Repeating();
  const auto offer = [&](uint64_t address, uint64_t count, uint64_t low, uint64_t high) {
    const uint64_t room = count * page + low + high;
    if (room < size || count * page > span.size) return;
    if (plan->count != 0 && plan->count < count) return;
    Plan offered{
        address, count, count, 0, room - size, address - low, address + count * page + high};
    offered.cost = CostOf(offered);
    if (offered.cost >= ChunkStore::kImpossible) return;
    if (plan->count == count) {
      const bool cheaper = offered.cost < plan->cost;
      const bool fuller = offered.left < plan->left;
      if (repeating && plan->cost != offered.cost ? !cheaper : !fuller) return;
    }
    *plan = offered;
  };
  const auto pages_for = [page](uint64_t bytes) { return (bytes + page - 1) / page; };
  const uint64_t alone = pages_for(size);
  if (alone * page <= span.size && (plan->count == 0 || plan->count >= alone)) {
    const uint64_t start = FirstPossible(span, alone);
    if (start != 0) offer(start, alone, 0, 0);
  }
  if (below != 0 && below < size) offer(span.address, pages_for(size - below), below, 0);
  if (above != 0 && above < size) {
    const uint64_t count = pages_for(size - above);
    if (count * page <= span.size) offer(span.address + span.size - count * page, count, 0, above);
  }
  if (below != 0 && above != 0) offer(span.address, span.size / page, below, above);
}

// The plan for a block at this very place, which may need pages here and there. False: something
// else lies there, or work still comes that way.
bool Heap::PlanAt(uint64_t place, uint64_t size, Plan* plan) const {
  if (place == 0) return false;
  const uint64_t page = with_.page_bytes;
  const uint64_t end = place + size;
  uint64_t covered = 0;
  int looks = 0;
  const auto cover = [&](uint32_t index) {
    const Span& span = spans_[index];
    const uint64_t from = std::max(span.address, place);
    const uint64_t to = std::min(span.address + span.size, end);
    if (from < to) covered += to - from;
    return ++looks < kMaxSpanLooks;
  };
  zones_[kLargeZone].free.VisitFrom(spans_, kBlockBytes, cover);
  zones_[kLargeZone].holes.VisitFrom(spans_, kBlockBytes, cover);
  if (covered != size) return false;
  *plan = Plan();
  plan->address = PageDown(place);
  plan->pages = (PageUp(end) - plan->address) / page;
  plan->from = plan->address;
  plan->to = PageUp(end);
  plan->repeats = true;
  for (uint64_t at = plan->from; at < plan->to; at += page) {
    if (with_.space->PageAt(at).chunk == 0) ++plan->count;
  }
  plan->cost = CostOf(*plan);
  return plan->count != 0 && plan->cost < ChunkStore::kImpossible;
}

DriverResult Heap::MakePlan(uint64_t size, bool recall, Plan* plan) {
  const uint8_t zone = ZoneOf(size);
  EmptyBins(~uint64_t{0});
  MarkFreePages(recall);
  uint64_t place = zone == kLargeZone && recall ? predictor_.Predict(size) : 0;
  Plan repeated;
  if (!predictor_.Repeating()) place = 0;
  if (place != 0 && !PlanAt(place, size, &repeated)) {
    place = predictor_.Earlier();
    if (!PlanAt(place, size, &repeated)) place = 0;
  }
  if (place != 0 && repeated.cost == 0) {
    *plan = repeated;
    return kDriverSuccess;
  }
  for (int attempt = 0; attempt < 2; ++attempt) {
    *plan = Plan();
    int looks = 0;
    zones_[zone].holes.VisitFrom(spans_, with_.page_bytes, [&](uint32_t hole) {
      Consider(hole, size, plan);
      return ++looks < kMaxLooks;
    });
    if (plan->count == 0) {
      // The looks may have gone to holes that are all too small.
      const uint32_t hole = zones_[zone].holes.Find(spans_, size + with_.page_bytes);
      if (hole != 0) Consider(hole, size, plan);
    }
    if (place != 0 && repeated.count <= plan->count) *plan = repeated;
    if (plan->count != 0) return kDriverSuccess;
    const DriverResult result = AddRegion(zone, PageUp(size));
    if (result != kDriverSuccess) return result;
  }
  return kDriverOutOfMemory;
}

// A hole with an address in [from, to), or 0.
uint32_t Heap::FindHole(uint64_t from, uint64_t to) const {
  uint32_t hole = 0;
  for (const Zone& zone : zones_) {
    if (hole != 0) break;
    zone.holes.VisitFrom(spans_, with_.page_bytes, [&](uint32_t index) {
      const Span& span = spans_[index];
      if (span.address < to && from < span.address + span.size) hole = index;
      return hole == 0;
    });
  }
  return hole;
}

DriverResult Heap::Execute(const Plan& plan) {
  const uint64_t end = plan.address + plan.pages * with_.page_bytes;
  for (;;) {
    if (!spans_.EnsureSpare(2)) return kDriverOutOfMemory;
    const uint32_t hole = FindHole(plan.address, end);
    if (hole == 0) return kDriverSuccess;
    const uint64_t from = std::max(spans_[hole].address, plan.address);
    const uint64_t size = std::min(spans_[hole].address + spans_[hole].size, end) - from;
    uint32_t tick = 0;
    const DriverResult result = with_.chunks->Place(from, size / with_.page_bytes, timeline, &tick);
    if (result != kDriverSuccess) return result;
    Zone& zone = zones_[spans_[hole].zone];
    Bump(&stats.mapped_bytes[spans_[hole].zone], size);
    zone.holes.Remove(&spans_, hole);
    uint32_t index = hole;
    if (from > spans_[hole].address) {
      index = SplitAt(hole, from - spans_[hole].address);
      zone.holes.Insert(&spans_, hole);
    }
    if (size < spans_[index].size) zone.holes.Insert(&spans_, SplitAt(index, size));
    spans_[index].tick = tick;
    spans_[index].epoch = 0;
    Join(index);
    if (size == end - plan.address) return kDriverSuccess;
  }
}

}  // namespace vramstow
