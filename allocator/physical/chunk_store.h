// ChunkStore: the physical memory of one pool, chunk by chunk.
//
// Idea: a chunk is one handle, made once and in use at one page at a time. It moves by being put to
// use at another page; its mapping at the old one, its shadow, stays as long as nothing else needs
// that page. So a move waits for no work (nothing is unmapped under it) and coming back takes no
// driver call. Whoever gets the chunk must still be ordered after the work that touched it: the
// same stream is, others need the fence. The store makes and releases chunks, keeps those that are
// in use nowhere, and counts all. A chunk lies on the device or, where offload put it there, in
// host memory: such a chunk is kept apart when it is idle, leaves no shadow if that can be helped,
// and does not count as reserved. Under a paused page lies a chunk that cannot be mapped.
//
// Ownership: all handles, until Close. Threads: the device's lock; reserved_bytes from any thread.
// Errors: DriverResult; nothing was done then. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_PHYSICAL_CHUNK_STORE_H_
#define VRAMSTOW_ALLOCATOR_PHYSICAL_CHUNK_STORE_H_

#include <atomic>
#include <cstdint>

#include "allocator/core/driver.h"
#include "allocator/core/events.h"
#include "allocator/core/fences.h"
#include "allocator/core/slab.h"
#include "allocator/physical/address_space.h"
#include "allocator/physical/memory_budget.h"

namespace vramstow {

// What a chunk is. All but kDevice do not count as reserved.
enum class ChunkMemory : uint8_t {
  kDevice = 0,
  kHost,     // memory of the host that can be mapped
  kPinned,   // memory of the host that only copies reach: what a paused page held
  kNothing,  // what lies under a paused page whose contents were given up
};

class ChunkStore {
 public:
  // With `shadows` false (or where the driver maps no handle twice) a chunk that leaves a page is
  // unmapped there at once.
  bool Open(const DriverTable* driver, const PoolEvents* events, AddressSpace* space,
            const Fences* fences, uint64_t limit_bytes, bool shadows);
  // Unmaps and releases everything; `alive` false: the context is gone and all memory with it.
  void Close(bool alive) VRAMSTOW_REQUIRES(kDeviceLock);

  // Makes `count` chunks, which are in use nowhere; *made says how many before an error.
  DriverResult Make(uint64_t count, uint64_t* made) VRAMSTOW_REQUIRES(kDeviceLock);
  // Releases up to `count` of the chunks that are in use nowhere and that no work touches any more;
  // *released says how many.
  DriverResult Release(uint64_t count, uint64_t* released) VRAMSTOW_REQUIRES(kDeviceLock);

  // Puts chunks of the store to use at [address, address + count pages) for the stream of this
  // timeline. All or nothing. *tick: the last of the timeline that may touch them.
  DriverResult Place(uint64_t address, uint64_t count, uint32_t timeline, uint32_t* tick)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // The chunk in use at this page goes to the store. Work of the timeline may touch it until `tick`
  // has completed; without shadows it must have.
  DriverResult Detach(uint64_t address, uint32_t timeline, uint32_t tick)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // The same, and it stays mapped in any case: for chunks on their way to where they are mapped,
  // too.
  void DetachKeepMapped(uint64_t address, uint32_t timeline, uint32_t tick)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // At the end: unmaps what is mapped at this page. No work touches it.
  void Unmap(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);
  // Sets the access rights of a mapped page again.
  DriverResult RenewAccess(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock) {
    return driver_->set_access(driver_->self, address, chunk_bytes());
  }

  // From now on nothing is made of chunks, and none is in use (SegmentStore).
  void UseSegments() { segments_ = true; }
  bool segments() const { return segments_; }
  uint64_t pages_in_use() const { return in_use_; }

