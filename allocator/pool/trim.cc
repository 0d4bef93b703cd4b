// Giving memory back to the device, and the hooks of the application.
#include <pthread.h>

#include "allocator/pool/pool.h"

namespace vramstow {

// Chunks that are mapped nowhere go back to the device. The device's lock is held.
uint64_t Pool::ReleaseIdle(uint64_t chunks) {
  uint64_t released = 0;
  chunks_.Release(chunks, &released);
  Bump(&released_, released);
  return released;
}

// Gives idle chunks and free pages of all heaps back; of segments, with `no_more`, only what is not
// larger. *waits (may be null): some memory would be free but for work that has not finished. The
// device's lock is held.
uint64_t Pool::GiveBack(uint64_t chunks, uint32_t before_epoch, bool no_more, bool* waits) {
  uint64_t given = ReleaseIdle(chunks);
  if (given >= chunks) return given;
  const uint64_t stripped = StripAll(chunks - given, before_epoch, waits, no_more);
  if (segments()) {
    Bump(&released_, stripped);
    given += stripped;
  } else if (stripped != 0) {
    given += ReleaseIdle(chunks - given);
  }
  return given;
}

// A heap's free pages go to the store, free segments to the device. The heap's lock is held.
Heap::StripResult Pool::StripFree(Heap* heap, uint64_t pages, uint32_t before_epoch, bool no_more) {
  return segments() ? heap->ReleaseSegments(pages, before_epoch, no_more)
                    : heap->Strip(pages, before_epoch, Heap::Plan());
}

// The same of all heaps.
uint64_t Pool::StripAll(uint64_t chunks, uint32_t before_epoch, bool* waits, bool no_more) {
  uint64_t stripped = 0;
  const uint32_t heaps = heap_count_.load(std::memory_order_relaxed);
  for (uint32_t number = 1; number <= heaps && stripped < chunks; ++number) {
    Heap* heap = heaps_[number];
    HeapLock lock(heap);
    heap->Settle();
    const Heap::StripResult strip = StripFree(heap, chunks - stripped, before_epoch, no_more);
    stripped += strip.pages;
    if (waits != nullptr) {
      *waits |=
          strip.waiting != 0 || heap->stats.pending_bytes.load(std::memory_order_relaxed) != 0;
    }
  }
  return stripped;
}

void Pool::EnsureAllFences() {
  const uint32_t heaps = heap_count_.load(std::memory_order_relaxed);
  for (uint32_t number = 1; number <= heaps; ++number) {
    Heap* heap = heaps_[number];
    HeapLock lock(heap);
    heap->EnsureFences();
    fences_.Ensure(heap->timeline, fences_.OpenTick(heap->timeline));
  }
  fences_.Poll();
}

TrimResult Pool::Trim(const TrimRequest& request) {
  const uint64_t since = Now();
  const uint64_t chunk = config_.chunk_bytes;
  const uint64_t wanted =
      request.bytes == ~uint64_t{0} ? request.bytes : (request.bytes + chunk - 1) / chunk;
  uint64_t released = 0;
  for (;;) {
    {
      MutexLock device_lock(&mutex_);
      int32_t previous = 0;
      const bool relaxed = driver_->relax_capture(driver_->self, &previous) == kDriverSuccess;
      EnsureAllFences();
      bool waits = false;
      released += GiveBack(wanted - released, ~uint32_t{0}, true, &waits);
      // Chunks whose shadows work may still touch.
      waits |= chunks_.idle_chunks() != 0;
      if (relaxed) driver_->restore_capture(driver_->self, previous);
      // What was needed before is no measure for what is held from now on.
      trimmed_ = true;
      peak_since_trim_ = AllocatedBytes();
      CheckIfAsked();
      if (released >= wanted || !waits || Now() - since >= request.wait_ns || fences_.capturing()) {
        events_.Step(EventKind::kCacheTrim, released * chunk, 0, 0, kUnknownStream, kDriverSuccess);
        break;
      }
    }
    driver_->pause(driver_->self, 100'000);
  }
  const TrimResult result{released * chunk, Now() - since};
  if (released != 0) RunHooks(HookKind::kTrimmed, result.released_bytes);
  return result;
}

DriverResult Pool::Synchronize() { return fences_.Synchronize(); }

DriverResult Pool::RenewAccess() {
  MutexLock device_lock(&mutex_);
  const uint32_t heaps = heap_count_.load(std::memory_order_relaxed);
  for (uint32_t number = 1; number <= heaps; ++number) {
    HeapLock lock(heaps_[number]);
    const DriverResult result = heaps_[number]->RenewAccess();
    if (result != kDriverSuccess) return result;
  }
  return kDriverSuccess;
}

uint64_t Pool::Maintain() {
  const uint64_t chunk = config_.chunk_bytes;
  uint64_t released = 0;
  {
    MutexLock device_lock(&mutex_);
    const uint64_t now = Now();
    epochs_.Advance(now);
    if (fences_.capturing()) return 0;
    if (config_.decay_ns != 0) {
      const uint32_t old = epochs_.OlderThan(config_.decay_ns, now);
      if (old != 0) {
        EnsureAllFences();
        released += GiveBack(~uint64_t{0}, old, false, nullptr);
      }
    }
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    if (config_.watermark_bytes != 0 &&
        driver_->memory_info(driver_->self, &free_bytes, &total_bytes) == kDriverSuccess &&
        free_bytes < config_.watermark_bytes) {
      const uint64_t wanted = (config_.watermark_bytes - free_bytes + chunk - 1) / chunk;
      EnsureAllFences();
      released += GiveBack(wanted, ~uint32_t{0}, false, nullptr);
    }
    CheckIfAsked();
    if (released != 0) {
      events_.Step(EventKind::kCacheTrim, released * chunk, 0, 0, kUnknownStream, kDriverSuccess);
    }
  }
  if (released != 0) RunHooks(HookKind::kTrimmed, released * chunk);
  return released * chunk;
}

// --- Hooks --------------------------------------------------------------------------------------

bool Pool::AddHook(PressureHook hook, void* context) {
  MutexLock lock(&hook_mutex_);
  if (hook_count_ == kMaxHooks) return false;
  hooks_[hook_count_++] = {hook, context};
  return true;
}

void Pool::RemoveHook(PressureHook hook, void* context) {
  MutexLock lock(&hook_mutex_);
  for (int i = 0; i < hook_count_; ++i) {
    if (hooks_[i].hook != hook || hooks_[i].context != context) continue;
    for (int k = i + 1; k < hook_count_; ++k) hooks_[k - 1] = hooks_[k];
    --hook_count_;
    return;
  }
}

// Never 0 for a thread that runs.
uint64_t Pool::CurrentThread() { return static_cast<uint64_t>(pthread_self()); }

// Calls a copy of the list, so that hooks may add and remove hooks. A hook that allocates under
// pressure does not run the hooks again.
bool Pool::RunHooks(HookKind kind, uint64_t bytes) {
  HookEntry hooks[kMaxHooks];
  int count = 0;
  {
    MutexLock lock(&hook_mutex_);
    const uint64_t self = CurrentThread();
    for (const uint64_t thread : hook_threads_) {
      if (thread == self) return false;
    }
    int slot = 0;
    while (slot < kMaxHooks && hook_threads_[slot] != 0) ++slot;
    if (slot == kMaxHooks || hook_count_ == 0) return false;
    hook_threads_[slot] = self;
    count = hook_count_;
    for (int i = 0; i < count; ++i) hooks[i] = hooks_[i];
  }
  for (int i = 0; i < count; ++i) {
    hooks[i].hook(hooks[i].context, kind, bytes);
    hook_calls_.fetch_add(1, std::memory_order_relaxed);
  }
  events_.Step(EventKind::kCacheHook, bytes, 0, static_cast<uint64_t>(kind), kUnknownStream,
               kDriverSuccess);
  MutexLock lock(&hook_mutex_);
  for (uint64_t& thread : hook_threads_) {
    if (thread == CurrentThread()) thread = 0;
  }
  return true;
}

}  // namespace vramstow
