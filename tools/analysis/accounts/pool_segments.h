// PoolSegments: the memory that pools hold: which memory they took from the device, where it is
// mapped, and the times of both.
//
// Idea: a pool takes memory as segments (address and size at once) or as physical memory under a
// handle, which it maps. Memory with a handle counts as reserved once, by its handle; its mappings
// do not count and are stored as segments only so that a report can draw them.
//
// Ownership: keeps copies; the accounts and the free space outlive it. Threads: used by one thread
// at a time. Errors: a release of memory whose allocation was not seen is in the counts. Units:
// bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_POOL_SEGMENTS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_POOL_SEGMENTS_H_

#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "tools/analysis/accounts/accounts.h"
#include "tools/analysis/accounts/free_space.h"
#include "tools/analysis/facts/lives.h"

namespace vramstow {

class PoolSegments {
 public:
  PoolSegments(Accounts* accounts, FreeSpace* space) : accounts_(*accounts), space_(*space) {}

  // Adds memory that a pool took: a kAllocate event or, if `grows` is true, a kMap event, which
  // adds addresses to a range. Returns how many bytes are newly reserved on the device; nullopt if
  // the memory of the event does not count as reserved.
  std::optional<uint64_t> Take(const Event& event, bool grows);
  // Removes memory that a pool released: a kFree event or, if `shrinks` is true, a kUnmap event.
  // Returns how many bytes are no longer reserved.
  uint64_t GiveBack(const Event& event, bool shrinks);
  // Ends a segment that may have been released by an event that is missing.
  void Lose(uint64_t address);
  // Records that `block`, which was added to the levels before, lies in a pool's memory.
  void Place(const Event& event, const LiveBlock& block);

  // The free memory on one device, and the part of it that lies in chunks that are mapped nowhere.
  // Cost: a traversal of all segments.
  struct FreeOnDevice {
    RangeSet holes;
    uint64_t unplaced_bytes = 0;
  };
  FreeOnDevice FreeOn(int16_t device) const;

  // Returns the lives of all segments, including those that are still live. Call it at the end of
  // the analysis.
  Lives MoveOutLives();

 private:
  struct Segment {
    uint64_t size = 0;
    uint64_t birth = 0;
    uint64_t birth_ns = 0;
    uint64_t stream = kUnknownStream;
    uint32_t site = 0;
    int16_t device = kNoDevice;
    bool counts = true;  // false for a mapping of memory that is counted by its handle
    bool opened = false;
    bool grows = false;  // joins its neighbours
  };
  using Segments = absl::flat_hash_map<uint64_t, Segment>;

  Segment SegmentOf(const Event& event, uint64_t size, bool grows);
  void Insert(Segments* table, uint64_t address, const Segment& segment);
  bool EndWhole(const Event& event, bool is_handle, uint64_t* given_back);
  void EndMapped(uint64_t address, uint64_t size, uint64_t* given_back);
  void Unreserve(const Segment& segment, uint64_t size, uint64_t* given_back);
  void FollowChunks(const Event& event);
  static Life LifeOf(uint64_t address, uint64_t size, const Segment& segment);
  void EndLife(uint64_t address, uint64_t size, const Segment& segment);

  Accounts& accounts_;
  FreeSpace& space_;
  Segments segments_;  // by address
  Segments handles_;   // by handle
  Lives lives_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_POOL_SEGMENTS_H_