  // --- Offload (allocator/offload) ------------------------------------------------------------
  // A chunk of this kind that is in use nowhere is taken out of the store; 0: none. Work may still
  // touch it, if any was submitted that has not finished…
  uint32_t TakeOut(ChunkMemory kind) VRAMSTOW_REQUIRES(kDeviceLock);
  // …but not this one, of the device.
  uint32_t TakeOutUntouched() VRAMSTOW_REQUIRES(kDeviceLock);
  // Puts it back.
  void PutBack(uint32_t chunk) VRAMSTOW_REQUIRES(kDeviceLock) {
    chunks_[chunk].taken = false;
    PutIdle(chunk);
  }
  // Makes a chunk of host memory, in the store; nothing is counted against the limit.
  DriverResult MakeHost() VRAMSTOW_REQUIRES(kDeviceLock);
  // The same, kPinned, of memory that belongs to the caller. False: no memory for the record.
  bool AddPinned(uint64_t memory) VRAMSTOW_REQUIRES(kDeviceLock);
  // Releases up to `count` chunks of host memory that are in use nowhere.
  uint64_t ReleaseHost(uint64_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  // Puts a chunk that was taken out, and that has the page's data, to use in place of the page's,
  // which goes to the store. The page is not paused, and no work touches it or the chunk. *used:
  // that was done, even if
  // the result is an error: then, as on any error, Restore has to be called until it succeeds.
  DriverResult Exchange(uint64_t address, uint32_t chunk, bool* used)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // Takes the memory away from under a page in use; nothing may touch it until EndPause.
  // `pinned` was taken out and has the page's data; 0: that is given up. No work touches the page.
  DriverResult Pause(uint64_t address, uint32_t pinned) VRAMSTOW_REQUIRES(kDeviceLock);
  // Maps a chunk that was taken out under a paused page, which stays paused, without access.
  DriverResult Underlay(uint64_t address, uint32_t chunk) VRAMSTOW_REQUIRES(kDeviceLock);
  // Undoes it; the chunk is the caller's still. If that fails it stays mapped there, too, and the
  // next Underlay or free of the page takes it away.
  void EndUnderlay(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);
  // The page is in use as before: what lies under it has access now, and its data.
  void EndPause(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);
  // Maps a page in use again that an Exchange could not map, or not give access to.
  DriverResult Restore(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);
  // Mappings as such, told as events, at any reserved address: what is in use where stays the same.
  DriverResult MapHandle(uint64_t address, uint32_t chunk) VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult UnmapHandle(uint64_t address, uint32_t chunk) VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult GiveAccess(uint64_t address, uint64_t bytes) VRAMSTOW_REQUIRES(kDeviceLock);
  bool IsHost(uint32_t chunk) const { return chunks_[chunk].kind != ChunkMemory::kDevice; }
  // Whether the page in use at this address is not on the device: in host memory, or paused.
  bool OnHost(uint64_t address) { return IsHost(space_->PageAt(address).chunk); }
  bool Paused(uint64_t address) { return IsPaused(space_->PageAt(address).chunk); }
  // Where the data of the paused page at this address is; 0: it was given up.
  uint64_t KeptAt(uint64_t address) { return PinnedMemory(space_->PageAt(address).chunk); }
  uint64_t PinnedMemory(uint32_t chunk) const { return chunks_[chunk].handle; }
  uint64_t idle_host_chunks() const { return IdleOf(ChunkMemory::kHost); }
  uint64_t idle_pinned_chunks() const { return IdleOf(ChunkMemory::kPinned); }
  // Host memory that is held, in use somewhere or not; and what of it is in use at pages.
  uint64_t host_bytes() const { return host_bytes_.load(std::memory_order_relaxed); }
  uint64_t offloaded_bytes() const {
    const uint64_t elsewhere =
        idle_host_chunks() + idle_pinned_chunks() + stuck_host_.load(std::memory_order_relaxed);
    return host_bytes() - elsewhere * chunk_bytes();
  }
  // Pages that are paused; and of those, what was given up.
  uint64_t paused_bytes() const { return paused_.load(std::memory_order_relaxed) * chunk_bytes(); }
  uint64_t discarded_bytes() const { return discarded_ * chunk_bytes(); }
  // A chunk that was taken out is mapped where it is of no use, and cannot be unmapped for now; or,
  // `stuck` false, it is not any more.
  void NoteStuck(uint32_t chunk, bool stuck) VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t stuck_bytes() const { return stuck_device_ * chunk_bytes(); }

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
    const Chunk& chunk = chunks_[page.mapped];
    if (chunk.kind == ChunkMemory::kDevice &&
        (chunk.place != 0 ? can_be_had(chunk.place) : UsableBy(chunk, timeline)))
      return 0;
    return fences_->Completed(page.timeline, page.tick) ? 2 : kImpossible;
  }
  // The page that the chunk in use at this page left, if it can come home without a driver call; 0:
  // it cannot, and belongs here from now on.
  uint32_t HomeOf(const Page& page) VRAMSTOW_REQUIRES(kDeviceLock) {
    Chunk& chunk = chunks_[page.chunk];
    if (chunk.home == 0) return 0;
    const Page& home = (*space_)[chunk.home];
    if (home.chunk != 0 || home.mapped != page.chunk) chunk.home = 0;
    return chunk.home;
  }
  // Where the chunk that is mapped at a page is in use; 0: nowhere, or it is not to come from
  // there.
  uint32_t PlaceOf(const Page& page) const VRAMSTOW_REQUIRES(kDeviceLock) {
    const Chunk& chunk = chunks_[page.mapped];
    return chunk.kind == ChunkMemory::kDevice ? chunk.place : 0;
  }
  // Calls visit(page) for the pages where the chunk is mapped.
  template <typename Visit>
  void VisitMappings(uint32_t chunk, Visit visit) const VRAMSTOW_REQUIRES(kDeviceLock) {
    for (uint32_t number = chunks_[chunk].pages; number != 0; number = (*space_)[number].next) {
      visit((*space_)[number]);
    }
  }
  bool MayShadow(uint64_t more) const { return shadows_ && shadow_count() + more < kMostShadows; }
  uint32_t NewMark() VRAMSTOW_REQUIRES(kDeviceLock) { return ++mark_; }
  bool shadows() const { return shadows_; }
  uint64_t shadow_count() const {
    return mappings_ + paused_.load(std::memory_order_relaxed) - in_use_;
  }

