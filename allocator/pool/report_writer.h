// Functions that collect the pool's numbers and write the out-of-memory report.
//
// Ownership: none. Threads: WriteReport needs the device's lock and no heap's lock. Errors: none.
// Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_POOL_REPORT_WRITER_H_
#define VRAMSTOW_ALLOCATOR_POOL_REPORT_WRITER_H_

#include "allocator/pool/attempt.h"
#include "allocator/pool/parts.h"
#include "allocator/pool/statistics.h"

namespace vramstow {

// Returns the numbers of the pool, after carrying out deferred frees. May be called from any
// thread.
PoolStats CollectStats(PoolParts* parts);
// Counts the failure, records it in the trace, and returns the report.
OutOfMemoryReport WriteReport(PoolParts* parts, const AllocationAttempt& attempt)
    VRAMSTOW_REQUIRES(kDeviceLock);

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_REPORT_WRITER_H_
