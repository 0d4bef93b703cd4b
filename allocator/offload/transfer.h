// Transfer: pages that are copied to host memory while work runs, to be parked later.
//
// Idea: copies that no thread waits for fill chunks of host memory that have an address of their
// own. When memory is needed, the thread waits for the copies, and the pages are parked with these
// chunks. The caller must know whether a copy still equals the contents of its page.
//
// Ownership: the fresh chunks, from Begin until Park or Cancel returns. Threads: the device's lock.
// Errors: DriverResult; a page that was not parked is as before. Units: bytes; pages are chunks.
#ifndef VRAMSTOW_ALLOCATOR_OFFLOAD_TRANSFER_H_
#define VRAMSTOW_ALLOCATOR_OFFLOAD_TRANSFER_H_

#include <cstdint>
#include <utility>

#include "allocator/core/device_lock.h"
#include "allocator/offload/mover.h"

namespace vramstow {

class Transfer {
 public:
  static constexpr uint32_t kMaxPages = Mover::kMaxPages;

  void Open(const DriverTable* driver, ChunkExchange* chunks, Mover* mover);
  // Cancels the copies. `alive` is true if the driver can still be called.
  void Close(bool alive) VRAMSTOW_REQUIRES(kDeviceLock);

  uint32_t count() const { return count_; }  // 0 if no copy is in progress
  uint64_t page(uint32_t number) const { return pages_[number]; }

  // Notes that copies of pages in [address, address + bytes) are out of date, so these pages will
  // not be parked.
  void Forget(uint64_t address, uint64_t bytes) VRAMSTOW_REQUIRES(kDeviceLock);
  // True if a page of [address, address + bytes) is being copied.
  bool Has(uint64_t address, uint64_t bytes) const;
  // Waits until the copies are done; their pages can still be parked.
  void Wait() VRAMSTOW_REQUIRES(kDeviceLock);

  // Begins to copy the sorted pages after all submitted work: at most kMaxPages, and at most as
  // many as there are idle chunks. No copy is in progress before this call, and none is after an
  // error.
  //
  // If `previous` is not null, the copies wait only for the copies of the transfer `previous`. Work
  // that was submitted after the copies of `previous` must not use the pages; if it does, the pages
  // must not be parked.
  DriverResult Begin(const uint64_t* pages, uint32_t count, const Transfer* previous)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // Waits for the copies and parks the pages for which keeps(address) is true. Stores the parked
  // pages in `parked` and returns their number. The transfer is empty afterwards.
  template <typename Keeps>
  uint32_t Park(Keeps keeps, uint64_t* parked, DriverResult* result)
      VRAMSTOW_REQUIRES(kDeviceLock) {
    Wait();
    *result = count_ == 0 ? kDriverSuccess : copied_;
    uint32_t left = 0;
    for (uint32_t i = 0; i < count_; ++i) {
      if (*result != kDriverSuccess || is_forgotten_[i] || !keeps(pages_[i])) continue;
      std::swap(pages_[left], pages_[i]);
      std::swap(fresh_[left++], fresh_[i]);
    }
    return Park(left, parked, result);
  }
  // Returns the fresh chunks to the store once the copies are done.
  void Cancel() VRAMSTOW_REQUIRES(kDeviceLock);

 private:
  DriverResult Start(const DriverCopy* copies, uint32_t count, const Transfer* previous)
      VRAMSTOW_REQUIRES(kDeviceLock);
  uint32_t Park(uint32_t count, uint64_t* parked, DriverResult* result)
      VRAMSTOW_REQUIRES(kDeviceLock);

  const DriverTable* driver_ = nullptr;
  Mover* mover_ = nullptr;
  ChunkExchange* chunks_ = nullptr;
  uint32_t count_ = 0;
  uint64_t job_ = 0;
  bool is_done_ = true;  // the copies were waited for
  DriverResult copied_ = kDriverSuccess;
  uint64_t page_bytes_ = 0;
  uint64_t pages_[kMaxPages] = {};
  uint32_t fresh_[kMaxPages] = {};
  bool is_forgotten_[kMaxPages] = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_TRANSFER_H_
