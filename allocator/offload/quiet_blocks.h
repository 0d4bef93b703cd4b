// QuietBlocks: the blocks that no work writes until somebody says otherwise.
//
// Idea: a program knows times in which it does not write some of its memory: an optimizer does not
// write its state between two steps. A copy that is made in such a time stays right. A block is
// quiet as long as it is the block that it was when it was told, and nothing was seen to touch it.
//
// Ownership: room for as many ranges as were ever told, until Close. Threads: the device's lock.
// Errors: without memory no block is quiet. Units: bytes.
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
  void Close() VRAMSTOW_REQUIRES(kDeviceLock);

  // These ranges are quiet, and no others.
  void Set(const QuietRange* ranges, uint64_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  void Clear() VRAMSTOW_REQUIRES(kDeviceLock) { count_ = 0; }
  bool empty() const VRAMSTOW_REQUIRES(kDeviceLock) { return count_ == 0; }

  // Calls visit(range) for each, in order of address.
  template <typename Visitor>
  void Visit(Visitor visit) const VRAMSTOW_REQUIRES(kDeviceLock) {
    for (uint64_t i = 0; i < count_; ++i) visit(entries_[i].range);
  }

  // Ranks of pages for a list: kQuiet where all blocks of a page are. The first one notes which
  // blocks these are.
  static constexpr uint64_t kQuiet = 0;
  OffloadPolicy Noting() { return {RankAndNote, this}; }
  OffloadPolicy Known() { return {RankKnown, this}; }

 private:
  struct Entry {
    QuietRange range;
    uint64_t block_id;  // of the block that begins there; 0: not noted
  };

  static uint64_t RankAndNote(const void* self, const PageUse& use);
  static uint64_t RankKnown(const void* self, const PageUse& use);
  Entry* FindCovering(const PageUse& use) const;

  Entry* entries_ = nullptr;
  uint64_t room_ = 0;
  uint64_t count_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_QUIET_BLOCKS_H_
