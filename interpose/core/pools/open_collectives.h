// OpenCollectives stores the buffers of NCCL's collectives whose work is not submitted yet.
//
// Idea: a collective is submitted before its call returns, or, in a group, before the group ends.
// Its buffers count as touched when the program calls it. A quiet time (a time in which the program
// promises not to use memory: vramstow_quiet) may begin between the call and the submission. It
// would then take these buffers for unused memory and evict them to the host. So ranges that
// contain such buffers are excluded from the quiet time.
//
// Ownership: static storage, constant-initialised with zeros. Threads: any; a group belongs to its
// thread. Errors: if the table is full, all memory counts as used until no collective is open.
// Units: addresses.
//
// Lock: mutex_ guards the entries. It also prevents that a collective opens while a quiet time
// begins; locks of the pools are taken while it is held. A thread that takes it holds no
// GateTicket.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_OPEN_COLLECTIVES_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_OPEN_COLLECTIVES_H_

#include <cstdint>

#include "base/mutex.h"
#include "base/thread_annotations.h"

namespace vramstow {

class OpenCollectives {
 public:
  constexpr OpenCollectives() = default;
  OpenCollectives(const OpenCollectives&) = delete;
  OpenCollectives& operator=(const OpenCollectives&) = delete;

  // Notes that this thread is about to call a collective, or has begun a group. Groups may be
  // nested.
  static void Open();
  // Stores the buffers of a collective. Called before these buffers are reported as used.
  void Note(const uint64_t* addresses, int count);
  // Notes that the call or the group has ended. If `submitted` is false, the library does the work
  // later. The buffers are then retained until this thread's next call or group ends.
  void Close(bool submitted);

  // Calls begin(). While it runs, no other thread can add a buffer.
  template <typename Begin>
  auto WhileNoneOpens(Begin begin) {
    const MutexLock lock(&mutex_);
    return begin();
  }
  // These functions are called inside begin(). any() returns true if there is any buffer. Uses()
  // returns true if this range contains a buffer.
  bool any() const;
  bool Uses(uint64_t address, uint64_t bytes) const;

  // Removes all buffers; called by the only thread of a forked child.
  void AbandonAfterFork() VRAMSTOW_NO_LOCK_ANALYSIS;

 private:
  static constexpr uint32_t kMax = 1024;
  struct Entry {
    const void* thread = nullptr;
    uint64_t address = 0;
  };

  mutable FastMutex mutex_;
  uint32_t count_ VRAMSTOW_GUARDED_BY(mutex_) = 0;
  bool lacks_some_ VRAMSTOW_GUARDED_BY(mutex_) = false;
  Entry entries_[kMax] VRAMSTOW_GUARDED_BY(mutex_) = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_OPEN_COLLECTIVES_H_
