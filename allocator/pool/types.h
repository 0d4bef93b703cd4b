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
  kOutOfMemory,  // last_report() says more
  kInvalid,      // size 0, or an address that is no live block's start (freed twice?)
  kNotOurs,      // the address is not the pool's: ask the plain driver
  kUnavailable,  // the plain driver has to serve: no virtual memory, or no room for a record
};
const char* PoolErrorName(PoolError error);

struct BlockRequest {
  uint64_t size;  // as asked; rounded up to kBlockBytes
  uint64_t stream = kUnknownStream;
  uint64_t pool = 0;  // a private pool; 0 is the common one
  Layer layer = Layer::kDriver;
  uint32_t tag = 0;  // what is moved together (allocator/offload); 0: none
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
  uint64_t id;  // never given twice
  Layer layer;
  bool pending = false;  // once it is freed (or was just now), it waits for other streams
};

// A run of addresses of one heap, as VisitSpans reports it.
struct PoolSpan {
  uint64_t address;
  uint64_t size;
  uint64_t requested;  // of a live or pending block
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
  kAlive,        // everything is given back, live blocks too; no work may touch them
  kContextGone,  // the same, but events went with the context
  kDriverGone,   // the records are forgotten without a driver call
};

struct TrimRequest {
  uint64_t bytes = ~uint64_t{0};  // at most this much
  uint64_t wait_ns = 0;           // for work that still touches what was freed
};

struct TrimResult {
  uint64_t released_bytes;
  uint64_t duration_ns;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_TYPES_H_
