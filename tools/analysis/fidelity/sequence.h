// AllocationSequence: what a framework asked for and gave back, in order, and what it held of the
// device meanwhile.
//
// Ownership: copies. Threads: one at a time. Errors: none. Units: bytes. Items are counted from 0.
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

// A segment came or went, or a part of an expandable one.
struct SegmentChange {
  uint64_t items_before = 0;  // how many items came before it
  bool is_free = false;
  bool is_part = false;
  uint64_t bytes = 0;
};

// Whether a reduction asked for a block: what its kernel asks for is staging. Where no frame names
// the kernel, its operator asked for it, which makes results, too.
enum class Reduces : uint8_t { kNo, kOperator, kKernel };

// Tensors of one device: of the one with the most events.
struct AllocationSequence {
  std::vector<SequenceItem> items;
  std::vector<uint64_t> levels;  // asked for and live after each item, the first ones' before it
  std::vector<uint32_t> sites;   // by item: an index of site_names
  std::vector<std::string> site_names;
  std::vector<Reduces> reduces;  // by item; of frees kNo
  uint64_t level_before = 0;
  std::vector<SegmentChange> segments;  // with those that were there before; empty: not told
  TorchLines torch_lines;               // of all devices
};

// Reads the source to its end.
AllocationSequence SequenceOf(EventSource* source);

// What a framework held of the device while items [begin, end) happened.
struct ReservedMemory {
  bool is_known = false;
  bool has_parts = false;  // of expandable segments, so that their number means nothing
  uint64_t peak_bytes = 0;
  std::map<uint64_t, uint64_t> segments;  // at the end: size → how many
  uint64_t Count() const;
};
ReservedMemory ReservedWithin(const AllocationSequence& sequence, uint64_t begin, uint64_t end);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FIDELITY_SEQUENCE_H_
