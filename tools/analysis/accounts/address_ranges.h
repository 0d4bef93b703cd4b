// AddressRanges: the reserved address ranges of a process, what is mapped in them, and the free
// ranges (holes) between.
//
// Idea: holes are kept as they change (RangeSet), so that what is free is known without looking at
// all that is mapped. Ranges that were reserved before the trace began are not known; mappings in
// them are counted and make no holes.
//
// Ownership: copies. Threads: one at a time. Errors: what contradicts the history (an unmap of
// nothing) has no effect and says so by its result. Units: bytes, addresses. Cost: O(log n) for
// each change.
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
  uint64_t memory = 0;  // which physical memory; a number of PhysicalMemory's, 0 where unknown
};

class AddressRanges {
 public:
  // [address, address + size) is reserved. False, and no effect: size 0, or beyond the end of the
  // address space.
  bool Reserve(uint64_t address, uint64_t size);
  // The range that begins at `address` is given back. Returns its size, 0: no such range.
  uint64_t Unreserve(uint64_t address);

  // The same, joined with the ranges that end where it begins and begin where it ends.
  bool Grow(uint64_t address, uint64_t size);
  // [address, address + size) is taken out of whatever ranges it lies in.
  void Shrink(uint64_t address, uint64_t size);

  // False, and no effect: as Reserve. A mapping that is there already must be removed first.
  bool Map(const Mapping& mapping);
  // Removes all mappings that lie whole in [address, address + size), and gives them.
  std::vector<Mapping> Unmap(uint64_t address, uint64_t size);
  // Removes all mappings that touch [address, address + size): their unmapping was not seen.
  std::vector<Mapping> Displace(uint64_t address, uint64_t size);

  // A block uses [address, address + size), or does so no more. Such are not mappings: a range that
  // is reserved is free whatever was used there before. Fill returns how many bytes were free.
  uint64_t Fill(uint64_t address, uint64_t size) { return holes_.Cut(address, address + size); }
  void Clear(uint64_t address, uint64_t size) { OpenHoles(address, address + size); }
  // The parts of [address, address + size) that are in reserved ranges, free or not; and those that
  // are not.
  std::vector<AddressRange> Used(uint64_t address, uint64_t size) const;
  std::vector<AddressRange> Unknown(uint64_t address, uint64_t size) const;
  const RangeSet& holes() const { return holes_; }

  // The `memory` that is mapped at `address`; 0 where nothing is.
  uint64_t MemoryAt(uint64_t address) const;

  // The size of the range that begins at `address`; 0: none does.
  uint64_t SizeOf(uint64_t address) const {
    const auto range = ranges_.find(address);
    return range == ranges_.end() ? 0 : range->second;
  }
  bool any_ranges() const { return ever_reserved_; }
  uint64_t reserved_bytes() const { return reserved_bytes_; }
  uint64_t highest_reserved_bytes() const { return highest_reserved_bytes_; }
  uint64_t mapped_bytes() const { return mapped_bytes_; }
  uint64_t highest_mapped_bytes() const { return highest_mapped_bytes_; }
  // The free ranges, as they are for a request of `request` bytes, with whole units that lie
  // elsewhere.
  FreeMemory Free(uint64_t request, uint64_t elsewhere = 0) const {
    return holes_.Free(request, elsewhere);
  }

  // From now on whole pieces of `unit` bytes, counted from `origin`, can be moved together from
  // wherever they are free. FreeMemory says how much that is.
  void MovesUnits(uint64_t unit, uint64_t origin) { holes_.MovesUnits(unit, origin); }

 private:
  // Puts holes where nothing is mapped any more, as far as it lies in known ranges, joined with
  // their neighbours in the same range.
  void OpenHoles(uint64_t address, uint64_t end);
  Mapping TakeMapping(absl::btree_map<uint64_t, Mapping>::iterator* mapping);

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
