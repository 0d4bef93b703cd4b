// Converts the user's settings of the pool to numbers.
//
// Ownership: values; texts point into the options. Threads: values. Errors: options were checked
// when they were read. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_POOL_SETTINGS_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_POOL_SETTINGS_H_

#include <cstdint>

#include "allocator/core/config.h"
#include "base/options.h"

namespace vramstow {

enum class FreeWaits : uint8_t { kAuto, kAlways, kNever };

PoolBacking BackingOf(const Options& options);
FreeWaits FreeWaitsOf(const Options& options);
// Returns the settings for a device with `total_bytes` of memory.
PoolConfig PoolConfigOf(const Options& options, uint64_t total_bytes);

// True if a library's file name (the last part of `path`) begins with one of the names in `list`.
bool IsListed(const char* list, const char* path);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_POOL_SETTINGS_H_
