// RegistrationTable stores the ranges of a pool's memory that a library has registered, by the
// handle that the library returned.
//
// Idea: a chained hash table. A handle may stand for several registrations: if a library registers
// a part of a range that is already registered, it returns the same handle again. It retains the
// whole range until the last of these registrations has ended. So the smallest range is removed
// first.
//
// Ownership: static storage, constant-initialised with zeros. Threads: any. Errors: Put returns
// false if the table is full. Units: bytes.
//
// Lock: mutex_ guards the entries; nothing is taken while it is held.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_REGISTRATION_TABLE_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_REGISTRATION_TABLE_H_

#include <cstdint>

#include "base/mutex.h"
#include "base/thread_annotations.h"

namespace vramstow {

// Memory of a pool that must not be moved.
struct HeldRange {
  uint64_t address = 0;
  uint64_t size = 0;     // 0 if it is no pool's memory
  uint32_t pool = 0;     // its number in Pools
  uint32_t opening = 0;  // distinguishes pools that had this number
};

class RegistrationTable {
 public:
  constexpr RegistrationTable() = default;
  RegistrationTable(const RegistrationTable&) = delete;
  RegistrationTable& operator=(const RegistrationTable&) = delete;

  // Stores a range under this handle. Returns false if the table is full.
  bool Put(const void* handle, const HeldRange& range);
  // Removes and returns the smallest range of the handle; its size is 0 if there is none.
  HeldRange Take(const void* handle);

  // Removes all entries; called by the only thread of a forked child.
  void AbandonAfterFork() VRAMSTOW_NO_LOCK_ANALYSIS;

 private:
  static constexpr uint32_t kMax = 1U << 16;
  static constexpr unsigned kHeadBits = 14;
  struct Entry {
    const void* handle = nullptr;
    HeldRange range;
    uint32_t next = 0;  // the next entry of its list or of the free list; 0 for none
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
