// OpenCollectives: the buffers of NCCL's collectives whose work is not submitted yet.
//
// Idea: a collective is submitted before its call returns, or, in a group, before the group ends.
// Its buffers counted as touched when the program called it. But a quiet time that begins in
// between takes them for memory that nobody uses, and has them parked. So it begins without the
// ranges in which these buffers lie.
//
// Ownership: static storage, constant-initialised with zeros. Threads: any; a group belongs to its
// thread. Errors: where there is no room, all memory counts as used until no collective is open.
// Units: addresses.
//
// Lock: mutex_ guards the entries, and keeps collectives from opening while a quiet time begins:
// locks of the pools are taken while it is held. Nobody takes it inside the gate.
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

  // This thread is about to call a collective, or has begun a group. Groups may lie in groups.
  static void Open();
  // Before the buffers count as touched.
  void Note(const uint64_t* addresses, int count);
  // The call, or the group, has ended. False for `submitted`: the library does the work later, so
  // that its buffers stay until this thread's next one ends.
  void Close(bool submitted);

  // Calls begin() while no buffer can be noted.
  template <typename Begin>
  auto WhileNoneOpens(Begin begin) {
    const MutexLock lock(&mutex_);
    return begin();
  }
  // For begin(). Whether there is a buffer, and whether this range has one.
  bool any() const;
  bool Uses(uint64_t address, uint64_t bytes) const;

  // In a forked child, whose only thread this is.
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
