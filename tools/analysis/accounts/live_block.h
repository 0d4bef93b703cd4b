// LiveBlock: what the analysis remembers of memory that is live. One of them for each live block,
// so it is kept small: one line of a cache.
//
// Ownership: a value. Threads: values. Errors: none. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_LIVE_BLOCK_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_LIVE_BLOCK_H_

#include <cstdint>

#include "base/event.h"

namespace vramstow {

struct alignas(64) LiveBlock {
  uint64_t address = 0;  // or handle
  uint64_t size = 0;
  uint64_t requested = 0;
  uint64_t time_ns = 0;
  uint64_t stream = kUnknownStream;  // of a framework's block: for whose work it is
  uint64_t birth = 0;  // which event of the trace made it, counted from 1; never the same twice
  uint16_t library = kUnknownName;
  uint16_t call = kUnknownName;
  int16_t device = kNoDevice;
  MemoryKind memory = MemoryKind::kNone;
  bool imported = false;  // belongs to another process
  bool pooled = false;    // lies in memory that a pool has reserved, and reserves none itself
  bool opened = false;    // was there before the first event
  bool tensor = false;    // of a framework
  bool holds = false;  // holds a framework's blocks: it is reserved, and they are what is allocated
  uint32_t site = 0;   // who allocated it, a number of SiteTable's
};
static_assert(sizeof(LiveBlock) == 64);

// The request of an event.
inline uint64_t RequestedBytes(const Event& event) {
  return event.requested != 0 ? event.requested : event.size;
}

// When something happened: at which event, counted as LiveBlock::birth is.
struct Moment {
  uint64_t event = 0;
  uint64_t sequence = 0;
  uint64_t time_ns = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_LIVE_BLOCK_H_
