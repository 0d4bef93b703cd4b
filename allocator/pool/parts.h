// PoolParts: the parts of a pool, passed as one argument to the classes that do its slow work
// (PressureLadder, Trimmer, the backings).
//
// Ownership: the pool owns the parts. Threads: the header of each part states its rule; the numbers
// may be read from any thread and are written under the device's lock. Errors: none. Units: bytes;
// chunks; nanoseconds.
#ifndef VRAMSTOW_ALLOCATOR_POOL_PARTS_H_
#define VRAMSTOW_ALLOCATOR_POOL_PARTS_H_

#include <atomic>
#include <cstdint>

#include "allocator/core/config.h"
#include "allocator/core/device_lock.h"
#include "allocator/core/driver.h"
#include "allocator/core/epochs.h"
#include "allocator/core/events.h"
#include "allocator/core/fences.h"
#include "allocator/physical/address_space.h"
#include "allocator/physical/chunk_exchange.h"
#include "allocator/physical/chunk_store.h"
#include "allocator/physical/segment_store.h"
#include "allocator/placement/interference_map.h"
#include "allocator/pool/heap_table.h"
#include "allocator/pool/hook_list.h"
#include "allocator/pool/peak_tracker.h"

namespace vramstow {

class Backing;

struct PoolCounters {
  std::atomic<uint64_t> stitches{0};
  std::atomic<uint64_t> grown{0};
  std::atomic<uint64_t> moved{0};
  std::atomic<uint64_t> released{0};
  std::atomic<uint64_t> fence_waits{0};
  std::atomic<uint64_t> fence_wait_ns{0};
  std::atomic<uint64_t> out_of_memory{0};
};

struct PoolParts {
  const DriverTable* driver = nullptr;
  PoolConfig config;
  DriverDevice device{};
  PoolEvents events;
  AddressSpace space;
  ChunkStore chunks;
  ChunkExchange exchange;
  SegmentStore segment_store;
  Fences fences;
  InterferenceMap interference;
  Epochs epochs;
  DeviceMutex mutex;
  HeapTable heaps;
  PeakTracker peak;
  HookList hooks;
  PoolCounters counters;
  Backing* backing = nullptr;
  uint64_t opened_ns = 0;
  std::atomic<uint64_t> limit_bytes{0};                       // the user's limit
  uint64_t share_bytes VRAMSTOW_GUARDED_BY(kDeviceLock) = 0;  // the framework's share
  // The most bytes while other processes share the device; 0 if none do.
  uint64_t room_bytes VRAMSTOW_GUARDED_BY(kDeviceLock) = 0;
  // The memory that the pool can have once other processes give up memory; 0 if that is not known.
  uint64_t reachable_bytes VRAMSTOW_GUARDED_BY(kDeviceLock) = 0;
  // The time that is recorded as the last use (touch) of a new block; 0 while such times are not
  // recorded (allocator/offload).
  std::atomic<uint32_t> touch_clock{0};
  std::atomic<bool> serves_framework{false};

  uint64_t Now() const { return driver->now(driver->self); }
  // Returns the time of the clock by which deadlines are measured.
  uint64_t WaitClock() const { return vramstow::WaitClock(driver); }
  bool segments() const { return chunks.segments(); }
  // Applies the user's limit and the framework's share. The share limits only the memory that the
  // framework holds, not the memory of callers without a stream.
  void ApplyLimits(bool for_framework) VRAMSTOW_REQUIRES(kDeviceLock);
  // Makes sure that events cover all memory freed so far, so that the pool can find out when its
  // work has finished.
  void EnsureAllFences() VRAMSTOW_REQUIRES(kDeviceLock);
  // Returns null if all invariants hold, else a sentence that states the violation.
  const char* Check() VRAMSTOW_REQUIRES(kDeviceLock);
  // Calls Check after a slow step if PoolConfig::check is set.
  void CheckIfAsked() VRAMSTOW_REQUIRES(kDeviceLock);
  // The first violation that CheckIfAsked found, or null.
  std::atomic<const char*> check_failure{nullptr};

  // Runs the hooks without any lock. Returns false if none ran.
  bool RunHooks(HookKind kind, uint64_t bytes);
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_PARTS_H_
