// Transfer: pages that are copied into fresh chunks while work runs, to be exchanged later.
//
// Idea: the fresh chunks are mapped in a window of their own and filled by copies that nobody waits
// for. When the copies are needed, they are waited for, and the fresh chunks take the place of the
// pages' own. Whether a copy is still what its page holds, the caller must know.
//
// Ownership: the fresh chunks, from Begin to the end of Finish or Cancel; the window, until Close.
// Threads: the device's lock. Errors: DriverResult; a page that did not move is as before. Units:
// bytes; pages are chunks.
#ifndef VRAMSTOW_ALLOCATOR_OFFLOAD_TRANSFER_H_
#define VRAMSTOW_ALLOCATOR_OFFLOAD_TRANSFER_H_

#include <cstdint>

#include "allocator/core/device_lock.h"
#include "allocator/offload/copy_window.h"
#include "allocator/offload/mover.h"

namespace vramstow {

class Transfer {
 public:
  static constexpr uint32_t kMostPages = Mover::kMostPages;

  void Open(const DriverTable* driver, const PoolEvents* events, ChunkExchange* chunks,
            Mover* mover);
  // `alive`: the driver can still be called.
  void Close(bool alive) VRAMSTOW_REQUIRES(kDeviceLock);

  uint32_t count() const { return count_; }  // 0: nothing is under way
  uint64_t page(uint32_t number) const { return pages_[number]; }

  // Whether a page of [address, address + bytes) is under way.
  bool Has(uint64_t address, uint64_t bytes) const;
  // The copies are done afterwards; what was under way still is.
  void Wait() VRAMSTOW_REQUIRES(kDeviceLock);

  // Begins to copy the sorted pages, behind all work that was submitted: at most kMostPages, and as
  // many as there are idle chunks of this kind. Nothing is under way before, nor on an error.
  DriverResult Begin(const uint64_t* pages, uint32_t count, ChunkMemory to)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // Waits for the copies and exchanges the pages for which keeps(address) is true. No work runs.
  // Gives the pages that moved in `moved`, of which it returns the number. Nothing is under way
  // afterwards.
  template <typename Keeps>
  uint32_t Finish(Keeps keeps, uint64_t* moved, DriverResult* result)
      VRAMSTOW_REQUIRES(kDeviceLock) {
    *result = Stop();
    uint32_t left = 0;
    for (uint32_t i = 0; i < count_; ++i) {
      if (*result != kDriverSuccess || fresh_[i] == 0 || !keeps(pages_[i])) continue;
      std::swap(pages_[left], pages_[i]);
      std::swap(fresh_[left++], fresh_[i]);
    }
    return Exchange(left, moved, result);
  }
  // Gives the fresh chunks back, once the copies are done.
  void Cancel() VRAMSTOW_REQUIRES(kDeviceLock);

 private:
  DriverResult Stop() VRAMSTOW_REQUIRES(kDeviceLock);
  uint32_t Exchange(uint32_t count, uint64_t* moved, DriverResult* result)
      VRAMSTOW_REQUIRES(kDeviceLock);

  const DriverTable* driver_ = nullptr;
  Mover* mover_ = nullptr;
  CopyWindow window_;
  uint32_t count_ = 0;
  uint64_t job_ = 0;
  bool is_done_ = true;  // the copies were waited for
  DriverResult copied_ = kDriverSuccess;
  uint64_t page_bytes_ = 0;
  uint64_t pages_[kMostPages] = {};
  uint32_t fresh_[kMostPages] = {};  // at the place of its number in the window; 0: stuck there
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_TRANSFER_H_
