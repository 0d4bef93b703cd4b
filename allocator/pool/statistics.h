// PoolStats: the numbers of a pool, made from statistics.def.
//
// Ownership: a value. Threads: values. Errors: none. Units: bytes; nanoseconds; counts.
#ifndef VRAMSTOW_ALLOCATOR_POOL_STATISTICS_H_
#define VRAMSTOW_ALLOCATOR_POOL_STATISTICS_H_

#include <cstdint>

namespace vramstow {

struct PoolStats {
#define VRAMSTOW_POOL_STATISTIC(name, merge, help) uint64_t name;
#include "allocator/pool/statistics.def"
#undef VRAMSTOW_POOL_STATISTIC
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_STATISTICS_H_
