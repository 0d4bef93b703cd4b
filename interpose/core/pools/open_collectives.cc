#include "interpose/core/pools/open_collectives.h"

#include "interpose/core/runtime/this_thread.h"

namespace vramstow {

void OpenCollectives::Open() { ++ThisThread()->collectives; }

void OpenCollectives::Note(const uint64_t* addresses, int count) {
  const void* const thread = ThisThread();
  const MutexLock lock(&mutex_);
  for (int i = 0; i < count; ++i) {
    if (addresses[i] == 0) continue;
    if (count_ == kMax) {
      lacks_some_ = true;
      return;
    }
    entries_[count_++] = {thread, addresses[i]};
  }
}

void OpenCollectives::Close(bool submitted) {
  VramstowThread* const thread = ThisThread();
  if (thread->collectives == 0 || --thread->collectives != 0 || !submitted) return;
  const MutexLock lock(&mutex_);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count_; ++i) {
    if (entries_[i].thread != thread) entries_[kept++] = entries_[i];
  }
  count_ = kept;
  if (count_ == 0) lacks_some_ = false;
}

bool OpenCollectives::any() const {
  mutex_.AssertHeld();
  return count_ != 0;
}

bool OpenCollectives::Uses(uint64_t address, uint64_t bytes) const {
  mutex_.AssertHeld();
  if (lacks_some_) return true;
  for (uint32_t i = 0; i < count_; ++i) {
    if (entries_[i].address - address < bytes) return true;
  }
  return false;
}

void OpenCollectives::AbandonAfterFork() {
  mutex_.Reset();
  count_ = 0;
  lacks_some_ = false;
}

}  // namespace vramstow
