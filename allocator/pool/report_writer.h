// Writes what the pool knows when it has to say no.
//
// Ownership: none. Threads: the device's lock, no heap's. Errors: none. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_POOL_REPORT_WRITER_H_
#define VRAMSTOW_ALLOCATOR_POOL_REPORT_WRITER_H_

#include "allocator/pool/attempt.h"
#include "allocator/pool/parts.h"
#include "allocator/pool/statistics.h"

namespace vramstow {

// The numbers of the pool. From any thread: frees that are deferred are done first.
PoolStats CollectStats(PoolParts* parts);
// Counts the failure, tells the tracer, and gives the report.
OutOfMemoryReport WriteReport(PoolParts* parts, const AllocationAttempt& attempt)
    VRAMSTOW_REQUIRES(kDeviceLock);

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_REPORT_WRITER_H_
