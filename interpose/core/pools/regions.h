// Regions: pieces of a program whose allocations belong together, by name.
//
// Idea: while a thread is in a region, what it allocates has the region's tag (BlockRequest::tag);
// the tag is a number, given to a name when it is first used, and the same in every pool. Regions
// nest; the innermost counts.
//
// Ownership: copies of the names, for ever. Threads: any; each has regions of its own. Errors: the
// codes of include/vramstow/vramstow.h. Units: none.
//
// Lock: mutex_ guards the list of names; nothing is taken while it is held.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_REGIONS_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_REGIONS_H_

#include <cstddef>
#include <cstdint>

#include "base/mutex.h"
#include "base/thread_annotations.h"

namespace vramstow {

class Regions {
 public:
  constexpr Regions() = default;
  Regions(const Regions&) = delete;
  Regions& operator=(const Regions&) = delete;

  // `active`: whether this process has pools at all.
  int Push(const char* name, bool active);
  static int Pop();
  // The tag of this name; 0: nothing was ever allocated under it.
  uint32_t TagOf(const char* name);
  // The tag of the calling thread's innermost region; 0: it is in none.
  static uint32_t Current();

  void AbandonAfterFork() { mutex_.Reset(); }

 private:
  static constexpr uint32_t kMax = 256;
  static constexpr size_t kMaxBytes = 64;  // of a name, with its end

  uint32_t Find(const char* name) const VRAMSTOW_REQUIRES(mutex_);

  FastMutex mutex_;
  uint32_t count_ VRAMSTOW_GUARDED_BY(mutex_) = 0;
  char names_[kMax][kMaxBytes] VRAMSTOW_GUARDED_BY(mutex_) = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_REGIONS_H_
