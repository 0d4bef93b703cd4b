// QuietExchange: quiet memory that is copied to the host, or back, before it is needed there.
//
// Idea: memory that nobody writes for a while (quiet_blocks.h) is copied beside the program's work.
// When the device is full, what was copied out is exchanged at once; when the quiet time ends, what
// was copied back is. So work stops for the exchange alone, not for the copies. A page that was
// touched, freed or moved meanwhile is not exchanged.
//
// Ownership: its transfers, which lie in memory of their own, until Close. Threads: the device's
// lock. Errors: what does not move is as before. Units: pages are chunks.
#ifndef VRAMSTOW_ALLOCATOR_OFFLOAD_QUIET_EXCHANGE_H_
#define VRAMSTOW_ALLOCATOR_OFFLOAD_QUIET_EXCHANGE_H_

#include <cstdint>

#include "allocator/core/device_lock.h"
#include "allocator/offload/page_list.h"
#include "allocator/offload/quiet_blocks.h"
#include "allocator/offload/transfer.h"
#include "allocator/pool/pool_pages.h"

namespace vramstow {

class QuietExchange {
 public:
  // The list is the caller's and is filled anew by most calls.
  void Open(PoolPages* pool, Mover* mover, PageList* list);
  void Close(bool alive) VRAMSTOW_REQUIRES(kDeviceLock);

  // These blocks are quiet. A page that is touched at this number of the clock, or later, is not
  // quiet any more. Nothing is under way afterwards.
  void Set(const QuietRange* ranges, uint64_t count, uint32_t clock) VRAMSTOW_REQUIRES(kDeviceLock);
  void Clear() VRAMSTOW_REQUIRES(kDeviceLock);
  bool empty() const VRAMSTOW_REQUIRES(kDeviceLock) { return blocks_.empty(); }

  // Ranks quiet pages as QuietBlocks::kQuiet.
  OffloadPolicy known() { return blocks_.Known(); }

  // Lists the quiet pages that are resident, or on the host. Returns how many.
  uint64_t List(PagesThatAre which) VRAMSTOW_REQUIRES(kDeviceLock);
  // Begins to copy up to `most` of the quiet pages that are so to the other side, for which there
  // are idle chunks and that are not under way. Returns how many. Nothing is on its way the other
  // way.
  uint64_t Begin(PagesThatAre which, uint64_t most) VRAMSTOW_REQUIRES(kDeviceLock);
  // The pages that are being copied; kPaused means none.
  PagesThatAre under_way() const { return under_way_; }
  // Exchanges what was copied and is still right, up to `most` pages, and calls moved(pages, count)
  // for each group. No work runs. Returns how many pages moved. Nothing is under way afterwards.
  template <typename Moved>
  uint64_t Finish(uint64_t most, Moved moved, DriverResult* result) VRAMSTOW_REQUIRES(kDeviceLock) {
    List(under_way_);
    list_->SortByAddress(list_->count());
    uint64_t all = 0;
    *result = kDriverSuccess;
    for (uint32_t i = 0; i < used_; ++i) {
      uint64_t pages[Transfer::kMostPages];
      DriverResult one = kDriverSuccess;
      const uint32_t count = transfers_[i].Finish(
          [&](uint64_t page) {
            kDeviceLock.AssertHeld();
            if (most == 0 || !list_->HasAddress(page)) return false;
            --most;
            return true;
          },
          pages, &one);
      if (count != 0) moved(pages, count);
      all += count;
      if (*result == kDriverSuccess) *result = one;
    }
    used_ = 0;
    under_way_ = PagesThatAre::kPaused;
    return all;
  }
  // Gives all of it up; the copies are waited for.
  void Cancel() VRAMSTOW_REQUIRES(kDeviceLock);

 private:
  static constexpr uint32_t kMostTransfers = 128;

  static void WaitForCopies(void* self, uint64_t address, uint64_t bytes);
  bool EnsureTransfers() VRAMSTOW_REQUIRES(kDeviceLock);

  PoolPages* pool_ = nullptr;
  Mover* mover_ = nullptr;
  PageList* list_ = nullptr;
  QuietBlocks blocks_;
  uint32_t clock_ = 0;
  PagesThatAre under_way_ = PagesThatAre::kPaused;
  Transfer* transfers_ = nullptr;
  uint32_t used_ = 0;
  uint64_t last_begun_ = 0;  // the address of the last page that is under way
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_QUIET_EXCHANGE_H_
