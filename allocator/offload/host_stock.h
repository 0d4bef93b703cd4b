// HostStock: the host memory that an offloader has for what leaves the device: what it takes, and
// when it gives it back.
//
// Idea: two kinds. Chunks that can be mapped, for memory that stays in use, and page-locked blocks
// (HostArena) for what is paused. Both are kept after the memory came back, because making them is
// slow, and go back to the host when somebody asks for it or when nothing was moved for long. Each
// kind makes room for the other where the limits allow no more.
//
// Ownership: the page-locked blocks; chunks are the store's. Threads: the device's lock, but for
// Release, which takes it for short times only and frees locked memory without it, and the numbers.
// Errors: there are fewer than were asked for. Units: bytes, nanoseconds, chunks.
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
  // The most host memory that is held; 0: none, nothing moves.
  uint64_t host_bytes = 0;
  // The free memory of the host now (null: nobody knows). The stock takes no more of it where that
  // leaves less than `keep_host_free_bytes`.
  uint64_t (*host_free_bytes)() = nullptr;
  uint64_t keep_host_free_bytes = 256 * kMiB;
  // The most chunks of host memory that can be mapped: each may take a mapping of the process, of
  // which the system allows a limited number. 0: as many as there is memory for.
  uint64_t host_mappings = 0;
  // Empty memory goes back once nothing was moved for this long (Decay); 0: never.
  uint64_t decay_ns = 0;
};

class HostStock {
 public:
  HostStock() = default;
  HostStock(const HostStock&) = delete;
  HostStock& operator=(const HostStock&) = delete;

  void Open(PoolPages* pool, const HostLimits& limits);
  // `alive`: the driver can still be called.
  void Close(bool alive) VRAMSTOW_REQUIRES(kDeviceLock);
  // Whether any may be taken.
  bool any() const { return limits_.host_bytes != 0; }

  // Puts `count` idle chunks into the store, as far as the limits allow it; gives how many.
  uint64_t EnsureMapped(uint64_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  // The same for page-locked ones; `coming` of them are taken at once.
  uint64_t EnsurePinned(uint64_t count, uint64_t coming) VRAMSTOW_REQUIRES(kDeviceLock);
  // Memory moved just now, out or back.
  void NoteMove() VRAMSTOW_REQUIRES(kDeviceLock) { last_move_ns_ = pool_->Now(); }

  // Gives back what holds nothing, if nothing was moved for the last `unused_ns`: chunks, and whole
  // page-locked blocks. Nothing while a stream is captured. Returns how many bytes the host has
  // back.
  uint64_t Release(uint64_t unused_ns);
  uint64_t Decay() { return limits_.decay_ns == 0 ? 0 : Release(limits_.decay_ns); }

  uint64_t released_bytes() const { return released_.load(std::memory_order_relaxed); }
  // Whether more would have been mapped, were host_mappings larger.
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
