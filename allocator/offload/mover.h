// Mover: exchanges the memory under mapped pages, device for host or host for device, and preserves
// their contents.
//
// Idea: the new chunks are mapped in a window of addresses, filled by copies, and unmapped. Then,
// for each run of neighbours, the old chunks are unmapped and the new ones mapped at the same
// addresses. Access is given to the window and to a whole run at once, because each driver call
// takes time. A failure before the exchange leaves everything as it was. After a failure in the
// exchange, the old chunks, which still have the data, are mapped again. The states of a page are
// resident, leaving, offloaded and returning; only the mover sees a page that is leaving or
// returning. A paused page has no memory: its contents are in pinned memory, or were discarded. No
// window is needed to restore it, because nothing may touch it: the new chunk is mapped at the
// page's address and filled there. Many pages are filled at a time, and meanwhile the next ones are
// mapped (Return).
//
// Ownership: its window, until Close; chunks belong to the store. Threads: the device's lock;
// except for a return, the submission gate is closed and all submitted work has finished. Errors:
// the result is how many pages moved; the rest is as before. If a page can be mapped neither with
// the new nor with the old chunk, it is *lost* for the moment: its chunk is retained, and Restore
// tries again. Units: bytes; pages are chunks. All pages of a large chunk move together, and single
// chunks replace it: the caller passes all of them.
#ifndef VRAMSTOW_ALLOCATOR_OFFLOAD_MOVER_H_
#define VRAMSTOW_ALLOCATOR_OFFLOAD_MOVER_H_

#include <cstdint>

#include "allocator/core/device_lock.h"

#include "allocator/core/driver.h"
#include "allocator/core/events.h"
#include "allocator/offload/copy_window.h"
#include "allocator/physical/chunk_exchange.h"

namespace vramstow {

class Mover {
 public:
  static constexpr uint32_t kMaxPages = CopyWindow::kPlaces;

  // Returns how many of the sorted pages, counted from the first one, are neighbours. `count` is
  // not 0.
  static uint32_t RunOf(const uint64_t* pages, uint32_t count, uint64_t page_bytes) {
    uint32_t run = 1;
    while (run < count && pages[run] == pages[0] + run * page_bytes) ++run;
    return run;
  }

  void Open(const DriverTable* driver, const PoolEvents* events, ChunkExchange* chunks);
  // Releases the window. `alive` is true if the driver can still be called.
  void Close(bool alive) VRAMSTOW_REQUIRES(kDeviceLock);

  // Moves up to kMaxPages pages, for each of which the store has an idle chunk of the other kind.
  // Returns how many moved, which are the first ones in `pages` afterwards; *result is the first
  // error.
  uint32_t Move(uint64_t* pages, uint32_t count, ChunkMemory to, DriverResult* result)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // Tests whether host memory can be mapped, accessed by the device and copied to, with an idle
  // chunk of the store. Undoes the test afterwards.
  DriverResult Try() VRAMSTOW_REQUIRES(kDeviceLock);

  // Paused pages that are being restored. Lay, the first of the three steps, may run while another
  // return copies; Begin and End follow in this order.
  struct Return {
    uint64_t pages[kMaxPages];
    uint32_t fresh[kMaxPages];  // chunks that are mapped at the pages
    uint32_t count = 0;
    uint64_t job = 0;  // the job of the copies
    bool copies = false;
    bool is_after_work = false;  // submitted work may still use the chunks
    bool is_ordered = false;     // later work waits for the copies
  };
  // Maps idle chunks of the store at the first pages of `coming`, as many as possible. All other
  // pages stay paused, and so do pages for which a later step fails.
  DriverResult Lay(Return* coming) VRAMSTOW_REQUIRES(kDeviceLock);
  // Starts to copy the contents of the pages.
  DriverResult Begin(Return* coming) VRAMSTOW_REQUIRES(kDeviceLock);
  // Makes work that is submitted from now on wait for the copies. Returns false if that work does
  // not wait.
  bool Order(Return* coming) VRAMSTOW_REQUIRES(kDeviceLock);
  // True if End would not wait.
  bool IsDone(const Return& coming) const;
  // Waits for the copies; if there was no error, the pages are then in use again. Returns how many
  // pages are. `coming` is empty afterwards.
  uint32_t End(Return* coming, DriverResult* result) VRAMSTOW_REQUIRES(kDeviceLock);

  // For callers that fill chunks themselves (Transfer, PauseSlices): DetachChunks takes up to
  // `count` chunks of this kind out of the store, and PutBack returns the unused ones.
  uint32_t DetachChunks(ChunkMemory kind, uint32_t* fresh, uint32_t count)
      VRAMSTOW_REQUIRES(kDeviceLock);
  void PutBack(const uint32_t* fresh, uint32_t from, uint32_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  // Removes the memory of the sorted pages, one run of neighbours at a time (ChunkExchange::Pause);
  // `kept` has the chunks with their data. Returns how many of the first pages are paused.
  uint32_t Pause(const uint64_t* pages, const uint32_t* kept, uint32_t count, DriverResult* result)
      VRAMSTOW_REQUIRES(kDeviceLock);

  // Tries again to map the lost pages (pages that could be mapped neither with the new nor with the
  // old chunk). Returns true if none is lost.
  bool Restore() VRAMSTOW_REQUIRES(kDeviceLock);

 private:
  uint32_t Exchange(const uint64_t* pages, uint32_t* fresh, uint32_t count, DriverResult* result)
      VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult Fill(const uint64_t* pages, uint32_t* fresh, uint32_t count)
      VRAMSTOW_REQUIRES(kDeviceLock);
  DriverResult Copy(const DriverCopy* copies, uint32_t count);
  DriverResult GiveAccess(const Return& coming) VRAMSTOW_REQUIRES(kDeviceLock);
  void Drop(Return* coming) VRAMSTOW_REQUIRES(kDeviceLock);

  const DriverTable* driver_ = nullptr;
  ChunkExchange* chunks_ = nullptr;
  CopyWindow window_;
  uint32_t lost_count_ = 0;
  uint64_t lost_[kMaxPages] = {};  // addresses of lost pages
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_MOVER_H_
