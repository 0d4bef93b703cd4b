// QuietBlocks: the blocks that no work uses for a while.
//
// Idea: a program knows times in which it does not write some of its memory: an optimizer does not
// write its state between two steps. A copy that is made in such a quiet time stays valid. Other
// blocks are *idle*: they were allocated in this quiet time, no work was seen to touch them for a
// while, and their address is not stored where its use cannot be observed. A block stops being
// quiet when it is freed, or when work is seen to touch it.
//
// Ownership: memory for the most ranges that Set ever got and for kMaxIdle more, until Close.
// Threads: the device's lock. Errors: without memory no block is quiet. Units: bytes; time by the
// clock of touches.
#ifndef VRAMSTOW_ALLOCATOR_OFFLOAD_QUIET_BLOCKS_H_
#define VRAMSTOW_ALLOCATOR_OFFLOAD_QUIET_BLOCKS_H_

#include <cstdint>

#include "allocator/core/device_lock.h"
#include "allocator/offload/policy.h"

namespace vramstow {

struct QuietRange {
  uint64_t address;
  uint64_t bytes;
};

class QuietBlocks {
 public:
  static constexpr uint64_t kMaxIdle = 4096;

  struct Entry {
    QuietRange range;
    uint64_t block_id;  // id of the block that begins there; 0 if unknown
    uint64_t birth;     // of an idle block; a later block has a larger one
    uint32_t since;     // a touch at this time or later ends the quiet time of the block
    bool is_idle;
    bool is_back;          // true if it is idle and work uses it again
    uint64_t begun_up_to;  // of an idle block: copies of the pages below this address have begun
  };

  void Close() VRAMSTOW_REQUIRES(kDeviceLock);

  // Makes exactly these ranges quiet, until they are touched at this time or later.
  void Set(const QuietRange* ranges, uint64_t count, uint32_t since) VRAMSTOW_REQUIRES(kDeviceLock);
  void Clear() VRAMSTOW_REQUIRES(kDeviceLock) { count_ = 0; }
  bool empty() const VRAMSTOW_REQUIRES(kDeviceLock) { return count_ == 0; }

  // Calls visit(entry) for each block, in order of address.
  template <typename Visitor>
  void Visit(Visitor visit) const VRAMSTOW_REQUIRES(kDeviceLock) {
    for (uint64_t i = 0; i < count_; ++i) visit(entries_[i]);
  }
  // Returns the idle block that contains the address, or null.
  Entry* FindIdle(uint64_t address) VRAMSTOW_REQUIRES(kDeviceLock);
  // Returns the youngest idle block that was allocated before this `birth`, or null.
  const Entry* IdleBefore(uint64_t birth) const VRAMSTOW_REQUIRES(kDeviceLock);
  // Returns the oldest idle block with pages whose copies have not begun, or null.
  Entry* FirstOpen() VRAMSTOW_REQUIRES(kDeviceLock);
  // Returns the bytes of all idle blocks whose copies have not begun.
  uint64_t OpenBytes() const VRAMSTOW_REQUIRES(kDeviceLock);

  // Policies that rank the pages of a list. The rank is kQuiet if all blocks of a page are quiet.
  // The policy of Noting also records the ids of these blocks.
  static constexpr uint64_t kQuiet = 0;
  OffloadPolicy Noting() { return {RankAndNote, this}; }
  OffloadPolicy Known() { return {RankKnown, this}; }
  // A policy that gives the rank kQuiet only to pages of idle blocks whose copies have not begun.
  OffloadPolicy Open() { return {RankOpen, this}; }

  // A policy that collects candidates: the oldest blocks that may be idle and were last touched
  // before this time.
  OffloadPolicy Considering(uint32_t touched_before) VRAMSTOW_REQUIRES(kDeviceLock) {
    candidate_count_ = 0;
    touched_before_ = touched_before;
    return {RankAndConsider, this};
  }
  // Makes candidates idle, the oldest first, until they add up to `most` bytes. Calls visit(range)
  // for each block that it makes idle.
  template <typename Visitor>
  void Choose(uint64_t most, uint32_t since, Visitor visit) VRAMSTOW_REQUIRES(kDeviceLock) {
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < candidate_count_ && bytes < most && idle_count_ < kMaxIdle; ++i) {
      Add(candidates_[i], since);
      visit(candidates_[i].range);
      bytes += candidates_[i].range.bytes;
    }
    candidate_count_ = 0;
  }

 private:
  struct Candidate {
    QuietRange range;
    uint64_t block_id;
    uint64_t birth;
  };
  static constexpr uint64_t kMaxCandidates = 64;
  // Smaller blocks share their pages with other blocks.
  static constexpr uint64_t kLeastIdleBytes = uint64_t{4} << 20;

  static uint64_t RankAndNote(const void* self, const PageUse& use);
  static uint64_t RankKnown(const void* self, const PageUse& use);
  static uint64_t RankOpen(const void* self, const PageUse& use);
  static uint64_t RankAndConsider(const void* self, const PageUse& use);
  Entry* FindCovering(const PageUse& use) const;
  const Entry* FindKnown(const PageUse& use) const;
  bool MayBeIdle(const PageUse& use) const;
  void MergeOverlaps() VRAMSTOW_REQUIRES(kDeviceLock);
  void Consider(const Candidate& candidate);
  void Add(const Candidate& candidate, uint32_t since) VRAMSTOW_REQUIRES(kDeviceLock);

  Entry* entries_ = nullptr;  // in order of address; they do not overlap
  uint64_t room_ = 0;
  uint64_t count_ = 0;
  uint64_t idle_count_ = 0;
  uint32_t since_ = 0;  // when the quiet time began
  uint32_t touched_before_ = 0;
  Candidate candidates_[kMaxCandidates] = {};  // in order of age
  uint64_t candidate_count_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_QUIET_BLOCKS_H_
