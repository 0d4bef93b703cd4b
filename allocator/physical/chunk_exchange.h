// ChunkExchange: replaces the device memory under pages in use by host memory, and the other way
// round (for allocator/offload).
//
// Idea: a caller that moves memory takes a chunk of the other kind out of the table, copies the
// data into it, and exchanges it for the page's chunk. Idle chunks of host memory are in lists of
// their own and do not count as reserved. The chunk of a paused page cannot be mapped: it is pinned
// memory that only copies can access, or no memory if the page's contents were discarded. The chunk
// of a parked page is host memory that can be mapped at the page, but is not.
//
// Ownership: the handles of host memory, until Close; pinned memory belongs to the caller. Threads:
// the device's lock; the numbers may be read from any thread. Errors: DriverResult; after an error
// nothing was done. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_PHYSICAL_CHUNK_EXCHANGE_H_
#define VRAMSTOW_ALLOCATOR_PHYSICAL_CHUNK_EXCHANGE_H_

#include <atomic>
#include <cstdint>

#include "allocator/core/driver.h"
#include "allocator/core/events.h"
#include "allocator/physical/address_space.h"
#include "allocator/physical/chunk_table.h"
#include "allocator/physical/own_places.h"

namespace vramstow {

class ChunkExchange {
 public:
  void Open(const DriverTable* driver, const PoolEvents* events, AddressSpace* space,
            ChunkTable* table);
  // Releases the host memory, all of which is idle once the heaps are gone. `alive` is false if the
  // context was destroyed, and all memory with it.
  void Close(bool alive) VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t chunk_bytes() const { return table_->chunk_bytes(); }
  // True if the page at this address is the first one of its chunk.
  bool BeginsChunk(uint64_t address) const VRAMSTOW_REQUIRES(kDeviceLock) {
    return table_->FirstPageOf(space_->NumberOf(address)) == space_->NumberOf(address);
  }

