// PoolConfig: the settings of a pool, with their defaults.
//
// Ownership: plain values; the caller owns every `context`. Threads: set before Open, not changed
// after. Units: bytes; nanoseconds.
#ifndef VRAMSTOW_ALLOCATOR_CORE_CONFIG_H_
#define VRAMSTOW_ALLOCATOR_CORE_CONFIG_H_

#include <cstdint>

#include "base/event.h"
#include "base/units.h"

namespace vramstow {

// Receives the pool's events. `take` is called under the pool's locks: it must be short, must not
// call the pool, and must not take a lock that is held around a call of the pool. It may fill in
// fields of the event, for instance the caller's stack, which the pool does not know. Returns the
// sequence number that it gave the event.
struct EventSink {
  uint64_t (*take)(void* context, Event* event) = nullptr;
  void* context = nullptr;
};

// Frees device memory by moving live memory elsewhere (allocator/offload). The pool calls it,
// without holding any of its locks, when the pressure ladder has no step left but to wait. Returns
// how many bytes of device memory the pool has gained.
struct ReclaimCallback {
  uint64_t (*reclaim)(void* context, uint64_t bytes) = nullptr;
  void* context = nullptr;
  // Called in place of `reclaim` when the pool tries again after all submitted work has finished.
  // Null means that `reclaim` is called again.
  uint64_t (*reclaim_again)(void* context, uint64_t bytes) = nullptr;
};

// Runs the garbage collector of the program's language, whose unreachable objects may still hold
// memory. The pool calls it when nothing else has helped. The pool holds no lock then, because
// `collect` may free blocks. `is_possible` is true if a collector is registered. `collect` examines
// recently created objects, or every object if `all` is set, and returns how many bytes of device
// memory it freed.
struct Collection {
  bool (*is_possible)(void* context) = nullptr;
  uint64_t (*collect)(void* context, int device, bool all) = nullptr;
  void* context = nullptr;
};

// The kind of memory that a pool is made of.
enum class PoolBacking : uint8_t {
  kVirtual,   // chunks that are mapped where they are needed
  kSegments,  // allocations of the plain driver, whose memory cannot move (segments)
  kAny,       // chunks, or segments if there is no virtual memory or the driver refuses it
};

// A callback that learns of a refusal. It is called once, with the driver's result, when the driver
// refuses virtual memory and the pool continues with segments. `hear` runs under the pool's locks,
// so it must not call the pool.
struct RefusalListener {
  void (*hear)(void* context, int32_t result) = nullptr;
  void* context = nullptr;
};

// The largest number of records of each kind that a pool can hold. The defaults are more than a
// device of 288 GiB needs, unless blocks of a few hundred bytes fill all of it. If no record is
// left, the request fails with PoolError::kUnavailable, and the caller asks the plain driver. Tests
// set smaller bounds.
struct PoolBounds {
  uint32_t spans = uint32_t{1} << 25;    // blocks, free spans and holes of one heap
  uint32_t regions = uint32_t{1} << 18;  // regions of one heap; each segment is a region
  uint32_t uses = uint32_t{1} << 25;     // recorded uses of one heap's blocks by other streams
  uint32_t shadows = uint32_t{1} << 14;  // mappings that remain where a chunk was before
};

struct PoolConfig {
  PoolBacking backing = PoolBacking::kVirtual;
  PoolBounds bounds;
  RefusalListener refused;
  // The size of one chunk; it is rounded up to the device's granularity. Smaller chunks waste less
  // memory, larger chunks need fewer driver calls; docs/pool.md compares them.
  uint64_t chunk_bytes = 2 * kMiB;
  // The largest chunk that backs several neighbouring pages of a large block; 0 gives each page a
  // chunk of its own. A large chunk is never larger than 1/large_chunk_part of the memory that the
  // pool holds when the chunk is made: it is unmapped only as a whole, so one live block on any of
  // its pages retains all of it.
  uint64_t large_chunk_bytes = 0;
  uint64_t large_chunk_part = 512;
  // While a job repeats its requests, the pool may grow instead of moving chunks. It may then hold
  // at most this many thousandths more than was allocated at the peak. A loop thus reaches sooner
  // the state in which no chunk moves.
  uint32_t slack_permille = 10;
  // The same limit as slack_permille, for requests that do not repeat; the smaller of the two
  // limits applies. Memory that is made for such requests is not needed again a moment later.
  uint32_t restless_slack_permille = 2;
  // The same limit as slack_permille, for a block whose address of the previous iteration is free
  // but has no chunks, because they are in use elsewhere. Memory that is made for such a block is
  // used in every later iteration.
  uint32_t repeat_slack_permille = 25;
  // If set, a chunk that moves stays mapped at its old address as well (a shadow), until another
  // chunk needs that page. The move then need not wait for submitted work, and the chunk can move
  // back without a driver call.
  bool shadows = true;
  // How long an allocation may wait for work that uses freed memory, before it tries anything else.
  // It waits only if that memory would suffice. This setting is for callers whose frees would
  // otherwise have waited for the work themselves. The time is measured by the same clock as
  // stitch_wait_ns.
  uint64_t free_wait_ns = 0;
  // Blocks of at most this size share chunks that larger blocks do not use.
  uint64_t small_bytes = 128 * kKiB;
  // The most physical memory that the pool may hold; 0 sets no limit but the device's memory.
  uint64_t limit_bytes = 0;
  // The address space to reserve; 0 derives it from the device's memory.
  uint64_t address_bytes = 0;
  // Maintain() releases cached memory when the device has less than this free; 0 disables this.
  uint64_t watermark_bytes = 0;
  // Maintain() releases memory that was not used for this long; 0 disables this.
  uint64_t decay_ns = 0;
  // The pool may stitch chunks that another stream has cached and not used for this long before it
  // grows. It stitches younger chunks only when it cannot grow.
  uint64_t steal_after_ns = 200'000'000;
  // How long one allocation may wait for work of its own stream so that the pool need not grow.
  uint64_t stitch_wait_ns = 20'000'000;
  // How long one allocation may wait to avoid an out-of-memory error.
  uint64_t last_wait_ns = 10'000'000'000;
  // A number below 2048 that no other pool has, so that blocks of different pools never share an
  // id.
  uint32_t id_space = 0;
  // If set, all invariants are checked after every slow step (VRAMSTOW_CHECK).
  bool check = false;
  EventSink sink;
  ReclaimCallback reclaim_callback;
  Collection collection;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_CORE_CONFIG_H_
