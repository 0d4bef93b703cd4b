// ChunkStore: the physical memory of one pool, chunk by chunk.
//
// Idea: a chunk is one handle, made once and in use at one page at a time. It moves by being put to
// use at another page; its mapping at the old one, its shadow, stays as long as nothing else needs
// that page. So a move waits for no work (nothing is unmapped under it) and coming back takes no
// driver call. Whoever gets the chunk must still be ordered after the work that touched it: the
// same stream is, others need the fence. The store makes and releases chunks, keeps those that are
// in use nowhere. A chunk lies on the device or, where offload put it there (ChunkExchange), in
// host memory: such a chunk leaves no shadow if that can be helped, and does not count as reserved.
// For a large block the store may make large chunks (chunk_table.h). One that has become idle is
// put to use under a run of pages that holds it whole; where only fewer pages need a chunk, it goes
// back to the device, and single ones are made in its place.
//
// Ownership: the device's handles, until Close. Threads: the device's lock; reserved_bytes from any
// thread. Errors: DriverResult; nothing was done then. Units: bytes.
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
  // There are at most `max_shadows` shadows. With 0, with as many, and where the driver maps no
  // handle twice, a chunk that leaves a page is unmapped there at once.
  bool Open(const DriverTable* driver, const PoolEvents* events, AddressSpace* space,
            const Fences* fences, uint64_t limit_bytes, uint64_t max_shadows);
  // Allows large chunks: of at most so many bytes, and no larger than this part of all.
  void SetLarge(uint64_t bytes, uint64_t part) {
    large_pages_ = bytes / space_->page_bytes();
    large_part_ = part;
  }
  // Releases what is idle, which is everything once the heaps are gone; `alive` false: the context
  // is gone and all memory with it.
  void Close(bool alive) VRAMSTOW_REQUIRES(kDeviceLock);

  // Makes chunks for `count` pages, which are in use nowhere; *made says for how many before an
  // error. `neighbours` of them lie side by side and may get large ones.
  DriverResult Make(uint64_t count, uint64_t* made, uint64_t neighbours = 0)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // Whether Make may make large ones.
  bool makes_large() const { return large_pages_ > 1; }
  // Single chunks in place of idle large ones, until `count` pages could have idle single ones.
  void DissolveLarge(uint64_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  // Releases up to `count` of the chunks that are in use nowhere and that no work touches any more;
  // *released says how many. A large one goes whole, last, and may be more than was asked for.
  DriverResult Release(uint64_t count, uint64_t* released) VRAMSTOW_REQUIRES(kDeviceLock);

  // Puts chunks of the store to use at [address, address + count pages) for the stream of this
  // timeline. All or nothing. *tick: the last of the timeline that may touch them.
  DriverResult Place(uint64_t address, uint64_t count, uint32_t timeline, uint32_t* tick)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // The chunk in use at this page goes to the store. Work of the timeline may touch it until `tick`
  // has completed; without shadows it must have, and a large one, which leaves all its pages, has
  // none.
  DriverResult Detach(uint64_t address, uint32_t timeline, uint32_t tick)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // The same, and it stays mapped in any case: for chunks on their way to where they are mapped,
  // too. Not of large ones.
  void DetachKeepMapped(uint64_t address, uint32_t timeline, uint32_t tick)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // At the end: unmaps what is mapped at this page. No work touches it.
  void Unmap(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);
  // Sets the access rights of a mapped page again.
  DriverResult RenewAccess(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);

  // Somebody outside has the physical memory of the page in use at this address, as a network card
  // has: its chunk stays there, whatever becomes of the block, until Deregister was called as
  // often.
  void Register(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);
  void Deregister(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);
  // The same until Close.
  void RegisterForGood(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);
  bool IsRegistered(uint64_t address) const VRAMSTOW_REQUIRES(kDeviceLock) {
    return registered_pages_ != 0 && space_->PageAt(address).registered();
  }
  uint64_t registered_pages() const { return registered_pages_; }

  // From now on nothing is made of chunks, and none is in use (SegmentStore).
  void UseSegments() { segments_ = true; }
  bool segments() const { return segments_; }
  uint64_t pages_in_use() const { return table_.pages_in_use(); }

  // --- What lies where
  bool IsHost(uint32_t chunk) const { return table_.IsHost(chunk); }
  // Whether the page in use at this address is not on the device: in host memory, or paused.
  bool OnHost(uint64_t address) { return IsHost(space_->PageAt(address).chunk); }
  bool Paused(uint64_t address) { return table_.IsPaused(space_->PageAt(address).chunk); }
  // Whether the page is paused while its heap goes on (ChunkExchange::Pause).
  bool Parked(uint64_t address) { return table_.IsParked(space_->PageAt(address).chunk); }
  // The neighbouring pages that the chunk in use at this address backs. One, but for large chunks.
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
  // Shared with who exchanges chunks.
  ChunkTable& table() { return table_; }

  // --- For plans
  static constexpr uint32_t kImpossible = 1 << 20;
  // How many steps of the driver it takes to put a chunk to use at this page; kImpossible: work may
  // still come that way to a chunk that is in use elsewhere. `can_be_had(page)` says of a page in
  // use whether its chunk can be taken from there.
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
  // As CostOf, for an unused page that does not get the chunk which is mapped there.
  uint32_t CostOfUnmapping(const Page& page) const VRAMSTOW_REQUIRES(kDeviceLock) {
    return fences_->Completed(page.timeline, page.tick) ? 2 : kImpossible;
  }
  // True if the chunk that is mapped at this unused page is also mapped at an unused page that lies
  // at `address` or behind it, and before this page.
  bool ComesEarlier(const Page& page, uint64_t address) const VRAMSTOW_REQUIRES(kDeviceLock);
  // The page that the chunk in use at this page left, if it can come home without a driver call; 0:
  // it cannot, and belongs here from now on.
  uint32_t HomeOf(const Page& page) VRAMSTOW_REQUIRES(kDeviceLock) {
    ChunkTable::Chunk& chunk = table_[page.chunk];
    if (chunk.home == 0) return 0;
    const Page& home = (*space_)[chunk.home];
    if (home.chunk != 0 || home.mapped != page.chunk) chunk.home = 0;
    return chunk.home;
  }
  // Where the chunk that is mapped at a page is in use; 0: nowhere, or it is not to come from
  // there.
  uint32_t PlaceOf(const Page& page) const VRAMSTOW_REQUIRES(kDeviceLock) {
    const ChunkTable::Chunk& chunk = table_[page.mapped];
    return chunk.kind == ChunkMemory::kDevice ? chunk.place : 0;
  }
  // Calls visit(page) for the pages where the chunk is mapped.
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
  // Chunks that are in use nowhere, as pages that they could back.
  uint64_t idle_chunks() const {
    return table_.IdleOf(ChunkMemory::kDevice) + table_.IdleLargePages();
  }
  // Those of them that a stream may have.
  uint64_t IdleFor(uint32_t timeline) const VRAMSTOW_REQUIRES(kDeviceLock) {
    return table_.IdleFor(timeline);
  }
  MemoryBudget& budget() { return budget_; }
  uint64_t reserved_bytes() const { return budget_.reserved_bytes(); }
  // How many more chunks the limit allows.
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
  uint64_t large_pages_ = 0;  // of the largest chunk that may be made
  uint64_t large_part_ = 1;
  uint32_t mark_ = 0;
  uint64_t registered_pages_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_PHYSICAL_CHUNK_STORE_H_
