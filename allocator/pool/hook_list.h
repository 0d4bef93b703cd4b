// HookList: the application's hooks, which run when an allocation cannot be served and after cached
// memory was given back.
//
// Idea: a copy of the list is called, so that hooks may add and remove hooks. A thread that runs
// hooks does not run them again: a hook that allocates under pressure does not call itself.
//
// Ownership: none. Threads: any; hooks run without any lock. Errors: false: the table is full.
// Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_POOL_HOOK_LIST_H_
#define VRAMSTOW_ALLOCATOR_POOL_HOOK_LIST_H_

#include <atomic>
#include <cstdint>

#include "base/mutex.h"
#include "base/typed_event.h"

namespace vramstow {

// HookKind::kPressure: an allocation cannot be served: drop your caches; `bytes` are lacking.
// kTrimmed: so many bytes were given back.
using PressureHook = void (*)(void* context, HookKind kind, uint64_t bytes);

class HookList {
 public:
  static constexpr int kMaxHooks = 32;

  bool Add(PressureHook hook, void* context);
  void Remove(PressureHook hook, void* context);
  // False: no hook ran.
  bool Run(HookKind kind, uint64_t bytes);
  // Calls of hooks, ever.
  uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    PressureHook hook;
    void* context;
  };

  // Takes part in running hooks and copies the list. The number of hooks; 0: not now.
  int Begin(Entry* hooks);
  void End();

  FastMutex mutex_;
  Entry hooks_[kMaxHooks] VRAMSTOW_GUARDED_BY(mutex_) = {};
  int count_ VRAMSTOW_GUARDED_BY(mutex_) = 0;
  uint64_t threads_[kMaxHooks] VRAMSTOW_GUARDED_BY(mutex_) = {};  // that run hooks right now
  std::atomic<uint64_t> calls_{0};
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_HOOK_LIST_H_
