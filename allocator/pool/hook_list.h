// HookList: the application's hooks, which run when an allocation cannot be served and after cached
// memory was released.
//
// Idea: Run calls a copy of the list, so that hooks may add and remove hooks. A thread that runs
// hooks does not run them again, so a hook that allocates under pressure does not call itself.
//
// Ownership: none. Threads: any; hooks run without any lock. Errors: Add returns false if the table
// is full. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_POOL_HOOK_LIST_H_
#define VRAMSTOW_ALLOCATOR_POOL_HOOK_LIST_H_

#include <atomic>
#include <cstdint>

#include "base/mutex.h"
#include "base/typed_event.h"

namespace vramstow {

// A hook of the application. HookKind::kPressure means that an allocation cannot be served because
// `bytes` are lacking; the hook should drop the application's caches. HookKind::kTrimmed means that
// `bytes` were released to the device.
using PressureHook = void (*)(void* context, HookKind kind, uint64_t bytes);

class HookList {
 public:
  static constexpr int kMaxHooks = 32;

  bool Add(PressureHook hook, void* context);
  void Remove(PressureHook hook, void* context);
  // Runs the hooks. Returns false if none ran.
  bool Run(HookKind kind, uint64_t bytes);
  // The number of hook calls so far.
  uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    PressureHook hook;
    void* context;
  };

  // Marks this thread as running hooks and copies the list of hooks. Returns the number of hooks,
  // or 0 if the thread must not run any now.
  int Begin(Entry* hooks);
  void End();

  FastMutex mutex_;
  Entry hooks_[kMaxHooks] VRAMSTOW_GUARDED_BY(mutex_) = {};
  int count_ VRAMSTOW_GUARDED_BY(mutex_) = 0;
  uint64_t threads_[kMaxHooks] VRAMSTOW_GUARDED_BY(mutex_) = {};  // threads that run hooks now
  std::atomic<uint64_t> calls_{0};
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_HOOK_LIST_H_
