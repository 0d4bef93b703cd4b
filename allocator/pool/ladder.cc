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

void Pool::Note(Climb* climb, LadderStep step, uint64_t bytes, uint64_t since_ns) {
  OutOfMemoryReport::Tried& tried = climb->tried[static_cast<int>(step)];
  ++tried.times;
  tried.bytes += bytes;
  tried.duration_ns += Now() - since_ns;
}

PoolError Pool::AllocateSlow(const BlockRequest& request, uint64_t size, Block* block) {
  RelaxedCapture relaxed(driver_);
  Climb climb;
  climb.relaxed = &relaxed;
  climb.request = request;
  climb.size = size;
  for (int round = 0;; ++round) {
    mutex_.Lock();
    if (climb.heap == nullptr || climb.heap->asleep) {
      climb.heap = GetHeap({request.stream, request.pool, request.tag});
      if (climb.heap == nullptr) {
        mutex_.Unlock();
        return PoolError::kUnavailable;
      }
      Bump(&climb.heap->stats.misses, 1);
      events_.Step(EventKind::kCacheMiss, size, request.size, 0, request.stream, kDriverSuccess);
    }
    climb.heap->mutex.Lock();
    climb.heap->Unpark();
    const bool served = ClimbOnce(&climb);
    uint64_t sum = 0;
    if (served) sum = FinishAllocation(climb.heap, climb.index, request, climb.served, block);
    climb.heap->mutex.Unlock();
    if (sum != 0) NotePeak(climb.heap, sum);
    CheckIfAsked();
    if (!served && round == 3) {
      // What was made for nothing goes back.
      ReleaseIdle(climb.made);
      ReportOutOfMemory(climb);
    }
    mutex_.Unlock();
    if (served) return PoolError::kOk;
    if (round == 0) {
      const uint64_t since = Now();
      const uint64_t lacking = climb.lacking * config_.chunk_bytes;
      if (RunHooks(HookKind::kPressure, lacking)) Note(&climb, LadderStep::kHooks, 0, since);
    } else if (round == 1 && config_.relief.relieve != nullptr && climb.lacking != 0) {
      relaxed.Begin();
      const uint64_t since = Now();
      const uint64_t lacking = climb.lacking * config_.chunk_bytes;
      const Relief& relief = config_.relief;
      Note(&climb, LadderStep::kOffload, relief.relieve(relief.context, lacking), since);
    } else if (round <= 2) {
      relaxed.Begin();
      WaitForEverything(&climb);
      climb.last = true;
      round = 2;
    } else {
      return PoolError::kOutOfMemory;
    }
  }
}

// Both locks are held. True: climb->index is the block.
bool Pool::ClimbOnce(Climb* climb) {
  epochs_.Advance(Now());
  ApplyLimits(climb->request.stream != kUnknownStream);
  if (!climb->heap->Prepare()) return false;
  if (!climb->heap->GateOpen()) {
    climb->relaxed->Begin();
    fences_.Poll();
    if (!climb->heap->WaitForGate(Now() + config_.last_wait_ns)) return false;
  }
  if (TryFences(climb)) return true;
  if (!segments() && TryChunks(climb)) return true;
  if (segments() || TurnToSegments(climb->result)) {
    if (TrySegments(climb)) return true;
  }
  if (!climb->last) return false;
  climb->index = climb->heap->TakeAnywhere(climb->size);
  climb->served = Served::kFence;
  return climb->index != 0;
}

// Step 1: cached memory whose fences have passed meanwhile.
bool Pool::TryFences(Climb* climb) {
  const uint64_t since = Now();
  Heap* heap = climb->heap;
  // Another thread may have freed something between the miss and here.
  climb->index = heap->Take(climb->size);
  if (climb->index != 0) {
    climb->served = Served::kHit;
    return true;
  }
  if (fences_.AnyInFlight() || heap->stats.pending_bytes.load(std::memory_order_relaxed) != 0) {
    climb->relaxed->Begin();
    heap->EnsureFences();
    fences_.Poll();
  }
  bool any = heap->Settle();
  if (!any && config_.free_wait_ns != 0 &&
      heap->stats.pending_bytes.load(std::memory_order_relaxed) >= climb->size && MayWait(since)) {
    any = heap->WaitForFrees(since + config_.free_wait_ns) && heap->Settle();
    Bump(&fence_waits_, 1);
    Bump(&fence_wait_ns_, Now() - since);
    events_.Step(EventKind::kCacheFenceWait, Now() - since, climb->size, 0, climb->request.stream,
                 any ? kDriverSuccess : kDriverNotReady);
  }
  if (!any) return false;
  climb->index = heap->Take(climb->size);
  Note(climb, LadderStep::kFences, climb->index != 0 ? climb->size : 0, since);
  climb->served = Served::kFence;
  return climb->index != 0;
}

