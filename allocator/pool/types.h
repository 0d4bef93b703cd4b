// The types of a pool's arguments and results.
//
// Ownership: values. Threads: plain values. Errors: PoolError. Units: bytes; nanoseconds; streams
// as the driver's handles.
#ifndef VRAMSTOW_ALLOCATOR_POOL_TYPES_H_
#define VRAMSTOW_ALLOCATOR_POOL_TYPES_H_

#include <cstdint>

#include "allocator/core/events.h"
#include "allocator/heap/span.h"

namespace vramstow {

enum class PoolError {
  kOk,
  kOutOfMemory,  // LastReport() has the details
  kInvalid,      // size 0, or no live block begins at the address (freed twice?)
  kNotOurs,      // the address belongs to the plain driver, not to the pool
  kUnavailable,  // the plain driver has to serve: no virtual memory, or no room for a record
};
const char* PoolErrorName(PoolError error);

struct BlockRequest {
  uint64_t size;  // requested bytes; rounded up to kBlockBytes
  uint64_t stream = kUnknownStream;
  uint64_t pool = 0;  // a private pool; 0 is the common one
  Layer layer = Layer::kDriver;
  uint32_t tag = 0;  // blocks that move together (allocator/offload); 0 for none
};

struct Block {
  uint64_t address;
  uint64_t size;  // after rounding
  Served served;
};

struct BlockInfo {
  uint64_t address;
  uint64_t size;
  uint64_t requested;
  uint64_t stream;
  uint64_t pool;
  uint64_t id;  // unique in the process
  Layer layer;
  bool pending = false;  // when freed, it waits for work of other streams
};

// A run of addresses in one heap that have the same state, as VisitSpans passes it to its visitor.
struct PoolSpan {
  uint64_t address;
  uint64_t size;
  uint64_t requested;  // for a live or pending block
  uint64_t stream;
  uint64_t pool;
  SpanState state;  // kLive, kPending or kFree
  Layer layer;
  bool small;
};
using SpanVisitor = void (*)(void* context, const PoolSpan& span);

// The mapped bytes of some heaps, by the size of their blocks.
struct MappedBytes {
  uint64_t small;
  uint64_t large;
};

// The state in which a pool is closed.
enum class PoolEnd : uint8_t {
  kAlive,        // all memory is released, also live blocks; no work may touch them
  kContextGone,  // the same, but the events ended with the context
  kDriverGone,   // only the records are freed, without a driver call
};

struct TrimRequest {
  uint64_t bytes = ~uint64_t{0};  // release at most this much
  uint64_t wait_ns = 0;           // how long to wait for work that touches freed memory
};

struct TrimResult {
  uint64_t released_bytes;
  uint64_t duration_ns;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_TYPES_H_
