// ChunkTable: stores for each chunk of one pool its kind, the page where it is in use, and the
// pages where it is mapped.
//
// Idea: a chunk is in use at one page at a time, and may be mapped at other pages, too (its
// shadows). A chunk that is in use at no page is idle: it is in the list of its kind. ChunkStore
// moves chunks between pages, ChunkExchange between kinds; each sees in this table what the other
// one has changed.
//
// A large chunk is one handle under 2^n neighbouring pages. Each of its pages has a record of its
// own, so that code that counts chunks or looks up the chunk of a page need not know of large
// chunks; the record of the first page, its `lead`, stands for the whole chunk. All of its pages
// are in use and mapped, or none is. It has no shadow, so it leaves its pages only when no work
// touches them, and all of them at once.
//
// Ownership: the records; the handles belong to the classes that made the chunks. Threads: the
// device's lock; the numbers may be read from any thread. Errors: DriverResult; after an error
// nothing was done. Units: bytes.
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

// The kind of a chunk's memory. Only kDevice counts as reserved.
enum class ChunkMemory : uint8_t {
  kDevice = 0,
  kHost,     // memory of the host that can be mapped
  kPinned,   // host memory for copies only: the contents of a paused page
  kNothing,  // no memory: a paused page whose contents were discarded
};

class ChunkTable {
 public:
  // A chunk is mapped at no more pages than this, unless unfinished work still uses its shadows.
  static constexpr uint32_t kMaxMappings = 6;

  struct Chunk {
    uint64_t handle;    // for kPinned, the address of the memory
    uint32_t place;     // number of the page where it is in use; 0 if it is idle
    uint32_t home;      // page that it left to fill a gap; 0 if there is none
    uint32_t last;      // idle: the page where it was, if work may still touch it
    uint32_t pages;     // first of the pages where it is mapped
    uint32_t mappings;  // how many pages these are
    uint32_t previous;  // in the list of idle chunks
    uint32_t next;
    ChunkMemory kind;
    bool taken;       // out of the store: no heap may use it, but it may be mapped
    bool parked;      // host memory that is in use at a page and not mapped there
    bool replaced;    // parked, and its replacement is mapped there
    uint8_t order;    // of a large chunk: it has 2^order pages
    uint32_t lead;    // large: the record of the first page; 0 for a single chunk
    uint32_t follow;  // large: the record of the next page; 0 for the last
    uint64_t own;     // host memory: its own address for copies; 0 if it has none
  };

  // A callback that waits for copies. The offloader copies from mapped pages outside of all
  // streams; before a mapping is removed, `wait` waits for the copies that read its range.
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
  // Makes sure that the next `count` calls of Add cannot fail. Returns false if there is no memory
  // for the records.
  bool EnsureSpare(uint32_t count = 1) VRAMSTOW_REQUIRES(kDeviceLock);
  // Adds a new chunk, which is idle.
  void Add(uint64_t handle, ChunkMemory kind) VRAMSTOW_REQUIRES(kDeviceLock);
  // Adds a chunk without memory, for a page whose contents were discarded. It is not idle.
  uint32_t AddNothing() VRAMSTOW_REQUIRES(kDeviceLock);
  // Removes the record of an idle chunk that is mapped nowhere.
  void Remove(uint32_t index) VRAMSTOW_REQUIRES(kDeviceLock);
  // The number of pages that all chunks together can back.
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
  void RemoveIdle(uint32_t index) VRAMSTOW_REQUIRES(kDeviceLock);
  uint32_t IdleHead(ChunkMemory kind) const { return idle_[static_cast<int>(kind)].head; }
  // The number of idle chunks of this kind, without large chunks.
  uint64_t IdleOf(ChunkMemory kind) const {
    return idle_[static_cast<int>(kind)].count.load(std::memory_order_relaxed);
  }
  // True if the stream of this timeline may use the chunk: all work that touches the chunk has
  // finished, or is ordered before the stream's later work.
  bool UsableBy(const Chunk& chunk, uint32_t timeline) const {
    if (chunk.taken) return false;
    if (chunk.last == 0) return true;
    const Page& page = (*space_)[chunk.last];
    return (timeline != Fences::kEverything && page.timeline == timeline) ||
           fences_->Completed(page.timeline, page.tick);
  }
  // FindIdle returns an idle single chunk of the device that the stream may use, or 0. IdleFor
  // returns how many pages all chunks that the stream may use can back.
  uint32_t FindIdle(uint32_t timeline) const VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t IdleFor(uint32_t timeline) const VRAMSTOW_REQUIRES(kDeviceLock);

