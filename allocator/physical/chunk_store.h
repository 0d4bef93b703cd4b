// ChunkStore: the physical memory of one pool, chunk by chunk.
//
// Idea: a chunk is one handle, created once and in use at one page at a time. To move it, the store
// puts it to use at another page. Its mapping at the old page, its shadow, remains until that page
// is needed for another chunk. So a move waits for no work (nothing is unmapped that work still
// uses), and moving back takes no driver call. But the work of the chunk's next user must come
// after the work that touched the chunk: on the same stream it does, another stream needs the
// fence. The store makes and releases chunks and holds the idle ones, which are in use at no page.
// A chunk lies on the device, or in host memory if offload put it there (ChunkExchange). A chunk of
// host memory leaves no shadow if that can be avoided, and does not count as reserved. For a large
// block the store may make large chunks (chunk_table.h). An idle large chunk is put to use under a
// run of pages that is at least as long; if only fewer pages need memory, it is released to the
// device and single chunks are made in its place.
//
// Ownership: the device's handles, until Close. Threads: the device's lock; reserved_bytes may be
// called from any thread. Errors: DriverResult; after an error nothing was done. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_PHYSICAL_CHUNK_STORE_H_
#define VRAMSTOW_ALLOCATOR_PHYSICAL_CHUNK_STORE_H_

#include <cstdint>

#include "allocator/core/driver.h"
#include "allocator/core/events.h"
#include "allocator/core/fences.h"
#include "allocator/physical/address_space.h"
#include "allocator/physical/chunk_table.h"
#include "allocator/physical/memory_budget.h"

namespace vramstow {

class ChunkStore {
 public:
  // Prepares the store for at most `max_shadows` shadows (mappings left at old pages). A chunk that
  // is detached from a page is unmapped at once in three cases: the limit is 0, the limit is
  // reached, or the driver maps no handle twice.
  bool Open(const DriverTable* driver, const PoolEvents* events, AddressSpace* space,
            const Fences* fences, uint64_t limit_bytes, uint64_t max_shadows);
  // Allows large chunks of at most `bytes` bytes, and of at most 1/part of the reserved memory.
  void SetLarge(uint64_t bytes, uint64_t part) {
    large_pages_ = bytes / space_->page_bytes();
    large_part_ = part;
  }
  // Releases all chunks. They are all idle, because the heaps were destroyed before. `alive` is
  // false if the context was destroyed, and all memory with it.
  void Close(bool alive) VRAMSTOW_REQUIRES(kDeviceLock);

