#include "interpose/core/pools/captures.h"

namespace vramstow {

bool Captures::Begin(uint64_t stream, const void* context) {
  MutexLock lock(&mutex_);
  for (int i = 0; i < count_; ++i) {
    if (captures_[i].stream == stream) return false;
  }
  if (count_ == kRoom) return false;
  captures_[count_++] = {stream, context};
  return true;
}

bool Captures::End(uint64_t stream) {
  MutexLock lock(&mutex_);
  for (int i = 0; i < count_; ++i) {
    if (captures_[i].stream != stream) continue;
    captures_[i] = captures_[--count_];
    return true;
  }
  return false;
}

int Captures::EndAll(const void* context) {
  MutexLock lock(&mutex_);
  const int before = count_;
  for (int i = count_ - 1; i >= 0; --i) {
    if (captures_[i].context == context) captures_[i] = captures_[--count_];
  }
  return before - count_;
}

void Captures::Clear() {
  mutex_.Reset();
  count_ = 0;
}

}  // namespace vramstow