  // --- Large chunks (large_chunks.cc) ------------------------------------------------------------
  static constexpr uint32_t kLargestOrder = 6;
  // Adds a new large chunk, which is idle. There are spare records for its pages.
  void AddLarge(uint64_t handle, uint32_t order) VRAMSTOW_REQUIRES(kDeviceLock);
  // Removes the records of an idle large chunk.
  void RemoveLarge(uint32_t lead) VRAMSTOW_REQUIRES(kDeviceLock);
  // Index 0 means "no chunk"; it is tested first because there may be no records at all.
  bool IsLarge(uint32_t index) const { return index != 0 && chunks_[index].lead != 0; }
  // True if any large chunk exists, idle or not.
  bool any_large() const { return large_ != 0; }
  uint32_t PagesOf(uint32_t index) const { return uint32_t{1} << chunks_[index].order; }
  // Returns the first page of the chunk that is in use at page `number`.
  uint32_t FirstPageOf(uint32_t number) const VRAMSTOW_REQUIRES(kDeviceLock) {
    const uint32_t chunk = (*space_)[number].chunk;
    return IsLarge(chunk) ? chunks_[chunks_[chunk].lead].place : number;
  }
  // FindIdleLarge returns the largest idle chunk with at most `most_pages` pages, or 0.
  // IdleLargePages returns how many pages all idle large chunks have.
  uint32_t FindIdleLarge(uint64_t most_pages) const VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t IdleLargePages() const { return idle_large_pages_.load(std::memory_order_relaxed); }
  // Puts an idle large chunk to use from page `number` on. These pages must not be mapped before.
  // The device cannot access them until SetAccess is called for them.
  DriverResult PlaceLarge(uint32_t lead, uint32_t number) VRAMSTOW_REQUIRES(kDeviceLock);
  // Makes a large chunk in use idle, whether it is mapped or not. After an error it is as before.
  DriverResult DetachLarge(uint32_t lead) VRAMSTOW_REQUIRES(kDeviceLock);
  // Map or unmap a large chunk that stays in use.
  DriverResult MapLarge(uint32_t lead) VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult UnmapLarge(uint32_t lead) VRAMSTOW_REQUIRES(kDeviceLock);

  // --- Use ---------------------------------------------------------------------------------------
  // Puts a chunk to use at this page. The chunk is in no list.
  void BeginUse(uint32_t index, uint32_t number) VRAMSTOW_REQUIRES(kDeviceLock);
  void EndUse(Page* page) VRAMSTOW_REQUIRES(kDeviceLock);
  // Pause or resume the page at which this chunk is in use. A paused chunk that could be mapped at
  // the page is called parked.
  void BeginPause(uint32_t index) VRAMSTOW_REQUIRES(kDeviceLock);
  void EndPause(uint32_t index) VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t parked_pages() const { return parked_.load(std::memory_order_relaxed); }
  uint64_t pages_in_use() const { return in_use_; }
  uint64_t paused_pages() const { return paused_.load(std::memory_order_relaxed); }
  uint64_t discarded_pages() const { return discarded_; }

  // --- Mappings ----------------------------------------------------------------------------------
  // Map or unmap a chunk at any reserved address and record the event. This does not change which
  // chunk is in use at which page.
  DriverResult MapHandle(uint64_t address, uint32_t chunk) VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult UnmapHandle(uint64_t address, uint32_t chunk) VRAMSTOW_REQUIRES(kDeviceLock);
  // Unmaps neighbouring mappings in one call. After an error none was removed. If the driver does
  // not support this, it is not called again for several mappings.
  DriverResult UnmapHandles(uint64_t address, const uint32_t* chunks, uint32_t count)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // Gives access to mapped memory and records the event. If `host` is true the chunks are host
  // memory, and the host may access the range, too.
  DriverResult GiveAccess(uint64_t address, uint64_t bytes, bool host)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // Gives access to pages that are mapped and in use, and to the other pages of their large chunks.
  // Records the event. If `host` is true the chunks are host memory, and the host may access them,
  // too.
  DriverResult GivePagesAccess(uint32_t number, uint32_t count, bool host)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // Does what GiveAccess does, but records no event.
  DriverResult SetAccess(uint64_t address, uint64_t bytes, bool host) const;
  // Map a chunk at a page, or unmap a page. No unfinished work uses the page that is unmapped.
  DriverResult MapAt(uint32_t index, uint32_t number) VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult UnmapAt(uint32_t number) VRAMSTOW_REQUIRES(kDeviceLock);
  // Unmaps neighbouring mapped pages in one call. After an error none was unmapped.
  DriverResult UnmapRunAt(uint32_t number, uint32_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult DropShadows(uint32_t index, uint32_t most) VRAMSTOW_REQUIRES(kDeviceLock);
  // False if a chunk that is detached from a page is unmapped there at once.
  bool shadows() const { return shadows_; }
  // True if `more` shadows (mappings of chunks at pages where they are not in use) can be added
  // under the limit. The limit exists because mappings cost memory.
  bool HasRoomForShadow(uint64_t more = 0) const { return shadow_count() + more < max_shadows_; }
  uint64_t shadow_count() const { return mappings_ + paused_pages() - in_use_; }

 private:
  void WaitForCopies(uint64_t address, uint64_t bytes) const {
    if (copies_.wait != nullptr) copies_.wait(copies_.self, address, bytes);
  }
  void ForgetMapping(uint32_t number) VRAMSTOW_REQUIRES(kDeviceLock);
  static constexpr int kIdleKinds = 3;  // kNothing is never idle
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
  std::atomic<uint64_t> paused_{0};  // including parked pages
  std::atomic<uint64_t> parked_{0};
  std::atomic<uint64_t> committed_{0};
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_PHYSICAL_CHUNK_TABLE_H_
