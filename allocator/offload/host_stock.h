// HostStock: the host memory that an offloader uses for evicted memory. The class decides how much
// to allocate, and when to release it.
//
// Idea: there are two kinds. Chunks that can be mapped serve memory that stays in use; page-locked
// blocks (HostArena) serve paused memory, which nothing may touch. Both are retained after the
// memory was restored, because allocating them is slow, and are released on request or when nothing
// was moved for a long time. If the limits allow no more, idle memory of one kind is released for
// the other.
//
// Ownership: the class owns the page-locked blocks; chunks belong to the store. Threads: the
// device's lock, except for the numbers and for Release, which takes the lock only for short times
// and frees locked memory without it. Errors: returns fewer chunks than requested. Units: bytes,
// nanoseconds, chunks.
#ifndef VRAMSTOW_ALLOCATOR_OFFLOAD_HOST_STOCK_H_
#define VRAMSTOW_ALLOCATOR_OFFLOAD_HOST_STOCK_H_

#include <atomic>
#include <cstdint>

#include "allocator/core/device_lock.h"
#include "allocator/offload/host_arena.h"
#include "allocator/pool/pool_pages.h"
#include "base/units.h"

namespace vramstow {

struct HostLimits {
  // The most host memory to hold; 0 means that nothing is offloaded.
  uint64_t host_bytes = 0;
  // Returns the free memory of the host now; null if it is unknown. The stock allocates no memory
  // that would leave less than `keep_host_free_bytes` free.
  uint64_t (*host_free_bytes)() = nullptr;
  uint64_t keep_host_free_bytes = 256 * kMiB;
  // The most chunks of host memory that can be mapped. Each may use a memory mapping of the
  // process, whose number the system limits. 0 means as many as there is memory for.
  uint64_t host_mappings = 0;
  // Idle memory is released once nothing was moved for this long (Decay); 0 means never.
  uint64_t decay_ns = 0;
};

class HostStock {
 public:
  HostStock() = default;
  HostStock(const HostStock&) = delete;
  HostStock& operator=(const HostStock&) = delete;

  void Open(PoolPages* pool, const HostLimits& limits);
  // Frees all memory. `alive` is true if the driver can still be called.
  void Close(bool alive) VRAMSTOW_REQUIRES(kDeviceLock);
  // True if any host memory may be used.
  bool any() const { return limits_.host_bytes != 0; }

  // Allocates mappable chunks until `count` of them are idle in the store, as far as the limits
  // allow it. Returns how many are idle, at most `count`.
  uint64_t EnsureMapped(uint64_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  // Does what EnsureMapped does, for page-locked chunks; `coming` is how many the caller will need
  // in all.
  uint64_t EnsurePinned(uint64_t count, uint64_t coming) VRAMSTOW_REQUIRES(kDeviceLock);
  // Notes that memory was evicted or restored just now.
  void NoteMove() VRAMSTOW_REQUIRES(kDeviceLock) { last_move_ns_ = pool_->Now(); }

  // Releases idle chunks and entirely idle page-locked blocks, if nothing was moved for the last
  // `unused_ns` and no stream is being captured. Returns how many bytes were returned to the host.
  uint64_t Release(uint64_t unused_ns);
  uint64_t Decay() { return limits_.decay_ns == 0 ? 0 : Release(limits_.decay_ns); }

  uint64_t released_bytes() const { return released_.load(std::memory_order_relaxed); }
  // True if more mappable chunks could have been made with a larger host_mappings.
  bool mappings_used_up() const { return mappings_used_up_.load(std::memory_order_relaxed); }

 private:
  bool Has(uint64_t bytes) const;
  bool MayRelease(uint64_t unused_ns) VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t Released(uint64_t bytes) VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t ReleaseMapped(uint64_t unused_ns);
  uint64_t ReleasePinned(uint64_t unused_ns);

  PoolPages* pool_ = nullptr;
  HostLimits limits_;
  HostArena arena_;
  uint64_t last_move_ns_ = 0;
  std::atomic<uint64_t> released_{0};
  std::atomic<bool> mappings_used_up_{false};
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_HOST_STOCK_H_
