// PoolStats: the numbers of a pool.
//
// Ownership: a value. Threads: a plain value. Errors: none. Units: bytes; nanoseconds; counts.
#ifndef VRAMSTOW_ALLOCATOR_POOL_STATISTICS_H_
#define VRAMSTOW_ALLOCATOR_POOL_STATISTICS_H_

#include <cstdint>

namespace vramstow {

// Callers of the C API see only the fields that interpose/core/pools/statistics.def lists.
struct PoolStats {
  uint64_t allocated_bytes;
  uint64_t requested_bytes;
  uint64_t reserved_bytes;
  uint64_t peak_allocated_bytes;
  uint64_t peak_reserved_bytes;
  uint64_t pending_bytes;
  uint64_t live_blocks;
  uint64_t allocations;
  uint64_t frees;
  uint64_t misses;        // allocations that missed the cache
  uint64_t stitches;      // allocations for which chunks were mapped
  uint64_t grown_chunks;  // chunks made so far
  uint64_t moved_chunks;  // moves of chunks to other pages so far
  uint64_t released_chunks;
  uint64_t fence_waits;
  uint64_t fence_wait_ns;
  uint64_t out_of_memory;
  uint64_t hook_calls;
  uint64_t host_bytes;  // host memory of the pool's own records
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_STATISTICS_H_
