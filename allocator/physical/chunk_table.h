// ChunkTable: the chunks of one pool: what each is, where it is in use, and where it is mapped.
//
// Idea: a chunk is in use at one page at a time, and may be mapped at others, too (its shadows).
// One that is in use nowhere is idle: it is in the list of its kind. ChunkStore moves chunks
// between pages, ChunkExchange between kinds; both find in this table what the other one did.
//
// A large chunk is one handle under 2^n neighbouring pages. Each of its pages has a record of its
// own, so that whatever counts or names the chunk of a page need not know of it; that of the first
// page, its `lead`, stands for it. All of them are in use and mapped, or none is. It has no
// shadow, so it leaves its pages only when no work touches them, and all at once.
//
// Ownership: the records; the handles are those of who made the chunks. Threads: the device's lock;
// the numbers from any thread. Errors: DriverResult; nothing was done then. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_PHYSICAL_CHUNK_TABLE_H_
#define VRAMSTOW_ALLOCATOR_PHYSICAL_CHUNK_TABLE_H_

#include <atomic>
#include <cstdint>

#include "allocator/core/driver.h"
#include "allocator/core/events.h"
#include "allocator/core/fences.h"
#include "allocator/core/slab.h"
#include "allocator/physical/address_space.h"

namespace vramstow {

// What a chunk is. All but kDevice do not count as reserved.
enum class ChunkMemory : uint8_t {
  kDevice = 0,
  kHost,     // memory of the host that can be mapped
  kPinned,   // memory of the host that only copies reach: what a paused page held
  kNothing,  // what lies under a paused page whose contents were given up
};

class ChunkTable {
 public:
  // A chunk is mapped at no more pages than this, as far as work lets go of them.
  static constexpr uint32_t kMaxMappings = 6;

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
    bool taken;       // out of the store: it may be mapped somewhere, and is nobody's to use
    bool parked;      // host memory that is in use at a page and not mapped there
    bool replaced;    // parked, and what will take its place is mapped there
    uint8_t order;    // of a large chunk: it has 2^order pages
    uint32_t lead;    // of a large chunk: the record of its first page; 0: it is none
    uint32_t follow;  // the record of its next page; 0: this is the last
    uint64_t own;     // of host memory: where it stays mapped for copies; 0: nowhere
  };

  // Copies that read mapped pages beside all streams: whoever makes them is asked to wait for those
  // that read a range before its mapping is removed.
  struct CopyWait {
    void (*wait)(void* self, uint64_t address, uint64_t bytes) = nullptr;
    void* self = nullptr;
  };
  void SetCopyWait(const CopyWait& copies) { copies_ = copies; }

  bool Open(const DriverTable* driver, const PoolEvents* events, AddressSpace* space,
            const Fences* fences, uint64_t max_shadows);
  void Close() VRAMSTOW_REQUIRES(kDeviceLock);

  Chunk& operator[](uint32_t index) { return chunks_[index]; }
  const Chunk& operator[](uint32_t index) const { return chunks_[index]; }
  // Makes the next Add safe. False: no memory for the record.
  bool EnsureSpare(uint32_t count = 1) VRAMSTOW_REQUIRES(kDeviceLock);
  // A new chunk, which is idle.
  void Add(uint64_t handle, ChunkMemory kind) VRAMSTOW_REQUIRES(kDeviceLock);
  // One without memory, for a page whose contents are given up; it is not idle.
  uint32_t AddNothing() VRAMSTOW_REQUIRES(kDeviceLock);
  // Forgets an idle chunk, which is mapped nowhere.
  void Remove(uint32_t index) VRAMSTOW_REQUIRES(kDeviceLock);
  // Pages that chunks could back, were all in use.
  uint64_t chunks() const { return chunks_.count(); }
  uint64_t committed_bytes() const { return committed_.load(std::memory_order_relaxed); }
  uint64_t chunk_bytes() const { return space_->page_bytes(); }
  bool IsHost(uint32_t chunk) const { return chunks_[chunk].kind != ChunkMemory::kDevice; }
  bool IsPaused(uint32_t chunk) const {
    return chunks_[chunk].kind >= ChunkMemory::kPinned || chunks_[chunk].parked;
  }
  bool IsParked(uint32_t chunk) const { return chunks_[chunk].parked; }

