// PauseSlices: pauses pages, slice by slice: it copies their contents to the host and removes their
// device memory.
//
// Idea: the contents of a slice are copied to pinned chunks, then its pages are unmapped, one run
// of neighbours at a time. During the copy, the chunks of earlier slices are released. Trim
// releases the rest.
//
// Ownership: none; chunks belong to the store. Threads: the device's lock, except for Trim. Errors:
// DriverResult; a page that was not paused is as before. Units: bytes; pages are chunks.
#ifndef VRAMSTOW_ALLOCATOR_OFFLOAD_PAUSE_SLICES_H_
#define VRAMSTOW_ALLOCATOR_OFFLOAD_PAUSE_SLICES_H_

#include <atomic>
#include <cstdint>

#include "allocator/core/device_lock.h"
#include "allocator/offload/mover.h"
#include "allocator/pool/pool_pages.h"

namespace vramstow {

class PauseSlices {
 public:
  void Open(PoolPages* pool, Mover* mover);

  // Begins a request that consists of several slices.
  void Begin() VRAMSTOW_REQUIRES(kDeviceLock) { unreleased_ = 0; }
  // Pauses up to Mover::kMaxPages sorted pages. With `keep` their contents go to pinned chunks.
  // Returns the number of pages. *result is the first error.
  uint32_t Pause(const uint64_t* pages, uint32_t count, bool keep, DriverResult* result)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // Releases the remaining chunks of a request. It is called without the device's lock.
  void Trim(uint64_t bytes);

 private:
  DriverResult BeginCopies(const uint64_t* pages, const uint32_t* pinned, uint32_t count,
                           uint64_t* job) VRAMSTOW_REQUIRES(kDeviceLock);
  void ReleaseEarlier() VRAMSTOW_REQUIRES(kDeviceLock);

  PoolPages* pool_ = nullptr;
  Mover* mover_ = nullptr;
  uint64_t unreleased_ = 0;            // chunks of the request's earlier slices
  std::atomic<uint64_t> released_{0};  // chunks that Trim must count
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_PAUSE_SLICES_H_
