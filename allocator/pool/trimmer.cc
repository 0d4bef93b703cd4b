#include "allocator/pool/trimmer.h"

#include <algorithm>

#include "allocator/core/counter.h"
#include "allocator/pool/backing.h"
#include "base/rounding.h"

namespace vramstow {

uint64_t Trimmer::ReleaseIdle(uint64_t chunks) {
  uint64_t released = 0;
  parts_->chunks.Release(chunks, &released);
  Bump(&parts_->counters.released, released);
  return released;
}

// Releases idle chunks and free pages of all heaps, up to `chunks` chunks.
uint64_t Trimmer::GiveBack(uint64_t chunks, uint32_t before_epoch, bool no_more, bool* waits) {
  uint64_t given = ReleaseIdle(chunks);
  if (given >= chunks) return given;
  const uint64_t stripped = StripAll(chunks - given, before_epoch, waits, no_more);
  if (parts_->segments()) {
    Bump(&parts_->counters.released, stripped);
    given += stripped;
  } else if (stripped != 0) {
    given += ReleaseIdle(chunks - given);
  }
  return given;
}

uint64_t Trimmer::StripAll(uint64_t chunks, uint32_t before_epoch, bool* waits, bool no_more) {
  uint64_t stripped = 0;
  const uint32_t heaps = parts_->heaps.count();
  for (uint32_t number = 1; number <= heaps && stripped < chunks; ++number) {
    StreamHeap* heap = parts_->heaps.at(number);
    HeapLock lock(heap);
    heap->Settle();
    const StripResult strip =
        parts_->backing->StripFree(heap, chunks - stripped, before_epoch, no_more);
    stripped += strip.pages;
    if (waits != nullptr) {
      *waits |=
          strip.waiting != 0 || heap->stats.pending_bytes.load(std::memory_order_relaxed) != 0;
    }
  }
  return stripped;
}

// A second heap's lock is taken only under the device's lock, so there is no lock cycle.
uint64_t Trimmer::StripOthers(const AllocationAttempt* attempt, uint64_t count,
                              uint32_t before_epoch) {
  uint64_t brought = 0;
  Fences& fences = parts_->fences;
  const uint32_t heaps = parts_->heaps.count();
  for (uint32_t number = 1; number <= heaps && brought < count; ++number) {
    StreamHeap* other = parts_->heaps.at(number);
    if (other == attempt->heap) continue;
    HeapLock lock(other);
    other->EnsureFences();
    fences.Ensure(other->timeline, fences.OpenTick(other->timeline));
    fences.Poll();
    other->Settle();
    brought += parts_->backing->StripFree(other, count - brought, before_epoch, false).pages;
  }
  PoolCounters& counters = parts_->counters;
  Bump(parts_->segments() ? &counters.released : &counters.moved, brought);
  return brought;
}

uint64_t Trimmer::TrimOnce(uint64_t chunks, bool* waits) {
  const DriverTable* driver = parts_->driver;
  int32_t previous = 0;
  const bool relaxed = driver->relax_capture(driver->self, &previous) == kDriverSuccess;
  parts_->EnsureAllFences();
  const uint64_t released = GiveBack(chunks, ~uint32_t{0}, true, waits);
  // A chunk may still be idle here because unfinished work may use an address where the chunk was
  // mapped before. The chunk can be released after a wait for that work.
  *waits |= parts_->chunks.idle_chunks() != 0;
  if (relaxed) driver->restore_capture(driver->self, previous);
  parts_->peak.NoteTrim();
  return released;
}

TrimResult Trimmer::Trim(const TrimRequest& request, uint64_t released) {
  const uint64_t since = parts_->Now();
  const uint64_t waits_since = parts_->WaitClock();
  const uint64_t chunk = parts_->config.chunk_bytes;
  const uint64_t wanted =
      request.bytes == ~uint64_t{0} ? request.bytes : DivideUp(request.bytes, chunk);
  for (;;) {
    {
      DeviceLock device_lock(&parts_->mutex);
      bool waits = false;
      released += TrimOnce(wanted - std::min(released, wanted), &waits);
      parts_->CheckIfAsked();
      if (released >= wanted || !waits || parts_->WaitClock() - waits_since >= request.wait_ns ||
          parts_->fences.capturing()) {
        parts_->events.Step(EventKind::kCacheTrim, released * chunk, 0, 0, kUnknownStream,
                            kDriverSuccess);
        break;
      }
    }
    parts_->driver->pause(parts_->driver->self, 100'000);
  }
  return {released * chunk, parts_->Now() - since};
}

void Trimmer::SettleFrees() {
  const auto is_pending = [](const StreamHeap* heap) {
    return heap->stats.pending_bytes.load(std::memory_order_relaxed) != 0;
  };
  const uint32_t heaps = parts_->heaps.count();
  bool any = false;
  for (uint32_t number = 1; number <= heaps; ++number) any |= is_pending(parts_->heaps.at(number));
  if (!any || !parts_->mutex.TryLock()) return;
  if (!parts_->fences.capturing()) {
    parts_->EnsureAllFences();
    for (uint32_t number = 1; number <= heaps; ++number) {
      StreamHeap* heap = parts_->heaps.at(number);
      if (!is_pending(heap)) continue;
      HeapLock lock(heap);
      heap->Settle();
    }
    parts_->CheckIfAsked();
  }
  parts_->mutex.Unlock();
}

uint64_t Trimmer::Maintain() {
  const PoolConfig& config = parts_->config;
  const DriverTable* driver = parts_->driver;
  const uint64_t chunk = config.chunk_bytes;
  uint64_t released = 0;
  DeviceLock device_lock(&parts_->mutex);
  const uint64_t now = parts_->Now();
  parts_->epochs.Advance(now);
  if (parts_->fences.capturing()) return 0;
  if (config.decay_ns != 0) {
    const uint32_t old = parts_->epochs.OlderThan(config.decay_ns, now);
    if (old != 0) {
      parts_->EnsureAllFences();
      released += GiveBack(~uint64_t{0}, old, false, nullptr);
    }
  }
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;
  if (config.watermark_bytes != 0 &&
      driver->memory_info(driver->self, &free_bytes, &total_bytes) == kDriverSuccess &&
      free_bytes < config.watermark_bytes) {
    const uint64_t wanted = DivideUp(config.watermark_bytes - free_bytes, chunk);
    parts_->EnsureAllFences();
    released += GiveBack(wanted, ~uint32_t{0}, false, nullptr);
  }
  parts_->CheckIfAsked();
  if (released != 0) {
    parts_->events.Step(EventKind::kCacheTrim, released * chunk, 0, 0, kUnknownStream,
                        kDriverSuccess);
  }
  return released * chunk;
}

}  // namespace vramstow
