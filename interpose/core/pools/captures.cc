#include "interpose/core/pools/captures.h"

namespace vramstow {

bool Captures::Begin(uint64_t stream, const void* context) {
  MutexLock lock(&mutex_);
  const int count = this->count();
  for (int i = 0; i < count; ++i) {
    if (captures_[i].stream == stream) return false;
  }
  if (count == kRoom) return false;
  captures_[count] = {stream, context};
  count_.store(count + 1, std::memory_order_relaxed);
  return true;
}

bool Captures::End(uint64_t stream) {
  MutexLock lock(&mutex_);
  const int count = this->count();
  for (int i = 0; i < count; ++i) {
    if (captures_[i].stream != stream) continue;
    captures_[i] = captures_[count - 1];
    count_.store(count - 1, std::memory_order_relaxed);
    return true;
  }
  return false;
}

int Captures::EndAll(const void* context) {
  MutexLock lock(&mutex_);
  const int before = count();
  int left = before;
  for (int i = before - 1; i >= 0; --i) {
    if (captures_[i].context == context) captures_[i] = captures_[--left];
  }
  count_.store(left, std::memory_order_relaxed);
  return before - left;
}

void Captures::Clear() {
  mutex_.Reset();
  count_.store(0, std::memory_order_relaxed);
}

}  // namespace vramstow
