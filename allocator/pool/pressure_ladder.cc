#include "allocator/pool/pressure_ladder.h"

#include <utility>

#include "allocator/core/counter.h"
#include "allocator/pool/backing.h"
#include "allocator/pool/report_writer.h"
#include "allocator/pool/serve.h"
#include "allocator/pool/wait_budget.h"
#include "base/rounding.h"

namespace vramstow {
namespace {

constexpr uint64_t kFirstPauseNs = 5'000;
constexpr uint64_t kLongestPauseNs = 1'000'000;

}  // namespace

// The steps that reclaim memory between two attempts, in their order. Each attempt itself performs
// steps 1 (fences) to 4 (other streams).
const PressureLadder::Step PressureLadder::kReclaimSteps[] = {
    &PressureLadder::RunHooks,           // step 5: the application drops its caches
    &PressureLadder::Offload,            // step 6: live memory is evicted to the host
    &PressureLadder::WaitForEverything,  // step 7: wait for all work that uses freed memory
    &PressureLadder::OffloadAgain,       // step 8: as step 6, if submitted work prevented it
    &PressureLadder::CollectYoung,       // step 9: garbage collection, the cheap way first
    &PressureLadder::CollectAll,
};

void PressureLadder::Open(PoolParts* parts, Trimmer* trimmer, SegmentBacking* segments) {
  parts_ = parts;
  trimmer_ = trimmer;
  segments_ = segments;
}

PoolError PressureLadder::Allocate(const BlockRequest& request, uint64_t size, Block* block) {
  RelaxedCapture relaxed(parts_->driver);
  AllocationAttempt attempt;
  attempt.relaxed = &relaxed;
  attempt.request = request;
  attempt.size = size;
  Outcome outcome = Attempt(&attempt, block);
  for (const Step reclaim : kReclaimSteps) {
    if (outcome != Outcome::kNotServed) break;
    do {
      attempt.again = false;
      if (!(this->*reclaim)(&attempt)) break;
      outcome = Attempt(&attempt, block);
    } while (outcome == Outcome::kNotServed && attempt.again);
  }
  if (outcome == Outcome::kNoRecords) return LeaveToDriver(attempt);
  return outcome == Outcome::kServed ? PoolError::kOk : PoolError::kOutOfMemory;
}

PoolError PressureLadder::Refuse(const BlockRequest& request) {
  AllocationAttempt attempt;
  attempt.request = request;
  attempt.size = request.size;
  return Refuse(attempt);
}

PoolError PressureLadder::Refuse(const AllocationAttempt& attempt) {
  DeviceLock device_lock(&parts_->mutex);
  report_ = WriteReport(parts_, attempt);
  return PoolError::kOutOfMemory;
}

// Handles a request for which the pool has no records left. If the limit allows the request, the
// plain driver should serve it, and the pool first releases cached memory to make room.
PoolError PressureLadder::LeaveToDriver(const AllocationAttempt& attempt) {
  const uint64_t chunk = parts_->config.chunk_bytes;
  const uint64_t chunks = DivideUp(attempt.size, chunk);
  if (chunks > parts_->chunks.ChunksUnderLimit()) return Refuse(attempt);
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;
  const DriverTable* driver = parts_->driver;
  if (driver->memory_info(driver->self, &free_bytes, &total_bytes) == kDriverSuccess &&
      free_bytes < chunks * chunk) {
    trimmer_->Trim({.bytes = chunks * chunk - free_bytes});
  }
  return PoolError::kUnavailable;
}

// Finds or creates the heap of the request. Returns false if there is no memory for records.
bool PressureLadder::FindHeap(AllocationAttempt* attempt) {
  if (attempt->heap != nullptr && attempt->heap->key == attempt->key && !attempt->heap->paused()) {
    return true;
  }
  const BlockRequest& request = attempt->request;
  attempt->heap = parts_->heaps.Get({request.stream, request.pool, request.tag});
  if (attempt->heap == nullptr) return false;
  attempt->key = attempt->heap->key.Get();
  Bump(&attempt->heap->stats.misses, 1);
  parts_->events.Step(EventKind::kCacheMiss, attempt->size, request.size, 0, request.stream,
                      kDriverSuccess);
  return true;
}

PressureLadder::Outcome PressureLadder::Attempt(AllocationAttempt* attempt, Block* block) {
  DeviceLock device_lock(&parts_->mutex);
  if (!FindHeap(attempt)) return Outcome::kNoRecords;
  StreamHeap* heap = attempt->heap;
  if (heap->paused()) {
    // All memory of the process is paused. The request waits until it is back (Offload).
    const bool can_fit = attempt->size <= parts_->device.total_bytes;
    attempt->lacking = can_fit ? DivideUp(attempt->size, parts_->config.chunk_bytes) : 0;
    return Outcome::kNotServed;
  }
  bool served = false;
  uint64_t sum = 0;
  {
    HeapLock lock(attempt->heap);
    served = TryLocked(attempt);
    if (served) {
      sum = FinishAllocation(parts_, attempt->heap, attempt->index, attempt->request,
                             attempt->served, block);
    }
  }
  if (sum != 0) parts_->peak.NoteSum(heap, sum);
  parts_->CheckIfAsked();
  if (!served && attempt->no_records) return Outcome::kNoRecords;
  if (!served && attempt->final) {
    // Chunks that were made for the failed request are released.
    trimmer_->ReleaseIdle(attempt->made);
    report_ = WriteReport(parts_, *attempt);
  }
  return served ? Outcome::kServed : Outcome::kNotServed;
}

// Makes one attempt under the locks. Returns true if it succeeds; attempt->index is then the block.
bool PressureLadder::TryLocked(AllocationAttempt* attempt) {
  parts_->epochs.Advance(parts_->Now());
  parts_->ApplyLimits(attempt->request.stream != kUnknownStream);
  if (!attempt->heap->Prepare()) {
    // Settle frees blocks whose work has finished and joins them with their neighbours. So records
    // of blocks become available.
    attempt->heap->Settle();
    attempt->no_records = !attempt->heap->Prepare();
    if (attempt->no_records) return false;
  }
  if (!attempt->heap->IsGateOpen()) {
    attempt->relaxed->Begin();
    parts_->fences.Poll();
    if (!attempt->heap->WaitForGate(parts_->WaitClock() + parts_->config.last_wait_ns))
      return false;
  }
  if (TryFences(attempt)) return true;
  if (parts_->backing->Serve(attempt)) return true;
  if (segments_->SwitchToSegments(attempt->result) && segments_->Serve(attempt)) return true;
  if (!attempt->last) return false;
  attempt->index = attempt->heap->RemoveFromAnyZone(attempt->size);
  attempt->served = Served::kFence;
  return attempt->index != 0;
}

// Step 1: uses cached memory whose fences have completed meanwhile.
bool PressureLadder::TryFences(AllocationAttempt* attempt) {
  const uint64_t since = parts_->Now();
  const std::atomic<uint64_t>& pending = attempt->heap->stats.pending_bytes;
  // Another thread may have freed memory between the miss and this point.
  if (attempt->Take(Served::kHit)) return true;
  if (parts_->fences.AnyInFlight() || pending.load(std::memory_order_relaxed) != 0) {
    attempt->relaxed->Begin();
    attempt->heap->EnsureFences();
    parts_->fences.Poll();
  }
  bool any = attempt->heap->Settle();
  const uint64_t wait_ns = parts_->config.free_wait_ns;
  if (!any && wait_ns != 0 && pending.load(std::memory_order_relaxed) >= attempt->size &&
      MayWait(*parts_, since)) {
    any = attempt->heap->WaitForFrees(parts_->WaitClock() + wait_ns) && attempt->heap->Settle();
    NoteWait(parts_, *attempt, since, any);
  }
  if (!any) return false;
  const bool served = attempt->Take(Served::kFence);
  attempt->Note(LadderStep::kFences, served ? attempt->size : 0, parts_->Now() - since);
  return served;
}

// --- Reclaiming memory, without any lock ---------------------------------------------------------

bool PressureLadder::RunHooks(AllocationAttempt* attempt) {
  const uint64_t since = parts_->Now();
  const uint64_t lacking = attempt->lacking * parts_->config.chunk_bytes;
  if (parts_->RunHooks(HookKind::kPressure, lacking)) {
    attempt->Note(LadderStep::kHooks, 0, parts_->Now() - since);
  }
  // Another attempt is worthwhile even if no hook ran, because other threads may have freed memory.
  return true;
}

bool PressureLadder::Offload(AllocationAttempt* attempt) {
  return Reclaim(attempt, parts_->config.reclaim_callback.reclaim);
}

bool PressureLadder::Reclaim(AllocationAttempt* attempt,
                             uint64_t (*reclaim)(void* context, uint64_t bytes)) {
  if (reclaim == nullptr || attempt->lacking == 0) return false;
  attempt->relaxed->Begin();
  const uint64_t since = parts_->Now();
  const uint64_t lacking = attempt->lacking * parts_->config.chunk_bytes;
  const uint64_t reclaimed = reclaim(parts_->config.reclaim_callback.context, lacking);
  attempt->Note(LadderStep::kOffload, reclaimed, parts_->Now() - since);
  // Another thread may use the memory that was evicted for this request, so try again a few times.
  constexpr uint64_t kMax = 8;
  const uint64_t times = attempt->tried[static_cast<int>(LadderStep::kOffload)].times;
  attempt->again = reclaimed != 0 && times < kMax;
  return true;
}

// Waits for all work that uses memory freed so far. Returns false if that work has not finished by
// the deadline.
bool PressureLadder::WaitUntil(uint64_t deadline_ns) {
  Fences& fences = parts_->fences;
  uint32_t ticks[Fences::kMaxTimelines];
  const uint32_t count = fences.timelines();
  for (uint32_t t = 0; t < count; ++t) ticks[t] = fences.OpenTick(t);
  uint64_t pause = kFirstPauseNs;
  bool all = false;
  while (!fences.capturing()) {
    bool impossible = false;
    {
      DeviceLock device_lock(&parts_->mutex);
      for (uint32_t t = 0; t < count; ++t) {
        const DriverResult result = fences.Ensure(t, ticks[t]);
        impossible |= result != kDriverSuccess && result != kDriverNotReady;
      }
      fences.Poll();
      impossible |= fences.broken();
    }
    // If no event can be recorded, waiting for the whole context is the only way left.
    if (impossible && fences.Synchronize() != kDriverSuccess) break;
    all = true;
    for (uint32_t t = 0; t < count; ++t) all = all && fences.Completed(t, ticks[t]);
    if (all || parts_->WaitClock() >= deadline_ns) break;
    parts_->driver->pause(parts_->driver->self, pause);
    if (pause < kLongestPauseNs) pause *= 2;
  }
  return all;
}

// Waits for all work, on any stream, that uses freed memory.
bool PressureLadder::WaitForEverything(AllocationAttempt* attempt) {
  attempt->relaxed->Begin();
  const uint64_t since = parts_->Now();
  const bool all = WaitUntil(parts_->WaitClock() + parts_->config.last_wait_ns);
  DeviceLock device_lock(&parts_->mutex);
  NoteWait(parts_, *attempt, since, all);
  attempt->Note(LadderStep::kWait, 0, parts_->Now() - since);
  attempt->last = true;
  attempt->final = !MayCollect(*attempt) && parts_->config.reclaim_callback.reclaim == nullptr;
  return true;
}

// Moves memory to the host after all submitted work has finished. An earlier try gives up if that
// work takes longer than it may wait.
bool PressureLadder::OffloadAgain(AllocationAttempt* attempt) {
  if (attempt->final) return false;
  attempt->again = false;
  const ReclaimCallback& callback = parts_->config.reclaim_callback;
  const bool was_tried = attempt->tried[static_cast<int>(LadderStep::kOffload)].times != 0;
  const bool has_other = was_tried && callback.reclaim_again != nullptr;
  Reclaim(attempt, has_other ? callback.reclaim_again : callback.reclaim);
  attempt->final = !attempt->again && !MayCollect(*attempt);
  return true;
}

// True if a garbage collection is allowed for this request. It is allowed only for a framework's
// request, because the framework then holds no lock that a tensor's destructor takes. It is useless
// for a request larger than the device. During a capture it is forbidden, because finalizers may
// break the capture.
bool PressureLadder::MayCollect(const AllocationAttempt& attempt) const {
  const Collection& collection = parts_->config.collection;
  return collection.is_possible != nullptr && attempt.request.layer == Layer::kFramework &&
         attempt.size <= parts_->device.total_bytes && !parts_->fences.capturing() &&
         collection.is_possible(collection.context);
}

bool PressureLadder::CollectYoung(AllocationAttempt* attempt) {
  return !attempt->final && Collect(attempt, /*all=*/false);
}

// Collects several times, because other threads may use the memory that one collection frees.
bool PressureLadder::CollectAll(AllocationAttempt* attempt) {
  if (attempt->final) return false;
  constexpr uint32_t kMax = 16;
  const auto& tried = attempt->tried[static_cast<int>(LadderStep::kCollect)];
  attempt->again = Collect(attempt, /*all=*/true) && tried.times < kMax;
  attempt->final = !attempt->again;
  return true;
}

// Runs one collection. Returns false if it freed nothing.
bool PressureLadder::Collect(AllocationAttempt* attempt, bool all) {
  const Collection& collection = parts_->config.collection;
  const uint64_t since = parts_->Now();
  {
    // The collector reads the statistics, and finalizers of the program may. They do not count what
    // was made for a request that may fail.
    DeviceLock device_lock(&parts_->mutex);
    trimmer_->ReleaseIdle(std::exchange(attempt->made, 0));
  }
  const uint64_t brought = collection.collect(collection.context, parts_->device.ordinal, all);
  // Other streams may still use the memory that the collection freed.
  if (brought != 0) WaitUntil(parts_->WaitClock() + parts_->config.last_wait_ns);
  attempt->Note(LadderStep::kCollect, brought, parts_->Now() - since);
  return brought != 0;
}

}  // namespace vramstow
