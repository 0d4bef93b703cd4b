// PageList: the pages that one move concerns, and the order in which they move.
//
// Idea: a page has the largest rank and the latest touch of all its blocks, and it is pinned if one
// of them is pinned. A policy computes a rank from what is known about a block (policy.h). The list
// is filled anew for each move, in order of address within each heap; then pages are dropped from
// it, and the wanted ones are moved to the front.
//
// Pages of a large chunk move together: each page is in the list, even if it is free, and has the
// largest rank of all pages of the chunk. They are neighbours in the list.
//
// Ownership: the class owns memory for as many pages as were ever needed, until Close. Threads: the
// device's lock. Errors: without memory the list is empty. Units: pages are chunks.
#ifndef VRAMSTOW_ALLOCATOR_OFFLOAD_PAGE_LIST_H_
#define VRAMSTOW_ALLOCATOR_OFFLOAD_PAGE_LIST_H_

#include <algorithm>
#include <cstdint>

#include "allocator/core/device_lock.h"
#include "allocator/offload/policy.h"
#include "allocator/pool/pool_pages.h"

namespace vramstow {

// The states of pages that a list can select.
enum class PagesThatAre : uint8_t {
  kResident,
  kOffloaded,
  kThere,   // resident or offloaded
  kPaused,  // paused; also under memory that is free by now
  kParked,  // paused, in a heap that is not paused
  kAway,    // offloaded or paused
};

class PageList {
 public:
  // A page with live blocks. It has the largest rank and the latest touch of its blocks.
  struct Page {
    uint64_t address;
    uint64_t rank;  // the smallest move first
    uint32_t touched;
    uint32_t used_bytes;  // bytes that blocks use
    bool live;            // a live block lies on it
    bool of_graph;        // captured graphs write to cached memory of its heap
  };
  // How many pages may not move, by reason.
  struct PinnedPages {
    uint64_t by_graphs = 0;  // a captured graph may use them
    uint64_t by_others = 0;  // another process or a device has them
  };

  void Open(PoolPages* pool) { pool_ = pool; }
  void Close() VRAMSTOW_REQUIRES(kDeviceLock);

  // Fills the list with all pages that are in the state `which` and have blocks with this tag.
  // `clock` is the time for which the policy ranks them. With `graphs`, the list also contains all
  // pages that the heaps of graphs have cached. Returns the number of pages.
  uint64_t Fill(PagesThatAre which, uint32_t tag, const OffloadPolicy& policy, uint32_t clock,
                bool graphs = false) VRAMSTOW_REQUIRES(kDeviceLock);
  // Calls the policy for all blocks without changing the list.
  void Consider(const OffloadPolicy& policy, uint32_t clock) VRAMSTOW_REQUIRES(kDeviceLock);
  // Fills the list with the offloaded pages of a range of held memory. Returns their number.
  uint64_t FillFrom(uint64_t address, uint64_t size) VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t count() const { return count_; }
  // Returns how many pages from index `place` on to move: at least `wanted` if possible, and no
  // more than `most`, so that no large chunk is divided. Returns 0 if not even the first chunk
  // fits.
  uint64_t WholeChunks(uint64_t place, uint64_t wanted, uint64_t most)
      VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t AddressOf(uint64_t place) const { return pages_[place].address; }

  // Drops the pages that must not be evicted from the device; with `graphs`, retains the pages that
  // captured graphs may use.
  PinnedPages DropPinned(bool graphs = false) VRAMSTOW_REQUIRES(kDeviceLock);
  // True if captured graphs may use one of the pages.
  bool AnyOfGraphs() const { return std::any_of(pages_, pages_ + count_, MayBeOfGraph); }
  void DropTouchedSince(uint32_t clock) VRAMSTOW_REQUIRES(kDeviceLock) {
    DropIf([clock](const Page& page) { return page.touched >= clock; });
  }
  void DropUntouchedSince(uint32_t clock) VRAMSTOW_REQUIRES(kDeviceLock) {
    DropIf([clock](const Page& page) { return page.touched < clock; });
  }

