// MoveRecord: counts the bytes that moved, and records the moves in the trace.
//
// Ownership: a value. Threads: Emit under the device's lock; the numbers may be read from any
// thread. Errors: none. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_ALLOCATOR_OFFLOAD_MOVE_RECORD_H_
#define VRAMSTOW_ALLOCATOR_OFFLOAD_MOVE_RECORD_H_

#include <atomic>
#include <cstdint>

#include "allocator/core/counter.h"
#include "allocator/offload/mover.h"
#include "allocator/pool/pool_pages.h"

namespace vramstow {

struct MoveRecord {
  std::atomic<uint64_t> out_bytes{0};
  std::atomic<uint64_t> in_bytes{0};
  std::atomic<uint64_t> refused{0};             // moves: the gate or work did not stop in time
  std::atomic<uint64_t> refused_in_capture{0};  // moves: a stream was being captured
  std::atomic<uint64_t> failed{0};              // moves in which a driver call failed

  // Counts a refused move. Returns true if a stream is being captured, which is the reason then.
  bool NoteRefusal(const PoolPages& pool) {
    const bool is_capturing = pool.fences().capturing();
    Bump(is_capturing ? &refused_in_capture : &refused, 1);
    return is_capturing;
  }

  // Records one event for each run of neighbouring pages. The first event carries the time for
  // which the submission gate was closed.
  static void Emit(const PoolPages& pool, EventKind kind, const uint64_t* pages, uint32_t count,
                   OffloadReason reason, uint64_t gate_ns) {
    const uint64_t size = pool.page_bytes();
    for (uint32_t i = 0; i < count;) {
      const uint32_t run = Mover::RunOf(pages + i, count - i, size);
      pool.events().Moved(kind, pages[i], run * size, i == 0 ? gate_ns : 0,
                          static_cast<uint64_t>(reason));
      i += run;
    }
  }
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_MOVE_RECORD_H_
