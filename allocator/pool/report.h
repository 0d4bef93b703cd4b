// OutOfMemoryReport: the state of the pool when it refuses a request because memory is lacking.
//
// Ownership: a value without pointers. Threads: a plain value. Errors: none. Units: bytes,
// nanoseconds.
#ifndef VRAMSTOW_ALLOCATOR_POOL_REPORT_H_
#define VRAMSTOW_ALLOCATOR_POOL_REPORT_H_

#include <cstddef>
#include <cstdint>

#include "base/event.h"

namespace vramstow {

// The steps of the pressure ladder, in their order.
enum class LadderStep : uint8_t {
  kFences,
  kStitch,
  kGrow,
  kTrimOthers,
  kHooks,
  kOffload,
  kWait,
  kCollect
};
inline constexpr int kLadderSteps = 8;
const char* LadderStepName(LadderStep step);

struct OutOfMemoryReport {
  static constexpr int kHolders = 8;

  struct Holder {
    uint64_t address;
    uint64_t bytes;
    uint64_t stream;
    Layer layer;
  };
  struct Tried {
    uint32_t times;
    uint64_t bytes;  // bytes that the step freed
    uint64_t duration_ns;
  };

  uint64_t requested_bytes;
  uint64_t stream;
  uint64_t allocated_bytes;
  uint64_t reserved_bytes;
  uint64_t limit_bytes;        // 0 if there is no limit
  uint64_t device_free_bytes;  // free memory by the driver, for all processes
  uint64_t device_total_bytes;
  uint64_t free_bytes;  // cached
  uint64_t free_pieces;
  uint64_t largest_free_bytes;
  uint64_t pending_bytes;  // freed, but earlier work has not finished
  uint64_t live_blocks;
  uint64_t number;        // the report's number in this pool, from 1; 0 if there is none
  bool capturing;         // a stream was being captured, so nothing was moved or waited for
  int32_t driver_result;  // result of the driver call that failed last
  Tried tried[kLadderSteps];
  int holder_count;
  Holder holders[kHolders];  // the largest live blocks, largest first
};

// Formats the report as text that ends in a zero byte; it is cut off if it is too long. Returns the
// length written.
size_t FormatReport(const OutOfMemoryReport& report, char* text, size_t size);

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_REPORT_H_