  void KeepRank(uint64_t rank) VRAMSTOW_REQUIRES(kDeviceLock) {
    DropIf([rank](const Page& page) { return page.rank != rank; });
  }
  void DropRanksBelow(uint64_t rank) VRAMSTOW_REQUIRES(kDeviceLock) {
    DropIf([rank](const Page& page) { return page.rank < rank; });
  }
  // Retains only the pages that overlap [begin, end).
  void KeepRange(uint64_t begin, uint64_t end) VRAMSTOW_REQUIRES(kDeviceLock) {
    DropIf([begin, end, size = pool_->page_bytes()](const Page& page) {
      return page.address + size <= begin || end <= page.address;
    });
  }
  // Retains only the pages without a free part.
  void KeepFull() VRAMSTOW_REQUIRES(kDeviceLock) {
    DropIf([full = pool_->page_bytes()](const Page& page) { return page.used_bytes < full; });
  }
  void DropRank(uint64_t rank) VRAMSTOW_REQUIRES(kDeviceLock) {
    DropIf([rank](const Page& page) { return page.rank == rank; });
  }
  // Returns how many pages of a list sorted by address lie at or before this address.
  uint64_t CountUpTo(uint64_t address) const VRAMSTOW_REQUIRES(kDeviceLock) {
    const auto is_before = [](uint64_t at, const Page& page) { return at < page.address; };
    return static_cast<uint64_t>(std::upper_bound(pages_, pages_ + count_, address, is_before) -
                                 pages_);
  }
  // Returns how many pages from index `place` on are neighbours in the address space.
  uint32_t RunFrom(uint64_t place, uint64_t page_bytes) const VRAMSTOW_REQUIRES(kDeviceLock) {
    uint32_t run = 1;
    while (place + run < count_ &&
           pages_[place + run].address == pages_[place].address + run * page_bytes)
      ++run;
    return run;
  }
  bool HasAddress(uint64_t address) const VRAMSTOW_REQUIRES(kDeviceLock) {
    const uint64_t count = CountUpTo(address);
    return count != 0 && pages_[count - 1].address == address;
  }

  // Moves the `wanted` pages with the smallest (or the largest) ranks to the front, in any order.
  void PutSmallestFirst(uint64_t wanted) VRAMSTOW_REQUIRES(kDeviceLock) {
    if (has_large_) return SortByRank();
    PutFirst(wanted, [](const Page& a, const Page& b) { return a.rank < b.rank; });
  }
  void PutLargestFirst(uint64_t wanted) VRAMSTOW_REQUIRES(kDeviceLock) {
    PutFirst(wanted, [](const Page& a, const Page& b) { return a.rank > b.rank; });
  }
  // Sorts the first `count` pages by address.
  void SortByAddress(uint64_t count) VRAMSTOW_REQUIRES(kDeviceLock) {
    std::sort(pages_, pages_ + count,
              [](const Page& a, const Page& b) { return a.address < b.address; });
  }

 private:
  static bool MayBeOfGraph(const Page& page) {
    return page.of_graph || page.touched == AddressSpace::kPinned;
  }
  template <typename IsDropped>
  void DropIf(IsDropped is_dropped) {
    count_ = static_cast<uint64_t>(std::remove_if(pages_, pages_ + count_, is_dropped) - pages_);
  }
  template <typename Before>
  void PutFirst(uint64_t wanted, Before before) {
    if (wanted < count_) std::nth_element(pages_, pages_ + wanted, pages_ + count_, before);
  }
  bool EnsureRoom(uint64_t count);
  void SortByRank() VRAMSTOW_REQUIRES(kDeviceLock);
  void UniteLarge() VRAMSTOW_REQUIRES(kDeviceLock);
  bool Is(uint64_t address, PagesThatAre which) VRAMSTOW_REQUIRES(kDeviceLock);
  PageUse UseOf(const Span& span, uint32_t clock) const;
  void Add(const Span& span, bool of_graph, PagesThatAre which, const OffloadPolicy& policy,
           uint32_t clock) VRAMSTOW_REQUIRES(kDeviceLock);

  PoolPages* pool_ = nullptr;
  Page* pages_ = nullptr;
  uint64_t room_ = 0;
  uint64_t count_ = 0;
  bool has_large_ = false;
};

// Returns the bytes on the device that stay there because captured graphs may use them, or because
// they belong to private pools. Call it without the device's lock.
uint64_t BytesOfGraphs(PoolPages* pool);

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_PAGE_LIST_H_
