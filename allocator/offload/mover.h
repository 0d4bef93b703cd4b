// Mover: exchanges the memory under mapped pages, device for host or host for device, and keeps
// what is in them.
//
// Idea: the new chunks are mapped in a window of addresses, filled by copies, and unmapped; then,
// for each run of neighbours, the old chunks are unmapped and the new ones mapped at the same
// addresses. Access is given to the window and to a run at once, because the driver takes its time
// for each call. Until the exchange a failure leaves everything as it was; in it, the old chunks,
// which still have the data, go back. States of a page: resident, leaving, offloaded, returning;
// the mover is the only one that sees a page leave or return. A paused page has no memory: what it
// held lies in pinned memory, or was given up. It returns without a window, because nobody may
// touch it: the new chunk is mapped at its address and filled there, many pages at a time, and
// while they are filled the next ones are mapped (Return).
//
// Ownership: its window, until Close; chunks stay the store's. Threads: the device's lock; but for
// a return with the submission gate closed and all work that was submitted done. Errors: how many
// pages moved; the rest is as before. A page that can be mapped neither with the new nor with the
// old chunk is *lost* for the moment: its chunk is kept, Restore tries again. Units: bytes; pages
// are chunks. All pages of a large chunk move together, and single chunks take their places: the
// caller gives them all.
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

  // How many of the sorted pages follow one another from the first on; `count` is not 0.
  static uint32_t RunOf(const uint64_t* pages, uint32_t count, uint64_t page_bytes) {
    uint32_t run = 1;
    while (run < count && pages[run] == pages[0] + run * page_bytes) ++run;
    return run;
  }

  void Open(const DriverTable* driver, const PoolEvents* events, ChunkExchange* chunks);
  // `alive`: the driver can still be called.
  void Close(bool alive) VRAMSTOW_REQUIRES(kDeviceLock);

  // Moves up to kMaxPages pages, for each of which the store has an idle chunk of the other kind;
  // those that moved come first in `pages` afterwards. Returns how many; *result is the first
  // error.
  uint32_t Move(uint64_t* pages, uint32_t count, ChunkMemory to, DriverResult* result)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // Whether an idle chunk of host memory, of which the store has one, can be mapped, reached by the
  // device and copied to. Nothing is different afterwards.
  DriverResult Try() VRAMSTOW_REQUIRES(kDeviceLock);

  // Paused pages on their way back. Of three steps the first can be done while another return
  // copies; Begin and End come one after the other.
  struct Return {
    uint64_t pages[kMaxPages];
    uint32_t fresh[kMaxPages];  // what is mapped at them
    uint32_t count = 0;
    uint64_t job = 0;  // the copies under way
    bool copies = false;
    bool is_after_work = false;  // the chunks may still be in use by work that was submitted
    bool is_ordered = false;     // work that is submitted from now on waits for the copies
  };
  // Maps chunks, which the store has, under the first pages of `coming`, as many as it can; the
  // rest, and all that fails later, stays paused.
  DriverResult Lay(Return* coming) VRAMSTOW_REQUIRES(kDeviceLock);
  // Begins to copy what they held.
  DriverResult Begin(Return* coming) VRAMSTOW_REQUIRES(kDeviceLock);
  // Makes work that is submitted from now on wait for the copies. False: it does not.
  bool Order(Return* coming) VRAMSTOW_REQUIRES(kDeviceLock);
  // Whether End would not wait.
  bool IsDone(const Return& coming) const;
  // Waits for that; then, if it has no error, the pages are there. Returns how many. None is
  // coming afterwards.
  uint32_t End(Return* coming, DriverResult* result) VRAMSTOW_REQUIRES(kDeviceLock);

  // For who fills chunks by himself (Transfer, PauseSlices). As many chunks of this kind as there
  // are; and back to the store with those that were not used.
  uint32_t TakeChunks(ChunkMemory kind, uint32_t* fresh, uint32_t count)
      VRAMSTOW_REQUIRES(kDeviceLock);
  void PutBack(const uint32_t* fresh, uint32_t from, uint32_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  // Pauses the sorted pages run by run (ChunkExchange::Pause); `kept` has chunks with their data.
  // Returns how many of the first pages are paused.
  uint32_t Pause(const uint64_t* pages, const uint32_t* kept, uint32_t count, DriverResult* result)
      VRAMSTOW_REQUIRES(kDeviceLock);

  // Tries to map what is lost once more. True: nothing is lost (any more).
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
  uint64_t lost_[kMaxPages] = {};  // addresses of pages
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_MOVER_H_
