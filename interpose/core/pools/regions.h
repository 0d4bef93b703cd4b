// Regions stores the names of regions: parts of a program whose allocations belong together.
//
// Idea: while a thread is in a region, its allocations get the region's tag (BlockRequest::tag).
// The tag is a number that is assigned to a name when the name is first used; it is the same in
// every pool. Regions can be nested; allocations get the tag of the innermost region.
//
// Ownership: copies of the names, for ever. Threads: any; each thread has its own stack of regions.
// Errors: the codes of include/vramstow/vramstow.h. Units: none.
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

  // Enters a region, and Pop leaves it. `active` is true if this process has pools at all.
  int Push(const char* name, bool active);
  static int Pop();
  // Returns the tag of this name, or 0 if nothing was ever allocated under it.
  uint32_t TagOf(const char* name);
  // Returns the tag of the calling thread's innermost region, or 0 if it is in none.
  static uint32_t Current();

  void AbandonAfterFork() { mutex_.Reset(); }

 private:
  static constexpr uint32_t kMax = 256;
  static constexpr size_t kMaxBytes = 64;  // the most bytes of a name, with its zero byte

  uint32_t Find(const char* name) const VRAMSTOW_REQUIRES(mutex_);

  FastMutex mutex_;
  uint32_t count_ VRAMSTOW_GUARDED_BY(mutex_) = 0;
  char names_[kMax][kMaxBytes] VRAMSTOW_GUARDED_BY(mutex_) = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_REGIONS_H_
