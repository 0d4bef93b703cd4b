// PoolSpace: the memory of pools, where it lies, and which part of it is free.
//
// Idea: memory that was taken as a segment stays at its address. Memory that has a handle (a chunk)
// counts once, however often it is mapped: when a pool moves a chunk, it leaves the chunk mapped at
// its old pages, and reuses these mappings later without a call of the driver. So only one of the
// mappings counts as the place of the chunk: the newest one, until a block is allocated in another
// one. With this rule, the free memory is always the memory that the pool holds and that no block
// uses.
//
// Blocks are allocated and freed far more often than the free memory is queried, and most are freed
// before the next query. So an allocation or a free is only noted, and all noted blocks are placed
// in order of address when there is a query. A block that is allocated and freed between two
// queries costs only the notes.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time, const functions included.
// Errors: none; a handle whose creation was not seen is taken for memory of the device. Units:
// bytes, addresses. Cost: O(log n) for each change, and for each page that maps a chunk but does
// not count as its place. Memory: bounded for the notes; otherwise proportional to the live memory.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_POOL_SPACE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_POOL_SPACE_H_

#include <cstdint>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "tools/analysis/accounts/address_ranges.h"
#include "tools/analysis/accounts/block_notes.h"
#include "tools/analysis/facts/fragmentation_facts.h"

namespace vramstow {

class PoolSpace {
 public:
  // --- Memory.
  // These functions add and remove a segment, which is one range.
  void AddSegment(uint64_t address, uint64_t size);
  void EndSegment(uint64_t address);
  // These functions add and remove memory under a handle, which is mapped nowhere at first.
  // `on_host` is true for host memory and false for device memory.
  void AddHandle(uint64_t handle, uint64_t size, bool on_host);
  void EndHandle(uint64_t handle, bool on_host);
  // Adds a mapping and joins it with its neighbours. A mapping whose handle is 0 counts as separate
  // memory.
  void Map(uint64_t address, uint64_t size, uint64_t handle);
  void Unmap(uint64_t address, uint64_t size);

  // --- Blocks.
  void Put(uint64_t address, uint64_t size);
  void Take(uint64_t address, uint64_t size);

  // A page to which, or away from which, the last call of AddSegment, Map or a similar function
  // moved a chunk.
  struct Change {
    uint64_t address = 0;
    uint64_t size = 0;
    bool is_there = false;
  };
  const std::vector<Change>& changes() const { return changes_; }

  bool any() const { return any_; }
  bool moves() const { return unit_ != 0; }
  FreeMemory Free(uint64_t request) const;
  uint64_t hole_count() const { return Holes().count(); }
  AddressRange LargestHole() const { return Holes().Largest(); }
  // Returns the free bytes that lie within `parts` of the memory. Neighbouring parts are not
  // joined.
  RangeSet HolesIn(const std::vector<AddressRange>& parts) const;
  // Returns the bytes of the chunk under this handle that are mapped nowhere.
  uint64_t UnplacedBytes(uint64_t handle) const;

 private:
  struct Page {
    uint64_t size = 0;
    uint64_t handle = 0;
  };
  struct Chunk {
    uint64_t size = 0;  // 0 if its creation was not seen
    uint64_t place = 0;
    bool has_place = false;
    std::vector<uint64_t> pages;
  };

  void PlaceBlocks() const;
  const RangeSet& Holes() const {
    PlaceBlocks();
    return ranges_.holes();
  }
  void Come(uint64_t address, uint64_t size) const;
  void Go(uint64_t address, uint64_t size) const;
  void UseWhatCame(uint64_t address, uint64_t size);
  void Grow(uint64_t address, uint64_t size);
  void Shrink(uint64_t address, uint64_t size);
  void Show(uint64_t address, Chunk* chunk);
  void Hide(Chunk* chunk);
  absl::btree_map<uint64_t, Page>::iterator RemovePage(
      absl::btree_map<uint64_t, Page>::iterator page);

  // All memory of the pools. A range in it is used if it belongs to a block that was placed.
  mutable AddressRanges ranges_;
  mutable RangeSet used_outside_;          // used by blocks whose device memory is not mapped now
  mutable BlockNotes notes_;               // blocks that are not placed yet
  absl::btree_map<uint64_t, Page> pages_;  // of chunks, by address
  absl::btree_map<uint64_t, uint64_t> hidden_;   // pages without their chunk → size
  absl::flat_hash_map<uint64_t, Chunk> chunks_;  // by handle
  absl::flat_hash_set<uint64_t> host_handles_;
  std::vector<Change> changes_;
  uint64_t unmapped_bytes_ = 0;
  uint64_t unit_ = 0;
  uint64_t origin_ = 0;  // the address from which units are counted
  bool any_ = false;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_POOL_SPACE_H_
