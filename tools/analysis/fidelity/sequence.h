// AllocationSequence: the allocations and frees of a framework, in order, and the device memory
// that the framework held meanwhile.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: none. Units:
// bytes. Items are counted from 0.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FIDELITY_SEQUENCE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FIDELITY_SEQUENCE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/analysis/accounts/event_source.h"
#include "tools/analysis/fidelity/torch_lines.h"

namespace vramstow {

struct SequenceItem {
  bool is_free = false;
  uint64_t bytes = 0;  // as asked for
  auto operator<=>(const SequenceItem&) const = default;
};

// An allocation or release of a segment, or of a part of an expandable segment.
struct SegmentChange {
  uint64_t items_before = 0;  // how many items came before it
  bool is_free = false;
  bool is_part = false;
  uint64_t bytes = 0;
};

// Says whether a reduction requested a block. If a frame names the kernel of the reduction, the
// block is staging memory. If only the operator is named, the block may also be its result.
enum class Reduces : uint8_t { kNo, kOperator, kKernel };

// The allocations on one device. This is the device with the most events.
struct AllocationSequence {
  std::vector<SequenceItem> items;
  std::vector<uint64_t> levels;  // requested bytes that are live after each item
  std::vector<uint32_t> sites;   // by item: an index of site_names
  std::vector<std::string> site_names;
  std::vector<Reduces> reduces;  // by item; of frees kNo
  uint64_t level_before = 0;
  // The changes of segments, including segments that existed before the recording; empty if the
  // source has none.
  std::vector<SegmentChange> segments;
  TorchLines torch_lines;  // of all devices
};

// Reads the source to its end.
AllocationSequence SequenceOf(EventSource* source);

// The device memory that a framework held during items [begin, end).
struct ReservedMemory {
  bool is_known = false;
  bool has_parts = false;  // there are expandable segments, so their number means nothing
  uint64_t peak_bytes = 0;
  std::map<uint64_t, uint64_t> segments;  // at the end: size → how many
  uint64_t Count() const;
};
ReservedMemory ReservedWithin(const AllocationSequence& sequence, uint64_t begin, uint64_t end);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FIDELITY_SEQUENCE_H_
