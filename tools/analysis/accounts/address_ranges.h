// AddressRanges: the reserved address ranges of a process, the mappings in them, and the free
// ranges (holes) between.
//
// Idea: the holes are updated with each change (RangeSet), so that the free bytes are known without
// a traversal of all mappings. Ranges that were reserved before the trace began are not known;
// mappings in them are counted and make no holes.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: a change that
// contradicts the history, for example an unmap of an unmapped range, has no effect and its result
// says so. Units: bytes, addresses. Cost: O(log n) for each change.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_ADDRESS_RANGES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_ADDRESS_RANGES_H_

#include <cstdint>
#include <vector>

#include "absl/container/btree_map.h"
#include "tools/analysis/accounts/address_range.h"
#include "tools/analysis/accounts/range_set.h"
#include "tools/analysis/facts/fragmentation_facts.h"

namespace vramstow {

struct Mapping {
  uint64_t address = 0;
  uint64_t size = 0;
  // The number that PhysicalMemory gave the mapped memory; 0 if unknown.
  uint64_t memory = 0;
};

class AddressRanges {
 public:
  // Reserves [address, address + size). Returns false, and has no effect, if size is 0 or the range
  // exceeds the address space.
  bool Reserve(uint64_t address, uint64_t size);
  // Releases the range that begins at `address`. Returns its size; 0 if there is no such range.
  uint64_t Unreserve(uint64_t address);

  // Reserves [address, address + size) and joins it with the reserved ranges next to it. Returns
  // false, and has no effect, if size is 0 or the range exceeds the address space.
  bool Grow(uint64_t address, uint64_t size);
  // Removes [address, address + size) from all reserved ranges that it overlaps.
  void Shrink(uint64_t address, uint64_t size);

  // Adds a mapping. Returns false, and has no effect, if its size is 0 or it exceeds the address
  // space. An existing mapping of these addresses must be removed first.
  bool Map(const Mapping& mapping);
  // Removes and returns all mappings that lie entirely in [address, address + size).
  std::vector<Mapping> Unmap(uint64_t address, uint64_t size);
  // Removes and returns all mappings that overlap [address, address + size), because their
  // unmapping was not seen.
  std::vector<Mapping> Displace(uint64_t address, uint64_t size);

  // The function Fill records that a block uses [address, address + size), and returns how many of
  // these bytes were free. The function Clear records that no block uses the range any more.
  // Neither changes a mapping. If a range is reserved later, all of it is free, whatever was
  // recorded for it before.
  uint64_t Fill(uint64_t address, uint64_t size) { return holes_.Cut(address, address + size); }
  void Clear(uint64_t address, uint64_t size) { OpenHoles(address, address + size); }
  // The function Used returns the parts of [address, address + size) that lie in reserved ranges,
  // free or not. The function Unknown returns the parts outside of reserved ranges.
  std::vector<AddressRange> Used(uint64_t address, uint64_t size) const;
  std::vector<AddressRange> Unknown(uint64_t address, uint64_t size) const;
  const RangeSet& holes() const { return holes_; }

  // Returns the `memory` of the mapping that contains `address`; 0 if there is none.
  uint64_t MemoryAt(uint64_t address) const;

  // Returns the size of the range that begins at `address`; 0 if there is no such range.
  uint64_t SizeOf(uint64_t address) const {
    const auto range = ranges_.find(address);
    return range == ranges_.end() ? 0 : range->second;
  }
  bool any_ranges() const { return ever_reserved_; }
  uint64_t reserved_bytes() const { return reserved_bytes_; }
  uint64_t highest_reserved_bytes() const { return highest_reserved_bytes_; }
  uint64_t mapped_bytes() const { return mapped_bytes_; }
  uint64_t highest_mapped_bytes() const { return highest_mapped_bytes_; }
  // Returns the free ranges as FreeMemory for a request of `request` bytes. `elsewhere` is the
  // number of free bytes in whole units that lie outside these ranges.
  FreeMemory Free(uint64_t request, uint64_t elsewhere = 0) const {
    return holes_.Free(request, elsewhere);
  }

  // Must be called if the pool moves chunks. From this call on, free pieces of `unit` bytes, whose
  // addresses are counted from `origin`, can be combined wherever they are. FreeMemory gives the
  // sum of the bytes of such pieces.
  void MovesUnits(uint64_t unit, uint64_t origin) { holes_.MovesUnits(unit, origin); }

 private:
  // Adds holes for the parts of [address, end) in reserved ranges that are no longer mapped. Joins
  // each with the neighbouring holes of the same range.
  void OpenHoles(uint64_t address, uint64_t end);
  Mapping RemoveMapping(absl::btree_map<uint64_t, Mapping>::iterator* mapping);

  absl::btree_map<uint64_t, uint64_t> ranges_;   // address → size
  absl::btree_map<uint64_t, Mapping> mappings_;  // by address
  RangeSet holes_;
  uint64_t reserved_bytes_ = 0;
  uint64_t highest_reserved_bytes_ = 0;
  uint64_t mapped_bytes_ = 0;
  uint64_t highest_mapped_bytes_ = 0;
  bool ever_reserved_ = false;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_ADDRESS_RANGES_H_
