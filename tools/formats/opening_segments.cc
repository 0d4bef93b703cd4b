#include "tools/formats/opening_segments.h"

#include <algorithm>

namespace vramstow {

OpeningSegments SegmentsByEnd(const std::vector<const SnapshotSegment*>& at_end,
                              const std::vector<TraceEntry>& entries) {
  OpeningSegments segments;
  for (const SnapshotSegment* segment : at_end) {
    if (segment->is_expandable) {
      segments.mapped.Add(segment->address, segment->total_size);
    } else {
      segments.fixed.emplace(segment->address, segment->total_size);
    }
  }
  for (size_t i = entries.size(); i-- > 0;) {
    const TraceEntry& entry = entries[i];
    bool contradiction = false;
    switch (entry.action) {
      case TraceAction::kSegmentAlloc:
        contradiction = segments.fixed.erase(entry.address) == 0;
        break;
      case TraceAction::kSegmentFree:
        contradiction = !segments.fixed.emplace(entry.address, entry.size).second;
        break;
      case TraceAction::kSegmentMap:
        contradiction = !segments.mapped.Remove(entry.address, entry.size);
        break;
      case TraceAction::kSegmentUnmap:
        segments.mapped.Add(entry.address, entry.size);
        break;
      default:
        break;
    }
    segments.contradictions += contradiction;
  }
  return segments;
}

OpeningSegments SegmentsByEntries(const std::vector<const SnapshotSegment*>& at_end,
                                  const std::vector<TraceEntry>& entries,
                                  const BlockRounding& rounding) {
  OpeningSegments segments;
  MappedRanges used;
  bool is_expandable = std::ranges::any_of(
      at_end, [](const SnapshotSegment* segment) { return segment->is_expandable; });
  for (size_t i = entries.size(); i-- > 0;) {
    const TraceEntry& entry = entries[i];
    if (entry.is_driver) continue;
    switch (entry.action) {
      case TraceAction::kAlloc:
      case TraceAction::kFreeRequested:
      case TraceAction::kFreeCompleted:
      case TraceAction::kFree:
        used.Add(entry.address, BlockSizeOf(entry, rounding));
        break;
      case TraceAction::kSegmentAlloc:
        segments.fixed.erase(entry.address);
        used.Remove(entry.address, entry.size);
        break;
      case TraceAction::kSegmentFree:
        segments.fixed.emplace(entry.address, entry.size);
        break;
      case TraceAction::kSegmentMap:
        is_expandable = true;
        segments.mapped.Remove(entry.address, entry.size);
        used.Remove(entry.address, entry.size);
        break;
      case TraceAction::kSegmentUnmap:
        is_expandable = true;
        segments.mapped.Add(entry.address, entry.size);
        break;
      default:
        break;
    }
  }
  for (const auto& [address, size] : segments.fixed) used.Remove(address, size);
  for (const auto& [from, to] : used.ranges()) {
    if (is_expandable) {
      segments.mapped.Add(from, to - from);
    } else {
      segments.fixed.emplace(from, to - from);
    }
  }
  return segments;
}

}  // namespace vramstow
