// ChunkStore: the physical memory of one pool, chunk by chunk.
//
// Idea: a chunk is one handle, made once, mapped whole at one place at a time, and moved by
// unmapping it here and mapping it there. The store makes and releases chunks, keeps those that are
// mapped nowhere, and counts all.
//
// Ownership: all handles, until Close. Threads: the device's lock; reserved_bytes from any thread.
// Errors: DriverResult; nothing was done then. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_CHUNK_STORE_H_
#define VRAMSTOW_ALLOCATOR_CHUNK_STORE_H_

#include <atomic>
#include <cstdint>

#include "allocator/address_space.h"
#include "allocator/driver.h"
#include "allocator/events.h"
#include "allocator/slab.h"

namespace vramstow {

class ChunkStore {
 public:
  bool Open(const DriverTable* driver, const PoolEvents* events, AddressSpace* space,
            uint64_t limit_bytes);
  // Unmaps and releases everything; `alive` false: the context is gone and all memory with it.
  void Close(bool alive);

  // Makes `count` chunks, which are mapped nowhere; *made says how many before an error.
  DriverResult Make(uint64_t count, uint64_t* made);
  // Releases up to `count` of the chunks that are mapped nowhere; *released says how many.
  DriverResult Release(uint64_t count, uint64_t* released);

  // Maps chunks of the store at [address, address + count pages) and gives access. All or nothing.
  DriverResult Map(uint64_t address, uint64_t count);
  // Unmaps the page at the address; its chunk is then in the store.
  DriverResult Unmap(uint64_t address);
  // Sets the access rights of a mapped page again.
  DriverResult RenewAccess(uint64_t address) {
    return driver_->set_access(driver_->self, address, chunk_bytes());
  }

  uint64_t chunk_bytes() const { return space_->page_bytes(); }
  // Chunks that are mapped nowhere.
  uint64_t idle_chunks() const { return idle_chunks_; }
  uint64_t reserved_bytes() const { return reserved_.load(std::memory_order_relaxed); }
  uint64_t peak_reserved_bytes() const { return peak_reserved_.load(std::memory_order_relaxed); }
  void ResetPeak() { peak_reserved_.store(reserved_bytes(), std::memory_order_relaxed); }
  void set_limit_bytes(uint64_t limit) { limit_bytes_.store(limit, std::memory_order_relaxed); }
  uint64_t limit_bytes() const { return limit_bytes_.load(std::memory_order_relaxed); }
  // How many more chunks the limit allows.
  uint64_t ChunksUnderLimit() const;
  uint64_t HandleAt(uint64_t address) { return chunks_[space_->PageAt(address)].handle; }
  uint64_t committed_bytes() const { return committed_.load(std::memory_order_relaxed); }
  uint64_t chunks() const { return chunks_.count(); }

 private:
  struct Chunk {
    uint64_t handle;
    uint64_t address;  // 0: mapped nowhere
    uint32_t next;     // of those that are mapped nowhere
    uint32_t unused;
  };
  static constexpr uint32_t kMaxChunks = uint32_t{1} << 24;

  void PutIdle(uint32_t chunk);
  DriverResult UnmapChunk(uint64_t address, uint32_t chunk);

  const DriverTable* driver_ = nullptr;
  const PoolEvents* events_ = nullptr;
  AddressSpace* space_ = nullptr;
  Slab<Chunk> chunks_;
  uint32_t idle_head_ = 0;
  uint64_t idle_chunks_ = 0;
  std::atomic<uint64_t> limit_bytes_{0};
  std::atomic<uint64_t> committed_{0};
  std::atomic<uint64_t> reserved_{0};
  std::atomic<uint64_t> peak_reserved_{0};
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_CHUNK_STORE_H_