  // Makes idle chunks for `count` pages; *made becomes the number of pages before an error.
  // `neighbours` of the pages lie side by side and may get large chunks.
  DriverResult Make(uint64_t count, uint64_t* made, uint64_t neighbours = 0)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // True if Make may make large chunks.
  bool makes_large() const { return large_pages_ > 1; }
  // Replaces idle large chunks by single chunks until there are idle single chunks for `count`
  // pages.
  void DissolveLarge(uint64_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  // Releases up to `count` idle chunks that no work touches any more; *released becomes their
  // number. Large chunks are released last and as a whole, which may be more than `count`.
  DriverResult Release(uint64_t count, uint64_t* released) VRAMSTOW_REQUIRES(kDeviceLock);

  // Puts idle chunks to use at [address, address + count pages) for the stream of this timeline.
  // Does all of it or nothing. *tick becomes the last tick of the timeline whose work may touch the
  // chunks.
  DriverResult Place(uint64_t address, uint64_t count, uint32_t timeline, uint32_t* tick)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // Moves the chunk in use at this page to the store. Work of the timeline may touch it until
  // `tick` has completed. If chunks leave no shadows (mappings at their old pages), `tick` must
  // have completed already. It must also have completed for a large chunk, which leaves all of its
  // pages and has no shadow.
  DriverResult Detach(uint64_t address, uint32_t timeline, uint32_t tick)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // Moves the chunk in use at this page to the store and leaves it mapped at the page, even if it
  // is about to move to a page where it is mapped already. Must not be called for large chunks.
  void DetachKeepMapped(uint64_t address, uint32_t timeline, uint32_t tick)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // Unmaps the mapping of this page when the pool closes. No work touches it.
  void Unmap(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);
  // Sets the access rights of a mapped page again.
  DriverResult RenewAccess(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);

  // Notes that a user outside of the pool, for instance a network card, has the physical memory of
  // the page. Its chunk stays at the page, even when the block is freed, until Deregister was
  // called as often as Register.
  void Register(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);
  void Deregister(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);
  // Notes that a user outside of the pool has the physical memory of the page until Close.
  void RegisterForGood(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);
  bool IsRegistered(uint64_t address) const VRAMSTOW_REQUIRES(kDeviceLock) {
    return registered_pages_ != 0 && space_->PageAt(address).registered();
  }
  uint64_t registered_pages() const { return registered_pages_; }

  // Notes that the pool is made of segments (SegmentStore) and will never use chunks.
  void UseSegments() { segments_ = true; }
  bool segments() const { return segments_; }
  uint64_t pages_in_use() const { return table_.pages_in_use(); }

  // --- Queries
  bool IsHost(uint32_t chunk) const { return table_.IsHost(chunk); }
  // True if the page in use at this address is not on the device, because it is in host memory or
  // paused.
  bool OnHost(uint64_t address) { return IsHost(space_->PageAt(address).chunk); }
  bool Paused(uint64_t address) { return table_.IsPaused(space_->PageAt(address).chunk); }
  // True if the page is paused while its heap stays in use (ChunkExchange::Pause).
  bool Parked(uint64_t address) { return table_.IsParked(space_->PageAt(address).chunk); }
  // The neighbouring pages that the chunk in use at this address backs: one page, except for large
  // chunks.
  struct Extent {
    uint64_t address;
    uint64_t pages;
  };
  Extent ExtentOf(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock) {
    const uint32_t number = space_->NumberOf(address);
    const uint32_t first = table_.FirstPageOf(number);
    return {address - (number - first) * chunk_bytes(), table_.PagesOf((*space_)[number].chunk)};
  }
  bool IsLarge(const Page& page) const { return table_.IsLarge(page.chunk); }
  bool any_large() const { return table_.any_large(); }
  // The table, which ChunkExchange shares.
  ChunkTable& table() { return table_; }

  // --- Costs of plans (heap_pages.h)
  static constexpr uint32_t kImpossible = 1 << 20;
  // Returns how many driver calls it takes to put a chunk to use at this page. Returns kImpossible
  // if unfinished work may still use this page's mapping of a chunk that is in use elsewhere.
  // `can_be_had(page)` is true if the chunk in use at that page may be moved.
  template <typename CanBeHad>
  uint32_t CostOf(const Page& page, uint32_t timeline, CanBeHad can_be_had) const
      VRAMSTOW_REQUIRES(kDeviceLock) {
    if (page.chunk != 0) return 0;
    if (page.mapped == 0) return 1;
    const ChunkTable::Chunk& chunk = table_[page.mapped];
    if (chunk.kind == ChunkMemory::kDevice &&
        (chunk.place != 0 ? can_be_had(chunk.place) : table_.UsableBy(chunk, timeline)))
      return 0;
    return CostOfUnmapping(page);
  }
  // Returns how many driver calls it takes to put another chunk to use at an unused page, in place
  // of the chunk which is mapped there.
  uint32_t CostOfUnmapping(const Page& page) const VRAMSTOW_REQUIRES(kDeviceLock) {
    return fences_->Completed(page.timeline, page.tick) ? 2 : kImpossible;
  }
  // True if the chunk that is mapped at this unused page is also mapped at an unused page that lies
  // at `address` or above it, and below this page.
  bool ComesEarlier(const Page& page, uint64_t address) const VRAMSTOW_REQUIRES(kDeviceLock);
  // Returns the page from which the chunk in use at this page came, if the chunk can return there
  // without a driver call. Otherwise returns 0; the chunk's home is then this page.
  uint32_t HomeOf(const Page& page) VRAMSTOW_REQUIRES(kDeviceLock) {
    ChunkTable::Chunk& chunk = table_[page.chunk];
    if (chunk.home == 0) return 0;
    const Page& home = (*space_)[chunk.home];
    if (home.chunk != 0 || home.mapped != page.chunk) chunk.home = 0;
    return chunk.home;
  }
  // Returns the page where the chunk that is mapped at `page` is in use, or 0 if it is idle or may
  // not be moved.
  uint32_t PlaceOf(const Page& page) const VRAMSTOW_REQUIRES(kDeviceLock) {
    const ChunkTable::Chunk& chunk = table_[page.mapped];
    return chunk.kind == ChunkMemory::kDevice ? chunk.place : 0;
  }
  // Calls visit(page) for every page where the chunk is mapped.
  template <typename Visit>
  void VisitMappings(uint32_t chunk, Visit visit) const VRAMSTOW_REQUIRES(kDeviceLock) {
    for (uint32_t number = table_[chunk].pages; number != 0; number = (*space_)[number].next) {
      visit((*space_)[number]);
    }
  }
  bool MayShadow(uint64_t more) const { return shadows() && table_.HasRoomForShadow(more); }
  uint32_t NewMark() VRAMSTOW_REQUIRES(kDeviceLock) { return ++mark_; }
  bool shadows() const { return table_.shadows(); }
  uint64_t shadow_count() const { return table_.shadow_count(); }

  uint64_t chunk_bytes() const { return space_->page_bytes(); }
  // The number of pages that the idle chunks could back.
  uint64_t idle_chunks() const {
    return table_.IdleOf(ChunkMemory::kDevice) + table_.IdleLargePages();
  }
  // The number of pages that idle chunks could back for this stream.
  uint64_t IdleFor(uint32_t timeline) const VRAMSTOW_REQUIRES(kDeviceLock) {
    return table_.IdleFor(timeline);
  }
  MemoryBudget& budget() { return budget_; }
  uint64_t reserved_bytes() const { return budget_.reserved_bytes(); }
  // The number of chunks that can still be made under the limit.
  uint64_t ChunksUnderLimit() const { return budget_.UnitsUnderLimit(chunk_bytes()); }
  uint64_t HandleAt(uint64_t address) { return table_[space_->PageAt(address).chunk].handle; }
  uint64_t committed_bytes() const { return table_.committed_bytes(); }
  uint64_t chunks() const { return table_.chunks(); }

 private:
  void PutToUse(uint32_t index, uint32_t number, uint32_t timeline, uint32_t* tick)
      VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult MapFresh(uint32_t number, uint32_t timeline, uint32_t* tick)
      VRAMSTOW_REQUIRES(kDeviceLock);
  void Undo(uint64_t address, uint64_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  uint32_t OrderFor(uint64_t pages) const;
  DriverResult MakeOne(uint32_t order) VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult ReleaseOne(uint32_t index) VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult Dissolve() VRAMSTOW_REQUIRES(kDeviceLock);
  uint32_t LargeFor(uint32_t number, uint64_t pages) VRAMSTOW_REQUIRES(kDeviceLock);

  const DriverTable* driver_ = nullptr;
  const PoolEvents* events_ = nullptr;
  AddressSpace* space_ = nullptr;
  const Fences* fences_ = nullptr;
  MemoryBudget budget_;
  ChunkTable table_;
  bool segments_ = false;
  uint64_t large_pages_ = 0;  // pages of the largest chunk that may be made
  uint64_t large_part_ = 1;
  uint32_t mark_ = 0;
  uint64_t registered_pages_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_PHYSICAL_CHUNK_STORE_H_
