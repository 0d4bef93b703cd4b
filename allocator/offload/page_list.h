// PageList: the pages of a pool's blocks that one move is about, and in which order they go.
//
// Idea: a page is as warm as its warmest block, and pinned with a pinned one; a policy makes a rank
// of what is known of a block (policy.h). The list is made anew for each move, in order of address
// within each heap; then it is made shorter, and those that are wanted first come first.
//
// Pages of a large chunk leave together: each is in the list, also if it is free, with the rank of
// the warmest, and they follow one another.
//
// Ownership: room for as many pages as were ever needed, until Close. Threads: the device's lock.
// Errors: without memory for it the list is empty. Units: pages are chunks.
#ifndef VRAMSTOW_ALLOCATOR_OFFLOAD_PAGE_LIST_H_
#define VRAMSTOW_ALLOCATOR_OFFLOAD_PAGE_LIST_H_

#include <algorithm>
#include <cstdint>

#include "allocator/core/device_lock.h"
#include "allocator/offload/policy.h"
#include "allocator/pool/pool_pages.h"

namespace vramstow {

// Pages as they are now.
enum class PagesThatAre : uint8_t {
  kResident,
  kOffloaded,
  kThere,   // one of these
  kPaused,  // also under what is free by now
  kParked,  // paused, of a heap that is not
  kAway,    // offloaded or paused
};

class PageList {
 public:
  // A page with live blocks, as its warmest block has it.
  struct Page {
    uint64_t address;
    uint64_t rank;  // the smallest go first
    uint32_t touched;
    uint32_t used_bytes;  // that blocks have
    bool live;            // blocks lie on it
    bool of_graph;        // captured graphs write to what its heap has cached
  };
  // Why some of the pages may not leave: how many pages each reason keeps.
  struct Kept {
    uint64_t by_graphs = 0;  // a captured graph may use them
    uint64_t by_others = 0;  // another process or a device has them
  };

  void Open(PoolPages* pool) { pool_ = pool; }
  void Close() VRAMSTOW_REQUIRES(kDeviceLock);

  // All pages of blocks with this tag that are so, at this time of the clock of touches; with
  // `graphs`, also all that the heaps of graphs have cached. Returns how many they are.
  uint64_t Fill(PagesThatAre which, uint32_t tag, const OffloadPolicy& policy, uint32_t clock,
                bool graphs = false) VRAMSTOW_REQUIRES(kDeviceLock);
  // Shows all blocks to the policy, and leaves the list as it is.
  void Consider(const OffloadPolicy& policy, uint32_t clock) VRAMSTOW_REQUIRES(kDeviceLock);
  // The pages of a range of held memory that are offloaded. The same for these.
  uint64_t FillFrom(uint64_t address, uint64_t size) VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t count() const { return count_; }
  // The first `wanted` of the pages from `place` on, and those beyond or without that a large chunk
  // needs: all that fit into `most`, but at least one chunk's. 0: not even that fits.
  uint64_t WholeChunks(uint64_t place, uint64_t wanted, uint64_t most)
      VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t AddressOf(uint64_t place) const { return pages_[place].address; }

  // Those stay that may leave the device; with `graphs`, what captured graphs may use may, too.
  Kept DropPinned(bool graphs = false) VRAMSTOW_REQUIRES(kDeviceLock);
  // Whether captured graphs may use one of them.
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
  // Those stay of which a part lies between these addresses.
  void KeepRange(uint64_t begin, uint64_t end) VRAMSTOW_REQUIRES(kDeviceLock) {
    DropIf([begin, end, size = pool_->page_bytes()](const Page& page) {
      return page.address + size <= begin || end <= page.address;
    });
  }
  // Those stay that have no free part.
  void KeepFull() VRAMSTOW_REQUIRES(kDeviceLock) {
    DropIf([full = pool_->page_bytes()](const Page& page) { return page.used_bytes < full; });
  }
  void DropRank(uint64_t rank) VRAMSTOW_REQUIRES(kDeviceLock) {
    DropIf([rank](const Page& page) { return page.rank == rank; });
  }
  // Of a list that is sorted by address: how many pages lie at this address or before it, and
  // whether one lies at it.
  uint64_t CountUpTo(uint64_t address) const VRAMSTOW_REQUIRES(kDeviceLock) {
    const auto is_before = [](uint64_t at, const Page& page) { return at < page.address; };
    return static_cast<uint64_t>(std::upper_bound(pages_, pages_ + count_, address, is_before) -
                                 pages_);
  }
  // How many pages from this place on follow one another in the address space.
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

  // The first `wanted` pages are those with the smallest ranks, or the largest.
  void PutSmallestFirst(uint64_t wanted) VRAMSTOW_REQUIRES(kDeviceLock) {
    if (has_large_) return SortByRank();
    PutFirst(wanted, [](const Page& a, const Page& b) { return a.rank < b.rank; });
  }
  void PutLargestFirst(uint64_t wanted) VRAMSTOW_REQUIRES(kDeviceLock) {
    PutFirst(wanted, [](const Page& a, const Page& b) { return a.rank > b.rank; });
  }
  // The first `count` pages, in order of address.
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

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_PAGE_LIST_H_
