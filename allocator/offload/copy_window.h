// CopyWindow: addresses at which chunks are mapped while copies fill them.
//
// Idea: before a chunk replaces the chunk of a page, it is mapped at an address in the window and
// filled. Access is given to all chunks at once, and all mappings are removed at once, because each
// driver call takes time.
//
// Ownership: the addresses, until Close; chunks stay the caller's. Threads: the device's lock.
// Errors: DriverResult. A chunk that cannot be unmapped stays in the window and no longer belongs
// to the caller; Free tries again. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_OFFLOAD_COPY_WINDOW_H_
#define VRAMSTOW_ALLOCATOR_OFFLOAD_COPY_WINDOW_H_

#include <cstdint>

#include "allocator/core/device_lock.h"
#include "allocator/core/driver.h"
#include "allocator/core/events.h"
#include "allocator/physical/chunk_exchange.h"

namespace vramstow {

class CopyWindow {
 public:
  static constexpr uint32_t kPlaces = 128;

  void Open(const DriverTable* driver, const PoolEvents* events, ChunkExchange* chunks);
  // Releases the addresses. `alive` is true if the driver can still be called.
  void Close(bool alive) VRAMSTOW_REQUIRES(kDeviceLock);

  // Makes chunks of one kind accessible to copies. A chunk without an address of its own is mapped
  // in the window, at the position of its index in `fresh`. Whatever the result is, call Empty to
  // remove the mappings.
  DriverResult Map(const uint32_t* fresh, uint32_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  // Returns the address at which copies access a chunk after Map.
  uint64_t AddressOf(uint32_t number, uint32_t chunk) const {
    const uint64_t own = chunks_->OwnAddress(chunk);
    return own != 0 ? own : PlaceOf(number);
  }
  // Removes the mappings of Map. A chunk that cannot be unmapped becomes 0 in `fresh`.
  DriverResult Empty(uint32_t* fresh, uint32_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  // Tries again to unmap the stuck chunks. Returns true if none is left.
  bool Free() VRAMSTOW_REQUIRES(kDeviceLock);

 private:
  uint64_t PlaceOf(uint32_t number) const { return window_ + number * chunks_->chunk_bytes(); }
  DriverResult Reserve() VRAMSTOW_REQUIRES(kDeviceLock);
  uint32_t RunFrom(uint32_t place, uint32_t count) const;
  DriverResult EmptyRun(uint32_t place, uint32_t run, uint32_t* fresh)
      VRAMSTOW_REQUIRES(kDeviceLock);
  void Keep(uint32_t place, uint32_t* chunk) VRAMSTOW_REQUIRES(kDeviceLock);
  void Release(uint32_t place) VRAMSTOW_REQUIRES(kDeviceLock);

  const DriverTable* driver_ = nullptr;
  const PoolEvents* events_ = nullptr;
  ChunkExchange* chunks_ = nullptr;
  uint64_t window_ = 0;
  uint32_t stuck_[kPlaces] = {};  // chunks that could not be unmapped, by position
  bool placed_[kPlaces] = {};     // positions that are mapped
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_COPY_WINDOW_H_