  // --- Idle chunks -------------------------------------------------------------------------------
  void PutIdle(uint32_t index) VRAMSTOW_REQUIRES(kDeviceLock);
  void TakeIdle(uint32_t index) VRAMSTOW_REQUIRES(kDeviceLock);
  uint32_t IdleHead(ChunkMemory kind) const { return idle_[static_cast<int>(kind)].head; }
  // Without large ones.
  uint64_t IdleOf(ChunkMemory kind) const {
    return idle_[static_cast<int>(kind)].count.load(std::memory_order_relaxed);
  }
  // Whether a stream may have the chunk: no work touches it that the stream is not ordered after.
  bool UsableBy(const Chunk& chunk, uint32_t timeline) const {
    if (chunk.taken) return false;
    if (chunk.last == 0) return true;
    const Page& page = (*space_)[chunk.last];
    return (timeline != Fences::kEverything && page.timeline == timeline) ||
           fences_->Completed(page.timeline, page.tick);
  }
  // An idle chunk of the device that the stream may have, or 0, large ones apart; and how many
  // pages all of them have.
  uint32_t FindIdle(uint32_t timeline) const VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t IdleFor(uint32_t timeline) const VRAMSTOW_REQUIRES(kDeviceLock);

  // --- Large chunks (large_chunks.cc) ------------------------------------------------------------
  static constexpr uint32_t kLargestOrder = 6;
  // A new one, which is idle; there are spare records for its pages.
  void AddLarge(uint64_t handle, uint32_t order) VRAMSTOW_REQUIRES(kDeviceLock);
  // Forgets an idle one.
  void RemoveLarge(uint32_t lead) VRAMSTOW_REQUIRES(kDeviceLock);
  // 0, no chunk, is none: before the first chunk there are no records.
  bool IsLarge(uint32_t index) const { return index != 0 && chunks_[index].lead != 0; }
  // Whether there are any, idle or not.
  bool any_large() const { return large_ != 0; }
  uint32_t PagesOf(uint32_t index) const { return uint32_t{1} << chunks_[index].order; }
  // The first page of the chunk that is in use at this one.
  uint32_t FirstPageOf(uint32_t number) const VRAMSTOW_REQUIRES(kDeviceLock) {
    const uint32_t chunk = (*space_)[number].chunk;
    return IsLarge(chunk) ? chunks_[chunks_[chunk].lead].place : number;
  }
  // The largest idle one that has at most so many pages, or 0; and how many pages all of them have.
  uint32_t FindIdleLarge(uint64_t most_pages) const VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t IdleLargePages() const { return idle_large_pages_.load(std::memory_order_relaxed); }
  // An idle one is in use from page `number` on. Those pages are not mapped before, and have no
  // access yet after.
  DriverResult PlaceLarge(uint32_t lead, uint32_t number) VRAMSTOW_REQUIRES(kDeviceLock);
  // One that is in use, with or without a mapping, is idle. Error: it is as before.
  DriverResult DetachLarge(uint32_t lead) VRAMSTOW_REQUIRES(kDeviceLock);
  // Only its mapping; it stays in use.
  DriverResult MapLarge(uint32_t lead) VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult UnmapLarge(uint32_t lead) VRAMSTOW_REQUIRES(kDeviceLock);

  // --- Use ---------------------------------------------------------------------------------------
  // The chunk, which is in no list, is in use at this page.
  void BeginUse(uint32_t index, uint32_t number) VRAMSTOW_REQUIRES(kDeviceLock);
  void EndUse(Page* page) VRAMSTOW_REQUIRES(kDeviceLock);
  // The page at which this chunk is in use is paused from now on, or is not any more. A chunk that
  // could be mapped there is parked meanwhile.
  void BeginPause(uint32_t index) VRAMSTOW_REQUIRES(kDeviceLock);
  void EndPause(uint32_t index) VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t parked_pages() const { return parked_.load(std::memory_order_relaxed); }
  uint64_t pages_in_use() const { return in_use_; }
  uint64_t paused_pages() const { return paused_.load(std::memory_order_relaxed); }
  uint64_t discarded_pages() const { return discarded_; }