  // Takes an idle chunk of this kind out of the store; returns 0 if there is none. Submitted work
  // that has not finished may still touch it.
  uint32_t DetachChunk(ChunkMemory kind) VRAMSTOW_REQUIRES(kDeviceLock);
  // Takes an idle chunk of the device that no unfinished work touches out of the store; returns 0
  // if there is none.
  uint32_t DetachUntouched() VRAMSTOW_REQUIRES(kDeviceLock);
  // Puts a chunk that was taken out back into the store.
  void PutBack(uint32_t chunk) VRAMSTOW_REQUIRES(kDeviceLock) {
    NoteTaken(chunk, false);
    table_->PutIdle(chunk);
  }
  // Creates an idle chunk of host memory, which does not count against the limit. With kMapped the
  // chunk is also mapped at an address of its own, by which copies can access it at any time, if
  // the driver allows that.
  enum class OwnAddressIs : uint8_t { kMapped, kNone };
  DriverResult MakeHost(OwnAddressIs own) VRAMSTOW_REQUIRES(kDeviceLock);
  // Adds an idle kPinned chunk, whose memory belongs to the caller. Returns false if there is no
  // memory for the record.
  bool AddPinned(uint64_t memory) VRAMSTOW_REQUIRES(kDeviceLock);
  // Calls visit(memory) for every idle pinned chunk.
  template <typename Visit>
  void VisitIdlePinned(Visit visit) const VRAMSTOW_REQUIRES(kDeviceLock) {
    for (uint32_t index = table_->IdleHead(ChunkMemory::kPinned); index != 0;
         index = (*table_)[index].next) {
      visit((*table_)[index].handle);
    }
  }
  // Removes the records of idle pinned chunks for which leaves(memory) is true: the caller is about
  // to free that memory.
  template <typename Leaves>
  void RemoveIdlePinned(Leaves leaves) VRAMSTOW_REQUIRES(kDeviceLock) {
    uint32_t following = 0;
    for (uint32_t index = table_->IdleHead(ChunkMemory::kPinned); index != 0; index = following) {
      following = (*table_)[index].next;
      if (leaves((*table_)[index].handle)) RemovePinned(index);
    }
  }
  // Releases up to `count` idle chunks of host memory.
  uint64_t ReleaseHost(uint64_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  // Puts `count` chunks of one kind to use at the neighbouring pages from `address` on. The chunks
  // were taken out and have the data of these pages; the pages' old chunks go to the store.
  // Preconditions: the pages are not paused, they include all pages of every large chunk among
  // them, and no work touches them or the chunks. *used becomes the number of exchanged pages,
  // which are the first ones. It may be less than `count` after an error, or where a range of
  // addresses ends. After any error, call Restore for each page until it succeeds.
  DriverResult Exchange(uint64_t address, const uint32_t* chunks, uint32_t count, uint32_t* used)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // Removes the memory from up to *count neighbouring pages in use; nothing may touch them until
  // EndPause. `kept` contains for each page a chunk that was taken out and has the page's data, or
  // 0 to discard the data. A page whose data lie in host memory that has an address of its own is
  // parked: MapParked can map the host memory at the page, too. A large chunk is paused as a whole
  // or not at all. No work touches the pages. Afterwards the first *count pages are paused, even if
  // the result is an error.
  DriverResult Pause(uint64_t address, const uint32_t* kept, uint32_t* count)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // Parks up to *count neighbouring pages that are mapped to host memory: unmaps them, while the
  // host memory retains the data.
  DriverResult ParkHost(uint64_t address, uint32_t* count) VRAMSTOW_REQUIRES(kDeviceLock);
  // Maps parked pages (unmapped, with their data on the host) to the chunks that hold their data.
  // After an error the first *count pages are mapped.
  DriverResult MapParked(uint64_t address, uint32_t* count) VRAMSTOW_REQUIRES(kDeviceLock);
  // True if the page at this address is parked and no other chunk was mapped at it by Underlay.
  bool IsParked(uint64_t address) const VRAMSTOW_REQUIRES(kDeviceLock) {
    const ChunkTable::Chunk& chunk = (*table_)[space_->PageAt(address).chunk];
    return chunk.parked && !chunk.replaced;
  }
  uint64_t parked_bytes() const { return table_->parked_pages() * chunk_bytes(); }
  // Maps at a paused page, without access, a chunk that was taken out. The page stays paused.
  DriverResult Underlay(uint64_t address, uint32_t chunk) VRAMSTOW_REQUIRES(kDeviceLock);
  // Undoes Underlay; the chunk is still taken out. If it cannot be unmapped, the next Underlay or
  // the free of the page unmaps it.
  void EndUnderlay(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);
  // Puts the page to use again with the chunk that Underlay mapped, which now has access and the
  // data.
  void EndPause(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);
  // Maps a page that is in use, after an Exchange failed to map it or to give it access.
  DriverResult Restore(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);
  // Map or unmap a chunk at any reserved address and record the event. This does not change which
  // chunk is in use at which page.
  DriverResult MapHandle(uint64_t address, uint32_t chunk) VRAMSTOW_REQUIRES(kDeviceLock) {
    return table_->MapHandle(address, chunk);
  }
  DriverResult UnmapHandle(uint64_t address, uint32_t chunk) VRAMSTOW_REQUIRES(kDeviceLock) {
    return table_->UnmapHandle(address, chunk);
  }
  // Unmaps neighbouring mappings in one call. After an error none was removed.
  DriverResult UnmapHandles(uint64_t address, const uint32_t* chunks, uint32_t count)
      VRAMSTOW_REQUIRES(kDeviceLock) {
    return table_->UnmapHandles(address, chunks, count);
  }
  DriverResult GiveAccess(uint64_t address, uint64_t bytes, bool host)
      VRAMSTOW_REQUIRES(kDeviceLock) {
    return table_->GiveAccess(address, bytes, host);
  }
  // Returns the own address of a chunk of host memory, at which copies access it wherever else it
  // is mapped. Returns 0 if the chunk has no such address.
  uint64_t OwnAddress(uint32_t chunk) const {
    const uint64_t own = (*table_)[chunk].own;
    return (own & kNoAccess) != 0 ? 0 : own;
  }
  void SetCopyWait(const ChunkTable::CopyWait& copies) { table_->SetCopyWait(copies); }
  bool IsHost(uint32_t chunk) const { return table_->IsHost(chunk); }
  // Returns the address at which copies access the data of the paused page, or 0 if the data were
  // discarded.
  uint64_t KeptAt(uint64_t address) {
    const uint32_t chunk = space_->PageAt(address).chunk;
    return table_->IsParked(chunk) ? OwnAddress(chunk) : PinnedMemory(chunk);
  }
  uint64_t PinnedMemory(uint32_t chunk) const { return (*table_)[chunk].handle; }
  uint64_t idle_host_chunks() const { return table_->IdleOf(ChunkMemory::kHost); }
  uint64_t idle_pinned_chunks() const { return table_->IdleOf(ChunkMemory::kPinned); }
  // The chunks of host memory that can be mapped, in use or idle.
  uint64_t host_chunks() const { return host_chunks_; }
  // Bytes of host memory that the pool holds, in use or idle; and how many of these bytes are in
  // use at pages.
  uint64_t host_bytes() const { return host_bytes_.load(std::memory_order_relaxed); }
  uint64_t offloaded_bytes() const {
    const uint64_t elsewhere = idle_host_chunks() + idle_pinned_chunks() +
                               stuck_host_.load(std::memory_order_relaxed) +
                               taken_host_.load(std::memory_order_relaxed);
    return host_bytes() > elsewhere * chunk_bytes() ? host_bytes() - elsewhere * chunk_bytes() : 0;
  }
  // Bytes of pages that are paused or parked; and how many of these bytes belong to pages whose
  // contents were discarded.
  uint64_t paused_bytes() const { return table_->paused_pages() * chunk_bytes(); }
  // The pages that are on the host and can be touched there.
  uint64_t mapped_host_pages() const {
    return (offloaded_bytes() + discarded_bytes() - paused_bytes()) / chunk_bytes();
  }
  uint64_t discarded_bytes() const { return table_->discarded_pages() * chunk_bytes(); }
  // Notes that a chunk that was taken out is stuck: it is mapped at an address where it is of no
  // use, and cannot be unmapped for now. With `stuck` false it is not stuck any more.
  void NoteStuck(uint32_t chunk, bool stuck) VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t stuck_bytes() const { return stuck_device_ * chunk_bytes(); }
  // Bytes of chunks of the device that were taken out and are not in use yet.
  uint64_t taken_bytes() const { return taken_device_ * chunk_bytes(); }

 private:
  // Marks an own address whose mapping has no access and could not be removed.
  static constexpr uint64_t kNoAccess = 1;

  void NoteTaken(uint32_t chunk, bool taken) VRAMSTOW_REQUIRES(kDeviceLock);
  void CountTaken(uint32_t chunk, bool taken) VRAMSTOW_REQUIRES(kDeviceLock);
  void MapOwn(uint32_t chunk) VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult UnmapOwn(uint32_t chunk) VRAMSTOW_REQUIRES(kDeviceLock);
  uint32_t DetachChunk(uint32_t index) VRAMSTOW_REQUIRES(kDeviceLock);
  void RemovePinned(uint32_t index) VRAMSTOW_REQUIRES(kDeviceLock);
  uint32_t WholeChunks(uint32_t number, uint32_t count) const VRAMSTOW_REQUIRES(kDeviceLock);
  uint32_t CountNeighbours(uint64_t address, uint32_t count) const VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult MapKept(uint32_t number) VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult UnmapChunk(uint32_t number) VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult UnmapRun(uint32_t number, uint32_t* count) VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult MapRun(uint32_t number, const uint32_t* chunks, uint32_t* count)
      VRAMSTOW_REQUIRES(kDeviceLock);
  void Replace(uint32_t old, uint32_t chunk, uint32_t number) VRAMSTOW_REQUIRES(kDeviceLock);

  const DriverTable* driver_ = nullptr;
  const PoolEvents* events_ = nullptr;
  AddressSpace* space_ = nullptr;
  ChunkTable* table_ = nullptr;
  OwnPlaces places_;
  bool maps_own_ = true;       // the driver maps a handle more than once
  uint64_t stuck_device_ = 0;  // chunks
  uint64_t host_chunks_ = 0;
  uint64_t taken_device_ = 0;
  std::atomic<uint64_t> stuck_host_{0};
  std::atomic<uint64_t> taken_host_{0};
  std::atomic<uint64_t> host_bytes_{0};
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_PHYSICAL_CHUNK_EXCHANGE_H_
