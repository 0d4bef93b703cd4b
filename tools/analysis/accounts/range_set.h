// RangeSet: ranges of addresses that do not overlap (the free ranges of a pool).
//
// Idea: the map is ordered by the ends of the ranges, so that a cut at the beginning of a range, or
// an extension before it, changes it in place. Ranges are also counted by size, so that the largest
// one and the bytes in ranges that are too small for a request are known without a traversal.
// Nearly all sizes are small multiples of 512. Such sizes are counted in a table, and all other
// sizes in a tree.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: none. Units:
// bytes, addresses. Cost: O(log n) for each range that a change touches.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_RANGE_SET_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_RANGE_SET_H_

#include <cstdint>
#include <vector>

#include "absl/container/btree_map.h"
#include "tools/analysis/accounts/address_range.h"
#include "tools/analysis/facts/fragmentation_facts.h"

namespace vramstow {

class RangeSet {
 public:
  // Adds [from, to) to the set and joins it with the ranges that end or begin at its edges. A
  // neighbour below `low`, or at or above `high`, is not joined, because it belongs to another
  // range.
  void Add(uint64_t from, uint64_t to, uint64_t low = 0, uint64_t high = ~uint64_t{0});
  // Removes [from, to) from the set. Returns how many bytes of it were in the set.
  uint64_t Cut(uint64_t from, uint64_t to);

  // The function Inside returns the parts of [from, to) that are in the set; the function Outside
  // returns the parts that are not.
  std::vector<AddressRange> Inside(uint64_t from, uint64_t to) const;
  std::vector<AddressRange> Outside(uint64_t from, uint64_t to) const;
  // Returns the first of the largest ranges; an empty range if the set is empty.
  AddressRange Largest() const;

  bool empty() const { return by_end_.empty(); }
  uint64_t count() const { return by_end_.size(); }
  uint64_t bytes() const { return bytes_; }

  // Must be called if the pool moves chunks. From this call on, free pieces of `unit` bytes, whose
  // addresses are counted from `origin`, can be combined wherever they are.
  void MovesUnits(uint64_t unit, uint64_t origin);
  // Returns the ranges as free memory for a request of `request` bytes. `elsewhere` is the number
  // of free bytes in whole units outside this set. Cost: one step for each different size of the
  // ranges that are large enough.
  FreeMemory Free(uint64_t request, uint64_t elsewhere) const;

 private:
  using Tree = absl::btree_map<uint64_t, uint64_t>;  // end → beginning
  static constexpr uint64_t kStep = 512;
  static constexpr uint64_t kSteps = 4096;

  // The ranges that have the same size.
  struct Alike {
    uint64_t count = 0;
    uint64_t whole_bytes = 0;  // of whole units
  };
  static bool IsSmall(uint64_t size) { return size % kStep == 0 && size < kStep * kSteps; }

  uint64_t WholeIn(uint64_t from, uint64_t to) const;
  void Count(uint64_t from, uint64_t to);
  void Forget(uint64_t from, uint64_t to);
  uint64_t LargestSize() const;

  Tree by_end_;
  std::vector<Alike> small_;                // by size in steps
  mutable size_t small_end_ = 0;            // the end of the used part of small_
  absl::btree_map<uint64_t, Alike> sizes_;  // the others, by size
  uint64_t bytes_ = 0;
  uint64_t unit_ = 0;  // 0 if nothing can be moved
  uint64_t origin_ = 0;
  uint64_t whole_bytes_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_RANGE_SET_H_
