// OpeningSegments are the segments that existed before the first event of a memory snapshot.
//
// Idea: the events are applied backwards, either to the segments of the snapshot or, if later
// events are missing, to nothing.
//
// Ownership: values. Threads: pure functions, callable from any thread. Errors: none;
// contradictions are counted. Units: bytes.
#ifndef VRAMSTOW_TOOLS_FORMATS_OPENING_SEGMENTS_H_
#define VRAMSTOW_TOOLS_FORMATS_OPENING_SEGMENTS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "tools/formats/block_rounding.h"
#include "tools/formats/mapped_ranges.h"
#include "tools/formats/snapshot.h"

namespace vramstow {

struct OpeningSegments {
  std::map<uint64_t, uint64_t> fixed;  // address → size
  MappedRanges mapped;                 // expandable segments
  uint64_t contradictions = 0;         // events that contradict the segments at the end
};

inline uint64_t BlockSizeOf(const TraceEntry& entry, const BlockRounding& rounding) {
  return entry.block_size != 0 ? entry.block_size : rounding.Round(entry.size);
}

// Computes the segments at the beginning from those at the end and the entries between the two.
OpeningSegments SegmentsByEnd(const std::vector<const SnapshotSegment*>& at_end,
                              const std::vector<TraceEntry>& entries);

// Computes which memory must have been reserved at the beginning, from the entries alone: segments
// that are freed, and the memory of blocks, unless an earlier entry allocated it. Of the segments
// at the end only their type counts.
OpeningSegments SegmentsByEntries(const std::vector<const SnapshotSegment*>& at_end,
                                  const std::vector<TraceEntry>& entries,
                                  const BlockRounding& rounding);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_OPENING_SEGMENTS_H_
