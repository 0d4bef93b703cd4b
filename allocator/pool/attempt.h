// AllocationAttempt: the state of an allocation that cached memory could not serve. The allocation
// goes through the steps of the pressure ladder (PressureLadder), each of which tries to free
// memory.
//
// Ownership: none. Threads: one; `heap` may be used under its lock. Errors: `result`. Units: bytes;
// chunks; nanoseconds.
#ifndef VRAMSTOW_ALLOCATOR_POOL_ATTEMPT_H_
#define VRAMSTOW_ALLOCATOR_POOL_ATTEMPT_H_

#include <cstdint>

#include "allocator/core/relaxed_capture.h"
#include "allocator/pool/report.h"
#include "allocator/pool/stream_heap.h"
#include "allocator/pool/types.h"

namespace vramstow {

struct AllocationAttempt {
  BlockRequest request;
  uint64_t size = 0;  // rounded
  StreamHeap* heap = nullptr;
  HeapKey key{};       // the key that `heap` had when it was found
  uint32_t index = 0;  // the block, once there is one
  Served served = Served::kUnknown;
  uint64_t lacking = 0;     // chunks
  uint64_t made = 0;        // chunks
  bool last = false;        // memory of every stream is used, however recently freed
  bool again = false;       // the last step may free more memory if repeated
  bool final = false;       // nothing else can be tried; a failure is reported
  bool no_records = false;  // a table is full, or there are no more addresses: memory may be free
  OutOfMemoryReport::Tried tried[kLadderSteps] = {};
  DriverResult result = kDriverSuccess;
  RelaxedCapture* relaxed = nullptr;

  // Records that a step of the pressure ladder was tried, and how many bytes it freed.
  void Note(LadderStep step, uint64_t bytes, uint64_t duration_ns) {
    OutOfMemoryReport::Tried& entry = tried[static_cast<int>(step)];
    ++entry.times;
    entry.bytes += bytes;
    entry.duration_ns += duration_ns;
  }
  // Tries to serve the request from the heap's cached memory. Returns true if it succeeds; `index`
  // is then the number of the block.
  bool Take(Served how) VRAMSTOW_REQUIRES(heap->mutex) {
    index = heap->Take(size);
    served = how;
    return index != 0;
  }
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_ATTEMPT_H_