// Steps 2 to 4: make a range of addresses whole with chunks from wherever they are.
bool Pool::TryChunks(Climb* climb) {
  Heap* heap = climb->heap;
  if (heap->repeating() && heap->SendHome()) {
    climb->index = heap->Take(climb->size);
    climb->served = Served::kStitch;
    if (climb->index != 0) return true;
  }
  // Twice at most: after a wait there may be a better plan.
  for (int attempt = 0; attempt < 2; ++attempt) {
    Heap::Plan plan;
    climb->result = heap->MakePlan(climb->size, attempt == 0, &plan);
    if (climb->result != kDriverSuccess) return false;
    if ((!plan.repeats || plan.cost != 0) && heap->ServeAnywhere()) {
      climb->index = heap->Take(climb->size);
      climb->served = Served::kHit;
      if (climb->index != 0) return true;
    }
    if (plan.cost != 0 && chunks_.shadow_count() != 0) {
      // The driver is needed anyway: it may as well say which work has let go of its pages.
      climb->relaxed->Begin();
      fences_.Ensure(heap->timeline, fences_.OpenTick(heap->timeline));
      fences_.Poll();
      climb->result = heap->MakePlan(climb->size, attempt == 0, &plan);
      if (climb->result != kDriverSuccess) return false;
    }
    const uint64_t grown = grown_.load(std::memory_order_relaxed);
    const uint64_t moved = moved_.load(std::memory_order_relaxed);
    Gather(climb, plan);
    const uint64_t idle = chunks_.IdleFor(heap->timeline);
    if (idle < plan.count) {
      climb->lacking = plan.count - idle;
      return false;
    }
    climb->lacking = 0;
    if (plan.cost != 0 && heap->repeating()) heap->NeededDriver();
    climb->result = heap->Execute(plan);
    // Of two pages that wait for the same chunk only one can have it: then without any that waits.
    if (climb->result == kDriverNotReady && attempt == 0) continue;
    if (climb->result != kDriverSuccess) return false;
    const uint64_t made = grown_.load(std::memory_order_relaxed) - grown;
    const uint64_t chunk = config_.chunk_bytes;
    Bump(&stitches_, 1);
    if (moved_.load(std::memory_order_relaxed) != moved) {
      events_.Step(EventKind::kCacheStitch, (plan.count - made) * chunk, climb->size,
                   moved_.load(std::memory_order_relaxed) - moved, climb->request.stream,
                   kDriverSuccess);
    }
    climb->served = made != 0 ? Served::kGrow : Served::kStitch;
    climb->index = heap->Take(climb->size);
    if (climb->index != 0) return true;
  }
  return false;
}

// Makes chunks for the rest of the plan, if the limit allows. Nothing is made that does not
// suffice.
void Pool::Grow(Climb* climb, uint64_t chunks) {
  if (chunks == 0 || chunks > chunks_.ChunksUnderLimit()) return;
  // More than there ever was: not worth a try.
  if (chunks > device_.total_bytes / config_.chunk_bytes) {
    climb->result = kDriverOutOfMemory;
    return;
  }
  const uint64_t since = Now();
  uint64_t made = 0;
  climb->result = chunks_.Make(chunks, &made);
  climb->made += made;
  Bump(&grown_, made);
  const uint64_t bytes = made * config_.chunk_bytes;
  if (made != 0) {
    events_.Step(EventKind::kCacheGrow, bytes, climb->size, 0, climb->request.stream,
                 climb->result);
  }
  Note(climb, LadderStep::kGrow, bytes, since);
}

