// RegistrationTable: which range of a pool's memory a library has registered, by the handle that it
// gave for that.
//
// Idea: a chained hash table. A handle may stand for several registrations: a library that is told
// of a part of what it knows gives the same handle again, and keeps the whole until the last of
// them is ended. So the smallest is ended first.
//
// Ownership: static storage, constant-initialised with zeros. Threads: any. Errors: where there is
// no room, Put says so. Units: bytes.
//
// Lock: mutex_ guards the entries; nothing is taken while it is held.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_REGISTRATION_TABLE_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_REGISTRATION_TABLE_H_

#include <cstdint>

#include "base/mutex.h"
#include "base/thread_annotations.h"

namespace vramstow {

// Memory of a pool that is held in place.
struct HeldRange {
  uint64_t address = 0;
  uint64_t size = 0;     // 0: no pool's
  uint32_t pool = 0;     // its number in Pools
  uint32_t opening = 0;  // which of the pools that had this number
};

class RegistrationTable {
 public:
  constexpr RegistrationTable() = default;
  RegistrationTable(const RegistrationTable&) = delete;
  RegistrationTable& operator=(const RegistrationTable&) = delete;

  // False: there is no room.
  bool Put(const void* handle, const HeldRange& range);
  // The smallest range of the handle, which leaves the table; of size 0: there is none.
  HeldRange Take(const void* handle);

  // In a forked child, whose only thread this is.
  void AbandonAfterFork() VRAMSTOW_NO_LOCK_ANALYSIS;

 private:
  static constexpr uint32_t kMax = 1U << 16;
  static constexpr unsigned kHeadBits = 14;
  struct Entry {
    const void* handle = nullptr;
    HeldRange range;
    uint32_t next = 0;  // of the same head, or of those that are free; 0: none
  };

  uint32_t* HeadOf(const void* handle) VRAMSTOW_REQUIRES(mutex_);

  FastMutex mutex_;
  uint32_t used_ VRAMSTOW_GUARDED_BY(mutex_) = 0;  // entries that were ever used
  uint32_t free_ VRAMSTOW_GUARDED_BY(mutex_) = 0;
  uint32_t heads_[1U << kHeadBits] VRAMSTOW_GUARDED_BY(mutex_) = {};
  Entry entries_[kMax] VRAMSTOW_GUARDED_BY(mutex_) = {};  // the first is never used
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_REGISTRATION_TABLE_H_
