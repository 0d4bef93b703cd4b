// The pressure ladder: how an allocation is served that is no hit. Each step is tried in the
// design's order, each is bounded, and what it brought is noted for the out-of-memory report.
#include "allocator/pool/pool.h"

namespace vramstow {
namespace {

// Waiting so that the pool need not grow may take this part of the pool's life, and at the start
// this long: a job whose every allocation misses is not slowed down more than that.
constexpr uint64_t kWaitShare = 20;
constexpr uint64_t kWaitStartNs = 500'000'000;

constexpr uint64_t kFirstPauseNs = 5'000;
constexpr uint64_t kLongestPauseNs = 1'000'000;

}  // namespace

void Pool::Note(AllocationAttempt* attempt, LadderStep step, uint64_t bytes, uint64_t since_ns) {
  OutOfMemoryReport::Tried& tried = attempt->tried[static_cast<int>(step)];
  ++tried.times;
  tried.bytes += bytes;
  tried.duration_ns += Now() - since_ns;
}

PoolError Pool::AllocateSlow(const BlockRequest& request, uint64_t size, Block* block) {
  RelaxedCapture relaxed(driver_);
  AllocationAttempt attempt;
  attempt.relaxed = &relaxed;
  attempt.request = request;
  attempt.size = size;
  for (int round = 0;; ++round) {
    mutex_.Lock();
    if (attempt.heap == nullptr || attempt.heap->paused) {
      attempt.heap = GetHeap({request.stream, request.pool, request.tag});
      if (attempt.heap == nullptr) {
        mutex_.Unlock();
        return PoolError::kUnavailable;
      }
      Bump(&attempt.heap->stats.misses, 1);
      events_.Step(EventKind::kCacheMiss, size, request.size, 0, request.stream, kDriverSuccess);
    }
    attempt.heap->mutex.Lock();
    attempt.heap->FlushDeferred();
    const bool served = TryOnce(&attempt);
    uint64_t sum = 0;
    if (served) sum = FinishAllocation(attempt.heap, attempt.index, request, attempt.served, block);
    attempt.heap->mutex.Unlock();
    if (sum != 0) NotePeak(attempt.heap, sum);
    CheckIfAsked();
    if (!served && round == 3) {
      // What was made for nothing goes back.
      ReleaseIdle(attempt.made);
      ReportOutOfMemory(attempt);
    }
    mutex_.Unlock();
    if (served) return PoolError::kOk;
    if (round == 0) {
      const uint64_t since = Now();
      const uint64_t lacking = attempt.lacking * config_.chunk_bytes;
      if (RunHooks(HookKind::kPressure, lacking)) Note(&attempt, LadderStep::kHooks, 0, since);
    } else if (round == 1 && config_.relief.relieve != nullptr && attempt.lacking != 0) {
      relaxed.Begin();
      const uint64_t since = Now();
      const uint64_t lacking = attempt.lacking * config_.chunk_bytes;
      const Relief& relief = config_.relief;
      Note(&attempt, LadderStep::kOffload, relief.relieve(relief.context, lacking), since);
    } else if (round <= 2) {
      relaxed.Begin();
      WaitForEverything(&attempt);
      attempt.last = true;
      round = 2;
    } else {
      return PoolError::kOutOfMemory;
    }
  }
}

// Both locks are held. True: attempt->index is the block.
bool Pool::TryOnce(AllocationAttempt* attempt) {
  epochs_.Advance(Now());
  ApplyLimits(attempt->request.stream != kUnknownStream);
  if (!attempt->heap->Prepare()) return false;
  if (!attempt->heap->GateOpen()) {
    attempt->relaxed->Begin();
    fences_.Poll();
    if (!attempt->heap->WaitForGate(Now() + config_.last_wait_ns)) return false;
  }
  if (TryFences(attempt)) return true;
  if (!segments() && TryChunks(attempt)) return true;
  if (segments() || TurnToSegments(attempt->result)) {
    if (TrySegments(attempt)) return true;
  }
  if (!attempt->last) return false;
  attempt->index = attempt->heap->TakeAnywhere(attempt->size);
  attempt->served = Served::kFence;
  return attempt->index != 0;
}

// Step 1: cached memory whose fences have passed meanwhile.
bool Pool::TryFences(AllocationAttempt* attempt) {
  const uint64_t since = Now();
  Heap* heap = attempt->heap;
  // Another thread may have freed something between the miss and here.
  attempt->index = heap->Take(attempt->size);
  if (attempt->index != 0) {
    attempt->served = Served::kHit;
    return true;
  }
  if (fences_.AnyInFlight() || heap->stats.pending_bytes.load(std::memory_order_relaxed) != 0) {
    attempt->relaxed->Begin();
    heap->EnsureFences();
    fences_.Poll();
  }
  bool any = heap->Settle();
  if (!any && config_.free_wait_ns != 0 &&
      heap->stats.pending_bytes.load(std::memory_order_relaxed) >= attempt->size &&
      MayWait(since)) {
    any = heap->WaitForFrees(since + config_.free_wait_ns) && heap->Settle();
    Bump(&fence_waits_, 1);
    Bump(&fence_wait_ns_, Now() - since);
    events_.Step(EventKind::kCacheFenceWait, Now() - since, attempt->size, 0,
                 attempt->request.stream, any ? kDriverSuccess : kDriverNotReady);
  }
  if (!any) return false;
  attempt->index = heap->Take(attempt->size);
  Note(attempt, LadderStep::kFences, attempt->index != 0 ? attempt->size : 0, since);
  attempt->served = Served::kFence;
  return attempt->index != 0;
}

// Steps 2 to 4: make a range of addresses whole with chunks from wherever they are.
bool Pool::TryChunks(AllocationAttempt* attempt) {
  Heap* heap = attempt->heap;
  if (heap->repeating() && heap->RestoreMappings()) {
    attempt->index = heap->Take(attempt->size);
    attempt->served = Served::kStitch;
    if (attempt->index != 0) return true;
  }
  // Twice at most: after a wait there may be a better plan.
  for (int round = 0; round < 2; ++round) {
    Heap::Plan plan;
    attempt->result = heap->MakePlan(attempt->size, round == 0, &plan);
    if (attempt->result != kDriverSuccess) return false;
    if ((!plan.repeats || plan.cost != 0) && heap->ServeAnywhere()) {
      attempt->index = heap->Take(attempt->size);
      attempt->served = Served::kHit;
      if (attempt->index != 0) return true;
    }
    if (plan.cost != 0 && chunks_.shadow_count() != 0) {
      // The driver is needed anyway: it may as well say which work has let go of its pages.
      attempt->relaxed->Begin();
      fences_.Ensure(heap->timeline, fences_.OpenTick(heap->timeline));
      fences_.Poll();
      attempt->result = heap->MakePlan(attempt->size, round == 0, &plan);
      if (attempt->result != kDriverSuccess) return false;
    }
    const uint64_t grown = grown_.load(std::memory_order_relaxed);
    const uint64_t moved = moved_.load(std::memory_order_relaxed);
    Gather(attempt, plan);
    const uint64_t idle = chunks_.IdleFor(heap->timeline);
    if (idle < plan.count) {
      attempt->lacking = plan.count - idle;
      return false;
    }
    attempt->lacking = 0;
    if (plan.cost != 0 && heap->repeating()) heap->NeededDriver();
    attempt->result = heap->Execute(plan);
    // Of two pages that wait for the same chunk only one can have it: then without any that waits.
    if (attempt->result == kDriverNotReady && round == 0) continue;
    if (attempt->result != kDriverSuccess) return false;
    const uint64_t made = grown_.load(std::memory_order_relaxed) - grown;
    const uint64_t chunk = config_.chunk_bytes;
    Bump(&stitches_, 1);
    if (moved_.load(std::memory_order_relaxed) != moved) {
      events_.Step(EventKind::kCacheStitch, (plan.count - made) * chunk, attempt->size,
                   moved_.load(std::memory_order_relaxed) - moved, attempt->request.stream,
                   kDriverSuccess);
    }
    attempt->served = made != 0 ? Served::kGrow : Served::kStitch;
    attempt->index = heap->Take(attempt->size);
    if (attempt->index != 0) return true;
  }
  return false;
}

// Makes chunks for the rest of the plan, if the limit allows. Nothing is made that does not
// suffice.
void Pool::Grow(AllocationAttempt* attempt, uint64_t chunks) {
  if (chunks == 0 || chunks > chunks_.ChunksUnderLimit()) return;
  // More than there ever was: not worth a try.
  if (chunks > device_.total_bytes / config_.chunk_bytes) {
    attempt->result = kDriverOutOfMemory;
    return;
  }
  const uint64_t since = Now();
  uint64_t made = 0;
  attempt->result = chunks_.Make(chunks, &made);
  attempt->made += made;
  Bump(&grown_, made);
  const uint64_t bytes = made * config_.chunk_bytes;
  if (made != 0) {
    events_.Step(EventKind::kCacheGrow, bytes, attempt->size, 0, attempt->request.stream,
                 attempt->result);
  }
  Note(attempt, LadderStep::kGrow, bytes, since);
}

// Whether so many more chunks stay within the slack.
bool Pool::WithinSlack(const AllocationAttempt& attempt, uint64_t chunks, uint64_t permille) const {
  const uint64_t peak =
      trimmed_ ? peak_since_trim_ : peak_allocated_.load(std::memory_order_relaxed);
  const uint64_t now = AllocatedBytes() + attempt.size;
  const uint64_t most = peak > now ? peak : now;
  uint64_t slack = most / 1000 * permille;
  const uint64_t small = config_.small_slack_bytes;
  if (most < 8 * small) {
    const uint64_t least = (8 * small - most) / 4 < small ? (8 * small - most) / 4 : small;
    if (slack < least) slack = least;
  }
  return chunks_.reserved_bytes() + chunks * config_.chunk_bytes <= most + slack;
}

// Brings idle chunks into the store until the plan has enough, from the cheapest source on.
void Pool::Gather(AllocationAttempt* attempt, const Heap::Plan& plan) {
  const uint64_t chunk = config_.chunk_bytes;
  const auto lacking = [&] {
    const uint64_t idle = chunks_.IdleFor(attempt->heap->timeline);
    return idle < plan.count ? plan.count - idle : 0;
  };
  Bump(&moved_, attempt->heap->Recall(plan));
  if (plan.cost != 0) attempt->relaxed->Begin();
  if (lacking() == 0) return;
  attempt->relaxed->Begin();
  // Chunks that the next round does not need elsewhere at the same time are as good as new ones.
  const uint64_t safe = attempt->heap->StripByInterference(lacking(), plan, true);
  Bump(&moved_, safe);
  if (lacking() == 0) return;
  // A round that repeats, and still lacks chunks where it had some before, would move them about in
  // every round.
  uint64_t permille = config_.slack_permille;
  if (plan.repeats && permille != 0) permille = config_.repeat_slack_permille;
  if (!attempt->heap->repeating() && permille > config_.restless_slack_permille) {
    permille = config_.restless_slack_permille;
  }
  if (WithinSlack(*attempt, lacking(), permille)) Grow(attempt, lacking());
  if (lacking() == 0) return;
  uint64_t since = Now();
  Heap* heap = attempt->heap;
  const uint64_t interference = heap->StripByInterference(lacking(), plan, false);
  Heap::StripResult strip = heap->Strip(lacking(), ~uint32_t{0}, plan, true);
  strip.pages += interference;
  if (lacking() != 0 && strip.waiting != 0) {
    fences_.Ensure(heap->timeline, fences_.OpenTick(heap->timeline));
    fences_.Poll();
    const Heap::StripResult more = heap->Strip(lacking(), ~uint32_t{0}, plan, true);
    strip = {strip.pages + more.pages, more.waiting, more.result};
  }
  uint64_t brought = strip.pages;
  Bump(&moved_, strip.pages);
  if (lacking() != 0 && strip.waiting != 0 && WaitForOwnStream(attempt)) {
    strip = heap->Strip(lacking(), ~uint32_t{0}, plan, true);
    brought += strip.pages;
    Bump(&moved_, strip.pages);
  }
  if (strip.result != kDriverSuccess) attempt->result = strip.result;
  if (lacking() != 0) {
    const uint32_t old = epochs_.OlderThan(config_.steal_after_ns, Now());
    if (old != 0) brought += StripOthers(attempt, lacking(), old);
  }
  if (brought != 0) Note(attempt, LadderStep::kStitch, brought * chunk, since);
  Grow(attempt, lacking());
  if (lacking() == 0) return;
  since = Now();
  const uint64_t stripped = StripOthers(attempt, lacking(), ~uint32_t{0});
  Note(attempt, LadderStep::kTrimOthers, stripped * chunk, since);
  // With what the others gave, the limit may allow the rest.
  if (stripped != 0) Grow(attempt, lacking());
}

// Takes chunks (or segments: the device has them then) of other heaps that were freed in an epoch
// up to `before_epoch`. Of two heaps' locks that are held at once the second is only ever taken
// under the device's lock: no cycle.
uint64_t Pool::StripOthers(AllocationAttempt* attempt, uint64_t count, uint32_t before_epoch) {
  uint64_t brought = 0;
  const uint32_t heaps = heap_count_.load(std::memory_order_relaxed);
  for (uint32_t number = 1; number <= heaps && brought < count; ++number) {
    Heap* other = heaps_[number];
    if (other == attempt->heap) continue;
    HeapLock lock(other);
    other->EnsureFences();
    fences_.Ensure(other->timeline, fences_.OpenTick(other->timeline));
    fences_.Poll();
    other->Settle();
    brought += StripFree(other, count - brought, before_epoch, false).pages;
  }
  Bump(segments() ? &released_ : &moved_, brought);
  return brought;
}

bool Pool::MayWait(uint64_t now) const {
  if (config_.stitch_wait_ns == 0 || fences_.capturing()) return false;
  return fence_wait_ns_.load(std::memory_order_relaxed) <
         kWaitStartNs + (now - opened_ns_) / kWaitShare;
}

// Memory of this very stream is free but for work that is about to finish: waiting a moment for it
// saves growing for good. Other threads may hit meanwhile.
bool Pool::WaitForOwnStream(AllocationAttempt* attempt) {
  const uint64_t since = Now();
  if (!MayWait(since)) return false;
  Heap* heap = attempt->heap;
  const uint32_t tick = fences_.OpenTick(heap->timeline) - 1;
  const bool passed = fences_.WaitFor(heap->timeline, tick, since + config_.stitch_wait_ns);
  const uint64_t duration = Now() - since;
  Bump(&fence_waits_, 1);
  Bump(&fence_wait_ns_, duration);
  events_.Step(EventKind::kCacheFenceWait, duration, attempt->size, 0, attempt->request.stream,
               passed ? kDriverSuccess : kDriverNotReady);
  return passed;
}

// Step 7: everything that was freed, on whatever stream. No lock is held while waiting.
void Pool::WaitForEverything(AllocationAttempt* attempt) {
  const uint64_t since = Now();
  const uint64_t deadline = since + config_.last_wait_ns;
  uint32_t ticks[Fences::kMaxTimelines];
  const uint32_t count = fences_.timelines();
  for (uint32_t t = 0; t < count; ++t) ticks[t] = fences_.OpenTick(t);
  uint64_t pause = kFirstPauseNs;
  bool all = false;
  while (!fences_.capturing()) {
    bool impossible = false;
    {
      MutexLock device_lock(&mutex_);
      for (uint32_t t = 0; t < count; ++t) {
        const DriverResult result = fences_.Ensure(t, ticks[t]);
        impossible |= result != kDriverSuccess && result != kDriverNotReady;
      }
      fences_.Poll();
      impossible |= fences_.broken();
    }
    // Without events there is one more way to know.
    if (impossible && fences_.Synchronize() != kDriverSuccess) break;
    all = true;
    for (uint32_t t = 0; t < count; ++t) all = all && fences_.Completed(t, ticks[t]);
    if (all || Now() >= deadline) break;
    driver_->pause(driver_->self, pause);
    if (pause < kLongestPauseNs) pause *= 2;
  }
  MutexLock device_lock(&mutex_);
  const uint64_t duration = Now() - since;
  Bump(&fence_waits_, 1);
  Bump(&fence_wait_ns_, duration);
  events_.Step(EventKind::kCacheFenceWait, duration, attempt->size, 0, attempt->request.stream,
               all ? kDriverSuccess : kDriverNotReady);
  Note(attempt, LadderStep::kWait, 0, since);
}

void Pool::ReportOutOfMemory(const AllocationAttempt& attempt) {
  Bump(&out_of_memory_, 1);
  OutOfMemoryReport report{};
  const PoolStats stats = Stats();
  report.number = stats.out_of_memory;
  report.requested_bytes = attempt.request.size;
  report.stream = attempt.request.stream;
  report.allocated_bytes = stats.allocated_bytes;
  report.reserved_bytes = stats.reserved_bytes;
  report.pending_bytes = stats.pending_bytes;
  report.live_blocks = stats.live_blocks;
  report.limit_bytes = chunks_.limit_bytes();
  report.driver_result = attempt.result;
  driver_->memory_info(driver_->self, &report.device_free_bytes, &report.device_total_bytes);
  for (int i = 0; i < kLadderSteps; ++i) report.tried[i] = attempt.tried[i];
  report.free_bytes = chunks_.idle_chunks() * config_.chunk_bytes;
  report.free_pieces = chunks_.idle_chunks();
  const uint32_t heaps = heap_count_.load(std::memory_order_relaxed);
  for (uint32_t number = 1; number <= heaps; ++number) {
    Heap* heap = heaps_[number];
    HeapLock lock(heap);
    report.free_bytes += heap->free_bytes();
    report.free_pieces += heap->free_pieces();
    if (heap->LargestFree() > report.largest_free_bytes) {
      report.largest_free_bytes = heap->LargestFree();
    }
    heap->VisitSpans([&](const Span& span) {
      if (span.state != SpanState::kLive) return;
      int place = report.holder_count;
      while (place > 0 && report.holders[place - 1].bytes < span.size) --place;
      if (place == OutOfMemoryReport::kHolders) return;
      if (report.holder_count < OutOfMemoryReport::kHolders) ++report.holder_count;
      for (int i = report.holder_count - 1; i > place; --i) {
        report.holders[i] = report.holders[i - 1];
      }
      report.holders[place] = {span.address, span.size, heap->key.stream, span.layer};
    });
  }
  report_ = report;
  events_.Step(EventKind::kCacheOutOfMemory, attempt.size, attempt.request.size, 0,
               attempt.request.stream, attempt.result);
}

}  // namespace vramstow