// Whether so many more chunks stay within the slack.
bool Pool::WithinSlack(const Climb& climb, uint64_t chunks, uint64_t permille) const {
  const uint64_t peak =
      trimmed_ ? peak_since_trim_ : peak_allocated_.load(std::memory_order_relaxed);
  const uint64_t now = AllocatedBytes() + climb.size;
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
void Pool::Gather(Climb* climb, const Heap::Plan& plan) {
  const uint64_t chunk = config_.chunk_bytes;
  const auto lacking = [&] {
    const uint64_t idle = chunks_.IdleFor(climb->heap->timeline);
    return idle < plan.count ? plan.count - idle : 0;
  };
  Bump(&moved_, climb->heap->Recall(plan));
  if (plan.cost != 0) climb->relaxed->Begin();
  if (lacking() == 0) return;
  climb->relaxed->Begin();
  // Chunks that the next round does not need elsewhere at the same time are as good as new ones.
  const uint64_t safe = climb->heap->StripForeseen(lacking(), plan, true);
  Bump(&moved_, safe);
  if (lacking() == 0) return;
  // A round that repeats, and still lacks chunks where it had some before, would move them about in
  // every round.
  uint64_t permille = config_.slack_permille;
  if (plan.repeats && permille != 0) permille = config_.repeat_slack_permille;
  if (!climb->heap->repeating() && permille > config_.restless_slack_permille) {
    permille = config_.restless_slack_permille;
  }
  if (WithinSlack(*climb, lacking(), permille)) Grow(climb, lacking());
  if (lacking() == 0) return;
  uint64_t since = Now();
  Heap* heap = climb->heap;
  const uint64_t foreseen = heap->StripForeseen(lacking(), plan, false);
  Heap::StripResult strip = heap->Strip(lacking(), ~uint32_t{0}, plan, true);
  strip.pages += foreseen;
  if (lacking() != 0 && strip.waiting != 0) {
    fences_.Ensure(heap->timeline, fences_.OpenTick(heap->timeline));
    fences_.Poll();
    const Heap::StripResult more = heap->Strip(lacking(), ~uint32_t{0}, plan, true);
    strip = {strip.pages + more.pages, more.waiting, more.result};
  }
  uint64_t brought = strip.pages;
  Bump(&moved_, strip.pages);
  if (lacking() != 0 && strip.waiting != 0 && WaitForOwnStream(climb)) {
    strip = heap->Strip(lacking(), ~uint32_t{0}, plan, true);
    brought += strip.pages;
    Bump(&moved_, strip.pages);
  }
  if (strip.result != kDriverSuccess) climb->result = strip.result;
  if (lacking() != 0) {
    const uint32_t old = epochs_.OlderThan(config_.steal_after_ns, Now());
    if (old != 0) brought += StripOthers(climb, lacking(), old);
  }
  if (brought != 0) Note(climb, LadderStep::kStitch, brought * chunk, since);
  Grow(climb, lacking());
  if (lacking() == 0) return;
  since = Now();
  const uint64_t stripped = StripOthers(climb, lacking(), ~uint32_t{0});
  Note(climb, LadderStep::kTrimOthers, stripped * chunk, since);
  // With what the others gave, the limit may allow the rest.
  if (stripped != 0) Grow(climb, lacking());
}

// Takes chunks (or segments: the device has them then) of other heaps that were freed in an epoch
// up to `before_epoch`. Of two heaps' locks that are held at once the second is only ever taken
// under the device's lock: no cycle.
uint64_t Pool::StripOthers(Climb* climb, uint64_t count, uint32_t before_epoch) {
  uint64_t brought = 0;
  const uint32_t heaps = heap_count_.load(std::memory_order_relaxed);
  for (uint32_t number = 1; number <= heaps && brought < count; ++number) {
    Heap* other = heaps_[number];
    if (other == climb->heap) continue;
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
bool Pool::WaitForOwnStream(Climb* climb) {
  const uint64_t since = Now();
  if (!MayWait(since)) return false;
  Heap* heap = climb->heap;
  const uint32_t tick = fences_.OpenTick(heap->timeline) - 1;
  const bool passed = fences_.WaitFor(heap->timeline, tick, since + config_.stitch_wait_ns);
  const uint64_t duration = Now() - since;
  Bump(&fence_waits_, 1);
  Bump(&fence_wait_ns_, duration);
  events_.Step(EventKind::kCacheFenceWait, duration, climb->size, 0, climb->request.stream,
               passed ? kDriverSuccess : kDriverNotReady);
  return passed;
}

// Step 7: everything that was freed, on whatever stream. No lock is held while waiting.
void Pool::WaitForEverything(Climb* climb) {
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
  events_.Step(EventKind::kCacheFenceWait, duration, climb->size, 0, climb->request.stream,
               all ? kDriverSuccess : kDriverNotReady);
  Note(climb, LadderStep::kWait, 0, since);
}

void Pool::ReportOutOfMemory(const Climb& climb) {
  Bump(&out_of_memory_, 1);
  OutOfMemoryReport report{};
  const PoolStats stats = Stats();
  report.number = stats.out_of_memory;
  report.requested_bytes = climb.request.size;
  report.stream = climb.request.stream;
  report.allocated_bytes = stats.allocated_bytes;
  report.reserved_bytes = stats.reserved_bytes;
  report.pending_bytes = stats.pending_bytes;
  report.live_blocks = stats.live_blocks;
  report.limit_bytes = chunks_.limit_bytes();
  report.driver_result = climb.result;
  driver_->memory_info(driver_->self, &report.device_free_bytes, &report.device_total_bytes);
  for (int i = 0; i < kLadderSteps; ++i) report.tried[i] = climb.tried[i];
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
  events_.Step(EventKind::kCacheOutOfMemory, climb.size, climb.request.size, 0,
               climb.request.stream, climb.result);
}

}  // namespace vramstow