  // --- Mappings ----------------------------------------------------------------------------------
  // As such, told as events, at any reserved address: what is in use where stays the same.
  DriverResult MapHandle(uint64_t address, uint32_t chunk) VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult UnmapHandle(uint64_t address, uint32_t chunk) VRAMSTOW_REQUIRES(kDeviceLock);
  // Neighbouring mappings at once; on an error none was removed. A driver that does not do this is
  // not asked again.
  DriverResult UnmapHandles(uint64_t address, const uint32_t* chunks, uint32_t count)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // `host`: the chunks there are host memory, which the host may touch, too.
  DriverResult GiveAccess(uint64_t address, uint64_t bytes, bool host)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // The same for pages that are mapped and in use, and the other pages of their large chunks.
  DriverResult GivePagesAccess(uint32_t number, uint32_t count, bool host)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // The same, told to nobody.
  DriverResult SetAccess(uint64_t address, uint64_t bytes, bool host) const;
  // Of pages; the one that is unmapped is taken by no work any more.
  DriverResult MapAt(uint32_t index, uint32_t number) VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult UnmapAt(uint32_t number) VRAMSTOW_REQUIRES(kDeviceLock);
  // The same of neighbouring mapped pages, at once; on an error none was removed.
  DriverResult UnmapRunAt(uint32_t number, uint32_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult DropShadows(uint32_t index, uint32_t most) VRAMSTOW_REQUIRES(kDeviceLock);
  // False: a chunk that leaves a page is unmapped there at once.
  bool shadows() const { return shadows_; }
  // True if there are fewer shadows than there may be, with `more` of them: mappings are not free.
  bool HasRoomForShadow(uint64_t more = 0) const { return shadow_count() + more < max_shadows_; }
  uint64_t shadow_count() const { return mappings_ + paused_pages() - in_use_; }

 private:
  void WaitForCopies(uint64_t address, uint64_t bytes) const {
    if (copies_.wait != nullptr) copies_.wait(copies_.self, address, bytes);
  }
  void ForgetMapping(uint32_t number) VRAMSTOW_REQUIRES(kDeviceLock);
  static constexpr int kIdleKinds = 3;  // what was given up is never idle
  static constexpr uint32_t kMaxChunks = uint32_t{1} << 24;

  struct Idle {
    uint32_t head = 0;
    std::atomic<uint64_t> count{0};
  };

  void LinkLarge(uint32_t lead) VRAMSTOW_REQUIRES(kDeviceLock);
  void UnlinkLarge(uint32_t lead) VRAMSTOW_REQUIRES(kDeviceLock);

  const DriverTable* driver_ = nullptr;
  const PoolEvents* events_ = nullptr;
  AddressSpace* space_ = nullptr;
  const Fences* fences_ = nullptr;
  Slab<Chunk> chunks_;
  Idle idle_[kIdleKinds];
  uint32_t idle_large_[kLargestOrder + 1] = {};  // leads
  std::atomic<uint64_t> idle_large_pages_{0};
  uint64_t large_ = 0;
  bool shadows_ = true;
  CopyWait copies_;
  bool unmaps_runs_ = true;  // the driver removes several mappings at once
  uint64_t max_shadows_ = 0;
  uint64_t mappings_ = 0;
  uint64_t in_use_ = 0;              // pages
  uint64_t discarded_ = 0;           // pages
  std::atomic<uint64_t> paused_{0};  // with those that are parked
  std::atomic<uint64_t> parked_{0};
  std::atomic<uint64_t> committed_{0};
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_PHYSICAL_CHUNK_TABLE_H_
