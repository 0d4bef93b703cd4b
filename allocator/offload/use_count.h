// UseCount: which pages on the host work uses again and again, and which pages on the device rest.
//
// Idea: the uses of all pages are counted from one moment on. A page on the host that was used
// often since then is exchanged with a page on the device that was not used in the same time. In a
// loop over all memory each page is used as often as any other, so nothing is exchanged: when a
// page was used often, all others were used, too. If two models are used in turn, or a part of the
// memory rests for a while, the exchange is soon cheaper than reading on the host. It happens only
// after kOften reads of a page and costs two copies, so it at most doubles the transfers.
//
// Ownership: pool and list belong to the caller. Threads: the device's lock. Errors: none. Units:
// pages; the clock counts sixteen submissions of work as one.
#ifndef VRAMSTOW_ALLOCATOR_OFFLOAD_USE_COUNT_H_
#define VRAMSTOW_ALLOCATOR_OFFLOAD_USE_COUNT_H_

#include <cstdint>

#include "allocator/core/device_lock.h"
#include "allocator/offload/page_list.h"
#include "allocator/pool/pool_pages.h"

namespace vramstow {

class UseCount {
 public:
  // How often a page must be used on the host before it is exchanged.
  static constexpr uint64_t kOften = 4;

  void Open(PoolPages* pool, PageList* pages) { *this = {pool, pages}; }
  // Called regularly: a page that was not used between two calls is not in use any more.
  void Look(uint32_t clock) VRAMSTOW_REQUIRES(kDeviceLock);
  // Lists up to `most` resident pages that rest, as many as there are offloaded pages that are used
  // often; those that were not used for the longest time are the first. Returns how many.
  uint64_t ListResting(uint64_t most, uint32_t clock) VRAMSTOW_REQUIRES(kDeviceLock);
  // Lists up to `most` offloaded pages that are used often. Returns how many.
  uint64_t ListOftenUsed(uint64_t most, uint32_t clock) VRAMSTOW_REQUIRES(kDeviceLock);

  UseCount() = default;

 private:
  UseCount(PoolPages* pool, PageList* pages) : pool_(pool), pages_(pages) {}
  void Restart(uint32_t clock);

  PoolPages* pool_ = nullptr;
  PageList* pages_ = nullptr;
  uint32_t from_clock_ = 0;  // when the count began
  uint32_t last_look_clock_ = 0;
  uint32_t look_before_clock_ = 0;  // the call of Look before the last one
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_USE_COUNT_H_
