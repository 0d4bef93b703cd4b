#include "allocator/offload/page_list.h"

#include "allocator/core/host_memory.h"

namespace vramstow {

void PageList::Close() {
  if (pages_ != nullptr) FreeHostMemory(pages_, room_ * sizeof(Page));
  pages_ = nullptr;
  room_ = 0;
  count_ = 0;
}

bool PageList::EnsureRoom(uint64_t count) {
  if (count <= room_) return true;
  void* memory = AllocateHostMemory(count * sizeof(Page));
  if (memory == nullptr) return false;
  if (pages_ != nullptr) FreeHostMemory(pages_, room_ * sizeof(Page));
  pages_ = static_cast<Page*>(memory);
  room_ = count;
  return true;
}

bool PageList::Is(uint64_t address, PagesThatAre which) {
  ChunkStore& chunks = pool_->chunks();
  switch (which) {
    case PagesThatAre::kResident:
      return !chunks.OnHost(address);
    case PagesThatAre::kOffloaded:
      return chunks.OnHost(address) && !chunks.Paused(address);
    case PagesThatAre::kThere:
      return !chunks.Paused(address);
    case PagesThatAre::kPaused:
      return chunks.Paused(address);
    case PagesThatAre::kParked:
      return pool_->exchange().IsParked(address);
    case PagesThatAre::kAway:
      break;
  }
  return chunks.OnHost(address);
}

// Returns what is known about the use of a block. A touch of any of its pages counts as a touch of
// the block.
PageUse PageList::UseOf(const Span& span, uint32_t clock) const {
  PageUse use{span.address, span.size, span.id, 0, 0, clock};
  const uint64_t page = pool_->page_bytes();
  // A page at an end of the block may also belong to a neighbour that was allocated later. Its
  // record would then give the neighbour's time of allocation. The middle page belongs to this
  // block alone.
  use.born = pool_->TouchesAt(span.address + span.size / 2).born;
  for (uint64_t at = span.address / page * page; at < span.address + span.size; at += page) {
    const AddressSpace::Touches touches = pool_->TouchesAt(at);
    use.exposed = std::max(use.exposed, touches.exposed);
    use.uses = std::max(use.uses, touches.uses);
    if (touches.last < use.touched) continue;
    use.touched = touches.last;
    use.gaps = touches.gaps;
  }
  return use;
}

// Adds the pages of a span to the list. Spans come in order of address, so a page that two blocks
// share is always the last one in the list.
void PageList::Add(const Span& span, bool of_graph, PagesThatAre which, const OffloadPolicy& policy,
                   uint32_t clock) {
  const uint64_t page = pool_->page_bytes();
  const bool all = of_graph || which == PagesThatAre::kPaused || which == PagesThatAre::kAway;
  const bool live = span.state == SpanState::kLive || span.state == SpanState::kPending;
  if (span.state == SpanState::kHole || (!live && !all && !has_large_)) return;
  const PageUse use = UseOf(span, clock);
  const uint64_t rank = live || all ? policy.rank(policy.self, use) : 0;
  const uint32_t touched = live || all ? use.touched : 0;
  const uint64_t end = span.address + span.size;
  for (uint64_t at = span.address / page * page; at < end; at += page) {
    if (!live && !all && pool_->chunks().ExtentOf(at).pages == 1) continue;
    const auto used_bytes =
        static_cast<uint32_t>(live ? std::min(at + page, end) - std::max(at, span.address) : 0);
    if (count_ > 0 && pages_[count_ - 1].address == at) {
      Page& shared = pages_[count_ - 1];
      shared.used_bytes += used_bytes;
      shared.rank = std::max(shared.rank, rank);
      shared.touched = std::max(shared.touched, touched);
      shared.live = shared.live || live || all;
    } else if (count_ < room_ && Is(at, which)) {
      pages_[count_++] = {at, rank, touched, used_bytes, live || all, of_graph};
    }
  }
}

// Gives all pages of a large chunk the same rank and touch. Drops chunks that are not entirely in
// the list, and those without live blocks.
void PageList::UniteLarge() {
  uint64_t kept = 0;
  for (uint64_t i = 0; i < count_;) {
    const ChunkStore::Extent extent = pool_->chunks().ExtentOf(pages_[i].address);
    const uint64_t end = extent.address + extent.pages * pool_->page_bytes();
    Page all = pages_[i];
    uint64_t last = i;
    for (; last < count_ && pages_[last].address - extent.address < end - extent.address; ++last) {
      const Page& page = pages_[last];
      all.rank = std::max(all.rank, page.rank);
      all.touched = std::max(all.touched, page.touched);
      all.live = all.live || page.live;
      if (pool_->chunks().IsRegistered(page.address)) all.touched = AddressSpace::kHeld;
    }
    if (last - i == extent.pages && all.live) {
      for (uint64_t at = extent.address; at < end; at += pool_->page_bytes()) {
        pages_[kept] = all;
        pages_[kept++].address = at;
      }
    }
    i = last;
  }
  count_ = kept;
}

PageList::PinnedPages PageList::DropPinned(bool graphs) {
  PinnedPages pinned;
  const uint64_t all = count_;
  DropIf([this](const Page& page) {
    kDeviceLock.AssertHeld();
    return page.touched == AddressSpace::kHeld || pool_->chunks().IsRegistered(page.address);
  });
  pinned.by_others = all - count_;
  if (!graphs) DropIf(MayBeOfGraph);
  pinned.by_graphs = all - pinned.by_others - count_;
  return pinned;
}

void PageList::SortByRank() {
  std::sort(pages_, pages_ + count_, [](const Page& a, const Page& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.address < b.address;
  });
}

uint64_t PageList::WholeChunks(uint64_t place, uint64_t wanted, uint64_t most) {
  if (!has_large_) return std::min(wanted, most);
  uint64_t whole = 0;
  while (whole < wanted && place + whole < count_) {
    const uint64_t pages = pool_->chunks().ExtentOf(pages_[place + whole].address).pages;
    if (whole + pages > most || (whole != 0 && whole + pages > wanted)) break;
    whole += pages;
  }
  return whole;
}

uint64_t PageList::Fill(PagesThatAre which, uint32_t tag, const OffloadPolicy& policy,
                        uint32_t clock, bool graphs) {
  count_ = 0;
  has_large_ = pool_->chunks().any_large();
  if (!EnsureRoom(pool_->chunks().chunks() + 1)) return 0;
  pool_->VisitSpans(tag, graphs, [&](const Span& span, bool of_graph) {
    kDeviceLock.AssertHeld();
    Add(span, of_graph, which, policy, clock);
  });
  if (has_large_) UniteLarge();
  return count_;
}

void PageList::Consider(const OffloadPolicy& policy, uint32_t clock) {
  pool_->VisitSpans(PoolPages::kAnyTag, /*graphs=*/false, [&](const Span& span, bool) {
    if (span.state == SpanState::kLive) policy.rank(policy.self, UseOf(span, clock));
  });
}

uint64_t PageList::FillFrom(uint64_t address, uint64_t size) {
  count_ = 0;
  has_large_ = pool_->chunks().any_large();
  const uint64_t page = pool_->page_bytes();
  if (!EnsureRoom(size / page + 2)) return 0;
  for (uint64_t at = address / page * page; at < address + size; at += page) {
    if (Is(at, PagesThatAre::kOffloaded)) pages_[count_++] = {at, 0, 0, 0, true, false};
  }
  return count_;
}

uint64_t BytesOfGraphs(PoolPages* pool) {
  PageList list;
  list.Open(pool);
  DeviceLock device_lock(pool->mutex());
  list.Fill(PagesThatAre::kResident, PoolPages::kAnyTag, kColdest, /*clock=*/1, /*graphs=*/true);
  const uint64_t pages = list.DropPinned().by_graphs;
  list.Close();
  return pages * pool->page_bytes();
}

}  // namespace vramstow