  uint64_t chunk_bytes() const { return space_->page_bytes(); }
  // Chunks that are in use nowhere.
  uint64_t idle_chunks() const { return IdleOf(ChunkMemory::kDevice); }
  // Those of them that a stream may have.
  uint64_t IdleFor(uint32_t timeline) const VRAMSTOW_REQUIRES(kDeviceLock);
  MemoryBudget& budget() { return budget_; }
  uint64_t reserved_bytes() const { return budget_.reserved_bytes(); }
  // How many more chunks the limit allows.
  uint64_t ChunksUnderLimit() const { return budget_.UnitsUnderLimit(chunk_bytes()); }
  uint64_t HandleAt(uint64_t address) { return chunks_[space_->PageAt(address).chunk].handle; }
  uint64_t committed_bytes() const { return committed_.load(std::memory_order_relaxed); }
  uint64_t chunks() const { return chunks_.count(); }

 private:
  static constexpr int kIdleKinds = 3;  // what was given up is never idle

  struct Chunk {
    uint64_t handle;    // of kPinned: its address
    uint32_t place;     // number of the page where it is in use; 0: idle
    uint32_t home;      // the page that it left to fill a gap; 0: it is where it belongs
    uint32_t last;      // of an idle one: the page where it was, if work may still touch it
    uint32_t pages;     // first of the pages where it is mapped
    uint32_t mappings;  // how many these are
    uint32_t previous;  // of the idle ones
    uint32_t next;
    ChunkMemory kind;
    bool taken;  // out of the store: it may be mapped somewhere, and is nobody's to use
  };
  static constexpr uint32_t kMaxChunks = uint32_t{1} << 24;
  // A chunk is mapped at no more pages than this, as far as work lets go of them…
  static constexpr uint32_t kMostMappings = 6;
  // …and there are no more shadows than this in all: mappings are not free.
  static constexpr uint64_t kMostShadows = 16384;

  bool UsableBy(const Chunk& chunk, uint32_t timeline) const {
    if (chunk.taken) return false;
    if (chunk.last == 0) return true;
    const Page& page = (*space_)[chunk.last];
    return (timeline != Fences::kEverything && page.timeline == timeline) ||
           fences_->Completed(page.timeline, page.tick);
  }
  bool IsPaused(uint32_t chunk) const { return chunks_[chunk].kind >= ChunkMemory::kPinned; }
  uint64_t IdleOf(ChunkMemory kind) const {
    return idle_[static_cast<int>(kind)].count.load(std::memory_order_relaxed);
  }
  uint32_t IdleHead(ChunkMemory kind) const { return idle_[static_cast<int>(kind)].head; }
  void PutIdle(uint32_t index) VRAMSTOW_REQUIRES(kDeviceLock);
  void TakeIdle(uint32_t index) VRAMSTOW_REQUIRES(kDeviceLock);
  void EndUse(Page* page) VRAMSTOW_REQUIRES(kDeviceLock);
  uint32_t TakeOut(uint32_t index) VRAMSTOW_REQUIRES(kDeviceLock);
  void Replace(uint32_t old, uint32_t chunk, uint32_t number) VRAMSTOW_REQUIRES(kDeviceLock);
  uint32_t FindIdle(uint32_t timeline) const VRAMSTOW_REQUIRES(kDeviceLock);
  void PutToUse(uint32_t index, uint32_t number, uint32_t timeline, uint32_t* tick)
      VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult MapAt(uint32_t index, uint32_t number) VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult MapFresh(uint32_t number, uint32_t timeline, uint32_t* tick)
      VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult UnmapAt(uint32_t number) VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult DropShadows(uint32_t index, uint32_t most) VRAMSTOW_REQUIRES(kDeviceLock);
  void Undo(uint64_t address, uint64_t count) VRAMSTOW_REQUIRES(kDeviceLock);

  const DriverTable* driver_ = nullptr;
  const PoolEvents* events_ = nullptr;
  AddressSpace* space_ = nullptr;
  const Fences* fences_ = nullptr;
  MemoryBudget budget_;
  Slab<Chunk> chunks_;
  bool shadows_ = true;
  bool segments_ = false;
  uint32_t mark_ = 0;
  struct Idle {
    uint32_t head = 0;
    std::atomic<uint64_t> count{0};
  };
  Idle idle_[kIdleKinds];
  uint64_t mappings_ = 0;
  uint64_t in_use_ = 0;  // pages
  uint64_t stuck_device_ = 0;
  uint64_t discarded_ = 0;  // pages
  std::atomic<uint64_t> paused_{0};
  std::atomic<uint64_t> stuck_host_{0};
  std::atomic<uint64_t> host_bytes_{0};
  std::atomic<uint64_t> committed_{0};
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_PHYSICAL_CHUNK_STORE_H_
