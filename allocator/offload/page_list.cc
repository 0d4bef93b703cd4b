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
    case PagesThatAre::kAway:
      break;
  }
  return chunks.OnHost(address);
}

// A block was touched when any of its pages was.
PageUse PageList::UseOf(const Span& span, uint32_t clock) const {
  PageUse use{span.address, span.size, span.id, 0, 0, clock};
  const uint64_t page = pool_->page_bytes();
  for (uint64_t at = span.address / page * page; at < span.address + span.size; at += page) {
    const AddressSpace::Touches touches = pool_->TouchesAt(at);
    if (touches.last < use.touched) continue;
    use.touched = touches.last;
    use.gaps = touches.gaps;
  }
  return use;
}

// Spans come in order of address, so blocks that share a page come one after the other.
void PageList::Add(const Span& span, PagesThatAre which, const OffloadPolicy& policy,
                   uint32_t clock) {
  const uint64_t page = pool_->page_bytes();
  const bool all = which == PagesThatAre::kPaused || which == PagesThatAre::kAway;
  const bool live = span.state == SpanState::kLive || span.state == SpanState::kPending;
  if (span.state == SpanState::kHole || (!live && !all)) return;
  const PageUse use = UseOf(span, clock);
  const uint64_t rank = policy.rank(policy.self, use);
  const uint64_t end = span.address + span.size;
  for (uint64_t at = span.address / page * page; at < end; at += page) {
    if (count_ > 0 && pages_[count_ - 1].address == at) {
      Page& shared = pages_[count_ - 1];
      shared.rank = std::max(shared.rank, rank);
      shared.touched = std::max(shared.touched, use.touched);
    } else if (count_ < room_ && Is(at, which)) {
      pages_[count_++] = {at, rank, use.touched};
    }
  }
}

uint64_t PageList::Fill(PagesThatAre which, uint32_t tag, const OffloadPolicy& policy,
                        uint32_t clock) {
  count_ = 0;
  if (!EnsureRoom(pool_->chunks().chunks() + 1)) return 0;
  pool_->VisitSpans(tag, [&](const Span& span) {
    kDeviceLock.AssertHeld();
    Add(span, which, policy, clock);
  });
  return count_;
}

}  // namespace vramstow
