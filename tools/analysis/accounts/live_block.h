// LiveBlock: what the analysis stores for each live block. It fits into one cache line, because
// there are many of them.
//
// Ownership: a plain value. Threads: plain values without synchronisation. Errors: none. Units:
// bytes, nanoseconds.
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
  uint64_t stream = kUnknownStream;  // for a framework's block: the stream that uses it
  uint64_t birth = 0;                // the event that made it, counted from 1; unique
  uint16_t library = kUnknownName;
  uint16_t call = kUnknownName;
  int16_t device = kNoDevice;
  MemoryKind memory = MemoryKind::kNone;
  bool imported = false;  // belongs to another process
  bool pooled = false;    // lies in memory that a pool has reserved, and reserves none itself
  bool opened = false;    // was there before the first event
  bool tensor = false;    // of a framework
  // True if a framework's blocks lie in this memory. Then this memory counts as reserved, and the
  // framework's blocks count as allocated.
  bool holds = false;
  uint32_t site = 0;  // the call site, by its number in SiteTable
};
static_assert(sizeof(LiveBlock) == 64);

// Returns the requested bytes of an event; the allocated size if the requested bytes were not
// recorded.
inline uint64_t RequestedBytes(const Event& event) {
  return event.requested != 0 ? event.requested : event.size;
}

// A moment of the trace: the number of its event, as in LiveBlock::birth, and its time.
struct Moment {
  uint64_t event = 0;
  uint64_t sequence = 0;
  uint64_t time_ns = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_LIVE_BLOCK_H_
