#include "allocator/pool/hook_list.h"

#include <pthread.h>

namespace vramstow {
namespace {

// Returns a number that is never 0 for a running thread.
uint64_t CurrentThread() { return static_cast<uint64_t>(pthread_self()); }

}  // namespace

bool HookList::Add(PressureHook hook, void* context) {
  MutexLock lock(&mutex_);
  if (count_ == kMaxHooks) return false;
  hooks_[count_++] = {hook, context};
  return true;
}

void HookList::Remove(PressureHook hook, void* context) {
  MutexLock lock(&mutex_);
  for (int i = 0; i < count_; ++i) {
    if (hooks_[i].hook != hook || hooks_[i].context != context) continue;
    for (int k = i + 1; k < count_; ++k) hooks_[k - 1] = hooks_[k];
    --count_;
    return;
  }
}

int HookList::Begin(Entry* hooks) {
  MutexLock lock(&mutex_);
  const uint64_t self = CurrentThread();
  for (const uint64_t thread : threads_) {
    if (thread == self) return 0;
  }
  int slot = 0;
  while (slot < kMaxHooks && threads_[slot] != 0) ++slot;
  if (slot == kMaxHooks || count_ == 0) return 0;
  threads_[slot] = self;
  for (int i = 0; i < count_; ++i) hooks[i] = hooks_[i];
  return count_;
}

void HookList::End() {
  MutexLock lock(&mutex_);
  for (uint64_t& thread : threads_) {
    if (thread == CurrentThread()) thread = 0;
  }
}

bool HookList::Run(HookKind kind, uint64_t bytes) {
  Entry hooks[kMaxHooks];
  const int count = Begin(hooks);
  if (count == 0) return false;
  for (int i = 0; i < count; ++i) {
    hooks[i].hook(hooks[i].context, kind, bytes);
    calls_.fetch_add(1, std::memory_order_relaxed);
  }
  End();
  return true;
}

}  // namespace vramstow
