// ChunkExchange: puts chunks of host memory in the place of the device's, and the other way round,
// under pages in use (allocator/offload).
//
// Idea: who moves memory takes a chunk of the other kind out of the table, fills it, and exchanges
// it for the page's. Chunks of host memory are idle in lists of their own and do not count as
// reserved. Under a paused page lies a chunk that cannot be mapped: pinned memory that only copies
// reach, or nothing where what the page held was given up.
//
// Ownership: handles of host memory, until Close; pinned memory is the caller's. Threads: the
// device's lock; the numbers from any thread. Errors: DriverResult; nothing was done then. Units:
// bytes.
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
  // Releases host memory, which is idle once the heaps are gone; `alive` false: the context is gone
  // and all memory with it.
  void Close(bool alive) VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t chunk_bytes() const { return table_->chunk_bytes(); }
  // Whether the page at this address is the first of its chunk, and how many pages that has.
  bool BeginsChunk(uint64_t address) const VRAMSTOW_REQUIRES(kDeviceLock) {
    return table_->FirstPageOf(space_->NumberOf(address)) == space_->NumberOf(address);
  }
  uint32_t PagesAt(uint64_t address) const VRAMSTOW_REQUIRES(kDeviceLock) {
    return table_->PagesOf(space_->PageAt(address).chunk);
  }

  // A chunk of this kind that is in use nowhere is taken out of the store; 0: none. Work may still
  // touch it, if any was submitted that has not finished…
  uint32_t TakeOut(ChunkMemory kind) VRAMSTOW_REQUIRES(kDeviceLock);
  // …but not this one, of the device.
  uint32_t TakeOutUntouched() VRAMSTOW_REQUIRES(kDeviceLock);
  // Puts it back.
  void PutBack(uint32_t chunk) VRAMSTOW_REQUIRES(kDeviceLock) {
    NoteTaken(chunk, false);
    table_->PutIdle(chunk);
  }
  // Makes a chunk of host memory, in the store; nothing is counted against the limit.
  // With kMapped, copies reach it at an address of its own from then on, if the driver allows that.
  enum class OwnAddressIs : uint8_t { kMapped, kNone };
  DriverResult MakeHost(OwnAddressIs own) VRAMSTOW_REQUIRES(kDeviceLock);
  // The same, kPinned, of memory that belongs to the caller. False: no memory for the record.
  bool AddPinned(uint64_t memory) VRAMSTOW_REQUIRES(kDeviceLock);
  // Calls visit(memory) for every pinned chunk that is in use nowhere.
  template <typename Visit>
  void VisitIdlePinned(Visit visit) const VRAMSTOW_REQUIRES(kDeviceLock) {
    for (uint32_t index = table_->IdleHead(ChunkMemory::kPinned); index != 0;
         index = (*table_)[index].next) {
      visit((*table_)[index].handle);
    }
  }
  // Forgets those of them for which leaves(memory) is true: the caller wants to free the memory.
  template <typename Leaves>
  void RemoveIdlePinned(Leaves leaves) VRAMSTOW_REQUIRES(kDeviceLock) {
    uint32_t following = 0;
    for (uint32_t index = table_->IdleHead(ChunkMemory::kPinned); index != 0; index = following) {
      following = (*table_)[index].next;
      if (leaves((*table_)[index].handle)) RemovePinned(index);
    }
  }
  // Releases up to `count` chunks of host memory that are in use nowhere.
  uint64_t ReleaseHost(uint64_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  // Puts `count` chunks of one kind that were taken out, and that have the data of as many
  // neighbouring pages from `address` on, to use in place of the pages' own, which go to the store.
  // The pages are not paused, all pages of a large chunk are among them, and no work touches them
  // or the chunks. *used: that was done with so many of the first (fewer also where a range of
  // addresses ends), even if the result is an error: then, as on any error, Restore has to be
  // called for each page until it succeeds.
  DriverResult Exchange(uint64_t address, const uint32_t* chunks, uint32_t count, uint32_t* used)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // Takes the memory away from under up to *count neighbouring pages in use; nothing may touch them
  // until EndPause. `kept` has a chunk for each page, which was taken out and has the page's data;
  // with 0 the data are given up. A page whose data lie in host memory that has an address of its
  // own is parked: MapParked can map it there, too. All pages of a large chunk are paused or none.
  // No work touches the pages. Afterwards the first *count pages are paused, even if the result is
  // an error.
  DriverResult Pause(uint64_t address, const uint32_t* kept, uint32_t* count)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // Parks neighbouring pages that are mapped to host memory.
  DriverResult ParkHost(uint64_t address, uint32_t* count) VRAMSTOW_REQUIRES(kDeviceLock);
  // Maps the chunks that hold the data of parked pages at them. On an error the first *count pages
  // are mapped.
  DriverResult MapParked(uint64_t address, uint32_t* count) VRAMSTOW_REQUIRES(kDeviceLock);
  // Whether the page at this address is parked, and no chunk is on its way to it.
  bool IsParked(uint64_t address) const VRAMSTOW_REQUIRES(kDeviceLock) {
    const ChunkTable::Chunk& chunk = (*table_)[space_->PageAt(address).chunk];
    return chunk.parked && !chunk.replaced;
  }
  uint64_t parked_bytes() const { return table_->parked_pages() * chunk_bytes(); }
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
  DriverResult MapHandle(uint64_t address, uint32_t chunk) VRAMSTOW_REQUIRES(kDeviceLock) {
    return table_->MapHandle(address, chunk);
  }
  DriverResult UnmapHandle(uint64_t address, uint32_t chunk) VRAMSTOW_REQUIRES(kDeviceLock) {
    return table_->UnmapHandle(address, chunk);
  }
  // Neighbouring mappings at once; on an error none was removed.
  DriverResult UnmapHandles(uint64_t address, const uint32_t* chunks, uint32_t count)
      VRAMSTOW_REQUIRES(kDeviceLock) {
    return table_->UnmapHandles(address, chunks, count);
  }
  DriverResult GiveAccess(uint64_t address, uint64_t bytes, bool host)
      VRAMSTOW_REQUIRES(kDeviceLock) {
    return table_->GiveAccess(address, bytes, host);
  }
  // Where copies reach a chunk of host memory wherever else it is mapped; 0: nowhere.
  uint64_t OwnAddress(uint32_t chunk) const {
    const uint64_t own = (*table_)[chunk].own;
    return (own & kNoAccess) != 0 ? 0 : own;
  }
  void SetCopyWait(const ChunkTable::CopyWait& copies) { table_->SetCopyWait(copies); }
  bool IsHost(uint32_t chunk) const { return table_->IsHost(chunk); }
  // Where copies reach the data of the paused page at this address; 0: it was given up.
  uint64_t KeptAt(uint64_t address) {
    const uint32_t chunk = space_->PageAt(address).chunk;
    return table_->IsParked(chunk) ? OwnAddress(chunk) : PinnedMemory(chunk);
  }
  uint64_t PinnedMemory(uint32_t chunk) const { return (*table_)[chunk].handle; }
  uint64_t idle_host_chunks() const { return table_->IdleOf(ChunkMemory::kHost); }
  uint64_t idle_pinned_chunks() const { return table_->IdleOf(ChunkMemory::kPinned); }
  // Those of host memory that can be mapped, in use somewhere or not.
  uint64_t host_chunks() const { return host_chunks_; }
  // Host memory that is held, in use somewhere or not; and what of it is in use at pages.
  uint64_t host_bytes() const { return host_bytes_.load(std::memory_order_relaxed); }
  uint64_t offloaded_bytes() const {
    const uint64_t elsewhere = idle_host_chunks() + idle_pinned_chunks() +
                               stuck_host_.load(std::memory_order_relaxed) +
                               taken_host_.load(std::memory_order_relaxed);
    return host_bytes() > elsewhere * chunk_bytes() ? host_bytes() - elsewhere * chunk_bytes() : 0;
  }
  // Pages that are paused or parked; and of those, what was given up.
  uint64_t paused_bytes() const { return table_->paused_pages() * chunk_bytes(); }
  uint64_t discarded_bytes() const { return table_->discarded_pages() * chunk_bytes(); }
  // A chunk that was taken out is mapped where it is of no use, and cannot be unmapped for now; or,
  // `stuck` false, it is not any more.
  void NoteStuck(uint32_t chunk, bool stuck) VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t stuck_bytes() const { return stuck_device_ * chunk_bytes(); }
  // Chunks of the device that were taken out and are in use nowhere yet.
  uint64_t taken_bytes() const { return taken_device_ * chunk_bytes(); }

 private:
  // A mapping at an own address that has no access and could not be removed.
  static constexpr uint64_t kNoAccess = 1;

  void NoteTaken(uint32_t chunk, bool taken) VRAMSTOW_REQUIRES(kDeviceLock);
  void CountTaken(uint32_t chunk, bool taken) VRAMSTOW_REQUIRES(kDeviceLock);
  void MapOwn(uint32_t chunk) VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult UnmapOwn(uint32_t chunk) VRAMSTOW_REQUIRES(kDeviceLock);
  uint32_t TakeOut(uint32_t index) VRAMSTOW_REQUIRES(kDeviceLock);
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
