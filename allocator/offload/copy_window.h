// CopyWindow: addresses at which chunks are mapped while copies fill them.
//
// Idea: a chunk that is to take the place of a page is filled before that, at an address of its
// own. Access is given, and mappings are removed, for all of them at once, because a driver takes
// its time for each call.
//
// Ownership: the addresses, until Close; chunks stay the caller's. Threads: the device's lock.
// Errors: DriverResult. A chunk that cannot be unmapped stays in the window and is no chunk of the
// caller's any more; Free tries again. Units: bytes.
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
  // `alive`: the driver can still be called.
  void Close(bool alive) VRAMSTOW_REQUIRES(kDeviceLock);

  // Makes chunks of one kind reachable: those without an address of their own are mapped in the
  // window, at the place of their number. Empty takes away what is mapped, whatever the result.
  DriverResult Map(const uint32_t* fresh, uint32_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  // Where copies reach a chunk after Map.
  uint64_t AddressOf(uint32_t number, uint32_t chunk) const {
    const uint64_t own = chunks_->OwnAddress(chunk);
    return own != 0 ? own : PlaceOf(number);
  }
  // Removes what Map has mapped; `fresh` is 0 afterwards where that failed.
  DriverResult Empty(uint32_t* fresh, uint32_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  // Tries to unmap what is stuck once more. True: nothing is.
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
  uint32_t stuck_[kPlaces] = {};  // chunks that could not be unmapped, by place
  bool placed_[kPlaces] = {};     // while the window is filled
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_COPY_WINDOW_H_
