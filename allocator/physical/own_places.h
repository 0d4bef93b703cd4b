// OwnPlaces: addresses at which chunks of host memory stay mapped, whatever page they are used at.
//
// Idea: copies reach a chunk at its own address, so that it need not be mapped for each copy: to
// give access to memory of the host takes a driver half as long as the copy (docs/card.md).
//
// Ownership: ranges of addresses, until Close; the mappings are the caller's. Threads: the device's
// lock. Errors: 0: there is no place. Units: bytes.
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
  // Nothing is mapped any more. `alive`: the driver can still be called.
  void Close(bool alive) VRAMSTOW_REQUIRES(kDeviceLock);

  // An address that is nobody's; and back.
  uint64_t Take() VRAMSTOW_REQUIRES(kDeviceLock);
  void Give(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);

 private:
  static constexpr uint32_t kPlaces = 512;  // of a range: a GiB
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
