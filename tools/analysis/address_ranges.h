// AddressRanges: the reserved address ranges of a process, what is mapped in them, and the free
// ranges (holes) between.
//
// Idea: holes are kept with a count for each size, so that the largest one and the bytes in those
// that are too small for a request are known without looking at all of them. Ranges that were
// reserved before the trace began are not known; mappings in them are counted and make no holes.
//
// Ownership: copies. Threads: one at a time. Errors: what contradicts the history (an unmap of
// nothing) has no effect and says so by its result. Units: bytes, addresses. Cost: O(log n) for
// each change.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADDRESS_RANGES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADDRESS_RANGES_H_

#include <cstdint>
#include <vector>

#include "absl/container/btree_map.h"
#include "tools/analysis/fragmentation_facts.h"

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

  // False, and no effect: as Reserve. What is mapped there already must be removed first.
  bool Map(const Mapping& mapping);
  // Removes all mappings that lie whole in [address, address + size), and gives them.
  std::vector<Mapping> Unmap(uint64_t address, uint64_t size);
  // Removes all mappings that touch [address, address + size): their unmapping was not seen.
  std::vector<Mapping> Displace(uint64_t address, uint64_t size);

  // The free ranges, the largest first, with what is mapped directly before and after each.
  struct Hole {
    uint64_t address = 0;
    uint64_t size = 0;
    Mapping before;  // size 0: the range begins here
    Mapping after;   // size 0: the range ends here
  };
  std::vector<Hole> LargestHoles(size_t most) const;
  uint64_t hole_count() const { return holes_.size(); }

  // What is mapped at `address`: its `memory`; 0 where nothing is.
  uint64_t MemoryAt(uint64_t address) const;

  // Whether anything is mapped in [address, address + size).
  bool AnyMapped(uint64_t address, uint64_t size) const;

  bool any_ranges() const { return ever_reserved_; }
  uint64_t reserved_bytes() const { return reserved_bytes_; }
  uint64_t highest_reserved_bytes() const { return highest_reserved_bytes_; }
  uint64_t mapped_bytes() const { return mapped_bytes_; }
  uint64_t highest_mapped_bytes() const { return highest_mapped_bytes_; }
  // The free ranges, as they are for a request of `request` bytes, with whole units that lie
  // elsewhere. Cost: one step for each distinct size of hole that is large enough.
  FreeMemory Free(uint64_t request, uint64_t elsewhere = 0) const;

  // From now on whole pieces of `unit` bytes, counted from `origin`, can be moved together from
  // wherever they are free. FreeMemory says how much that is.
  void MovesUnits(uint64_t unit, uint64_t origin);

 private:
  // Holes of one size.
  struct Alike {
    uint64_t count = 0;
    uint64_t whole_bytes = 0;  // of whole units
  };

  uint64_t WholeIn(uint64_t address, uint64_t size) const;
  void AddHole(uint64_t address, uint64_t size);
  // Takes [address, end) out of the holes, as far as it lies in them.
  void CutHoles(uint64_t address, uint64_t end);
  void RemoveHole(absl::btree_map<uint64_t, uint64_t>::iterator hole);
  // Puts holes where nothing is mapped any more, as far as it lies in known ranges, joined with
  // their neighbours in the same range.
  void OpenHoles(uint64_t address, uint64_t end);
  void JoinHole(uint64_t from, uint64_t to, uint64_t range_from, uint64_t range_to);
  // The first element that ends after `address`.
  template <typename Tree, typename SizeOf>
  static typename Tree::iterator FirstEndingAfter(Tree* tree, uint64_t address, SizeOf size_of);
  Mapping TakeMapping(absl::btree_map<uint64_t, Mapping>::iterator* mapping);

  absl::btree_map<uint64_t, uint64_t> ranges_;   // address → size
  absl::btree_map<uint64_t, Mapping> mappings_;  // by address
  absl::btree_map<uint64_t, uint64_t> holes_;    // address → size
  absl::btree_map<uint64_t, Alike> hole_sizes_;
  uint64_t reserved_bytes_ = 0;
  uint64_t highest_reserved_bytes_ = 0;
  uint64_t mapped_bytes_ = 0;
  uint64_t highest_mapped_bytes_ = 0;
  uint64_t hole_bytes_ = 0;
  uint64_t unit_ = 0;  // 0: nothing can be moved
  uint64_t origin_ = 0;
  uint64_t whole_bytes_ = 0;
  bool ever_reserved_ = false;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADDRESS_RANGES_H_
