// OwnPlaces: addresses at which chunks of host memory stay mapped, no matter at which pages they
// are used.
//
// Idea: copies access a chunk at its own address, so the chunk need not be mapped for each copy.
// Giving access to host memory takes a driver half as long as the copy itself (docs/card.md).
//
// Ownership: the ranges of addresses, until Close; the mappings belong to the caller. Threads: the
// device's lock. Errors: returns 0 if no address is left. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_PHYSICAL_OWN_PLACES_H_
#define VRAMSTOW_ALLOCATOR_PHYSICAL_OWN_PLACES_H_

#include <cstdint>

#include "allocator/core/device_lock.h"
#include "allocator/core/driver.h"
#include "allocator/core/events.h"

namespace vramstow {

class OwnPlaces {
 public:
  void Open(const DriverTable* driver, const PoolEvents* events, uint64_t chunk_bytes);
  // Releases the ranges, in which nothing is mapped any more. `alive` is true if the driver can
  // still be called.
  void Close(bool alive) VRAMSTOW_REQUIRES(kDeviceLock);

  // Take returns an unused address; Give makes the address unused again.
  uint64_t Take() VRAMSTOW_REQUIRES(kDeviceLock);
  void Give(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);

 private:
  static constexpr uint32_t kPlaces = 512;  // addresses in a range of 1 GiB
  static constexpr uint32_t kMaxRanges = 512;
  struct Range {
    uint64_t address;
    uint32_t used;
    bool taken[kPlaces];
  };

  bool Grow() VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t RangeBytes() const { return kPlaces * chunk_bytes_; }

  const DriverTable* driver_ = nullptr;
  const PoolEvents* events_ = nullptr;
  uint64_t chunk_bytes_ = 0;
  Range* ranges_ = nullptr;  // kMaxRanges
  uint32_t count_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_PHYSICAL_OWN_PLACES_H_
