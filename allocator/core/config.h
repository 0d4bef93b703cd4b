// PoolConfig: what can be set about a pool, with the defaults.
//
// Ownership: values; the sink's context belongs to the caller. Threads: set before Open, not
// changed after. Units: bytes; nanoseconds.
#ifndef VRAMSTOW_ALLOCATOR_CORE_CONFIG_H_
#define VRAMSTOW_ALLOCATOR_CORE_CONFIG_H_

#include <cstdint>

#include "base/event.h"
#include "base/units.h"

namespace vramstow {

// Takes the pool's events, under the pool's locks: it must be short, take no lock that is held
// around a call of the pool, and not call the pool. It may complete the event, which is its own:
// who asked is nothing that the pool knows. Returns the sequence that it gave the event.
struct EventSink {
  uint64_t (*take)(void* context, Event* event) = nullptr;
  void* context = nullptr;
};

// Makes room on the device when the ladder has no step left but to wait: moves live memory
// elsewhere (allocator/offload). Called without a lock of the pool. Returns the bytes of device
// memory that the pool has now and had not before.
struct Relief {
  uint64_t (*relieve)(void* context, uint64_t bytes) = nullptr;
  void* context = nullptr;
};

// Collects what only garbage of the program's language holds, when nothing else has helped. Called
// without a lock of the pool, and may free blocks of it. `is_possible`: whether there is anybody to
// ask. `collect` looks at what was made lately, or, with `all`, at everything; it returns the bytes
// of device memory that it freed.
struct Collection {
  bool (*is_possible)(void* context) = nullptr;
  uint64_t (*collect)(void* context, int device, bool all) = nullptr;
  void* context = nullptr;
};

// What the pool's memory is.
enum class PoolBacking : uint8_t {
  kVirtual,   // chunks that are mapped where they are needed
  kSegments,  // allocations of the plain driver, whose memory cannot move (segments)
  kAny,       // chunks; segments where the device has no virtual memory or the driver refuses it
};

// Hears that virtual memory was refused, with what the driver said, and that the pool goes on with
// segments. Under the pool's locks: it must not call the pool.
struct RefusalListener {
  void (*hear)(void* context, int32_t result) = nullptr;
  void* context = nullptr;
};

// How many records of a kind a pool has room for. The defaults are beyond what a device of 288 GiB
// can need, but for blocks of a few hundred bytes that fill all of it. A request that finds no
// record is not out of memory: the caller asks the plain driver (PoolError::kUnavailable). Tests
// set smaller bounds.
struct PoolBounds {
  uint32_t spans = uint32_t{1} << 25;    // of one heap: blocks, free spans and holes
  uint32_t regions = uint32_t{1} << 18;  // of one heap; with segments each segment is a region
  uint32_t uses = uint32_t{1} << 25;     // of one heap: recorded uses by other streams
  uint32_t shadows = uint32_t{1} << 14;  // mappings that are kept where a chunk was before
};

struct PoolConfig {
  PoolBacking backing = PoolBacking::kVirtual;
  PoolBounds bounds;
  RefusalListener refused;
  // One chunk; rounded up to the device's granularity. Smaller chunks waste less memory, larger
  // ones cost fewer driver calls: docs/pool.md has the comparison.
  uint64_t chunk_bytes = 2 * kMiB;
  // The largest chunk that backs several neighbouring pages of a large block; 0: each page has one
  // of its own. None is larger than this part of what the pool holds when it is made: it leaves its
  // pages only whole, so that a live block on one of them keeps all of it.
  uint64_t large_chunk_bytes = 0;
  uint64_t large_chunk_part = 512;
  // While a job repeats, the pool may grow rather than move chunks as long as it holds no more than
  // this many thousandths over what was allocated at the peak: a loop then settles sooner where no
  // chunk moves any more.
  uint32_t slack_permille = 10;
  // The same for requests that do not repeat, as long as it is no more than the above: what is made
  // for them is needed no more a moment later.
  uint32_t restless_slack_permille = 2;
  // The same for a block that could lie where it lay in the round before, were its chunks not in
  // use elsewhere: what is made for it settles the loop for good.
  uint32_t repeat_slack_permille = 25;
  // A chunk that moves stays mapped where it was until that page is needed for another, so that it
  // need not wait for work and comes back without a driver call.
  bool shadows = true;
  // How long an allocation may wait for work on what was freed, if that would be enough, before
  // anything else is tried: for callers whose frees would have waited anyway. Counted as below.
  uint64_t free_wait_ns = 0;
  // Blocks up to this size share chunks of their own, apart from larger ones.
  uint64_t small_bytes = 128 * kKiB;
  // Most physical memory that the pool holds; 0: what the device has.
  uint64_t limit_bytes = 0;
  // Address space to reserve; 0: by the device's size.
  uint64_t address_bytes = 0;
  // Maintain() gives cached memory back when the device has less than this free; 0: never.
  uint64_t watermark_bytes = 0;
  // Maintain() gives back what was not used for this long; 0: never.
  uint64_t decay_ns = 0;
  // Chunks that another stream's cache has not used for this long may be stitched before the pool
  // grows; younger ones only when it cannot grow.
  uint64_t steal_after_ns = 200'000'000;
  // How long one allocation may wait for work of its own stream, so that the pool need not grow…
  uint64_t stitch_wait_ns = 20'000'000;
  // …and to avoid an out-of-memory error.
  uint64_t last_wait_ns = 10'000'000'000;
  // A number of this pool's own, below 2048: blocks of pools with different numbers never have the
  // same id.
  uint32_t id_space = 0;
  // Check all invariants after every slow step (VRAMSTOW_CHECK).
  bool check = false;
  EventSink sink;
  Relief relief;
  Collection collection;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_CORE_CONFIG_H_
