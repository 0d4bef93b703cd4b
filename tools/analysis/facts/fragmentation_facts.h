// FragmentationFacts: the free memory, the number of its pieces, and the blocks that separate them.
//
// Ownership: plain values. Threads: plain values without synchronisation. Errors: none. Units:
// bytes; nanoseconds since the trace began. docs/analyze.md ("Fragmentation") explains each number.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_FRAGMENTATION_FACTS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_FRAGMENTATION_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/event.h"

namespace vramstow {

// Free memory of a pool, or free addresses inside the reserved address ranges.
struct FreeMemory {
  uint64_t free_bytes = 0;
  uint64_t largest_bytes = 0;
  uint64_t unusable_bytes = 0;  // in ranges smaller than the largest request so far, less…
  uint64_t movable_bytes = 0;   // …of a pool that moves chunks together: whole chunks, anywhere
  bool operator==(const FreeMemory&) const = default;
};

// A free range of a pool's memory, and the blocks at both its ends.
struct HoleFacts {
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t segment = 0;  // the address of the range that it lies in
  uint64_t segment_size = 0;
  std::string before;  // the call site of the neighbour; empty if the segment ends here
  std::string after;
  uint64_t before_bytes = 0;
  uint64_t after_bytes = 0;
};

struct FragmentationFacts {
  bool any_ranges = false;  // false if nothing was reserved
  // True if the free ranges are memory of a pool, false if they are only addresses.
  bool in_pool = false;
  bool moves = false;  // the pool moves whole chunks together
  uint64_t largest_request_bytes = 0;
  FreeMemory at_peak;
  FreeMemory worst;  // the moment of the timeline with most unusable bytes
  uint64_t worst_time_ns = 0;
  FreeMemory at_end;
  std::vector<HoleFacts> holes;  // at the peak, the largest first
  uint64_t hole_count = 0;       // at the peak
  // The free memory of one stream at the peak, which other streams cannot use. Empty for a pool
  // that moves chunks.
  struct Stream {
    uint64_t stream = kUnknownStream;
    uint64_t reserved_bytes = 0;
    uint64_t free_bytes = 0;
  };
  std::vector<Stream> streams;
  bool holes_known = false;
  // The highest number of bytes that were freed but not reusable yet, if the file records them.
  std::optional<uint64_t> pending_peak_bytes;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_FRAGMENTATION_FACTS_H_
