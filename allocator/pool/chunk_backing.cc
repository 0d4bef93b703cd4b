#include "allocator/pool/chunk_backing.h"

#include <algorithm>

#include "allocator/core/counter.h"
#include "allocator/pool/wait_budget.h"

namespace vramstow {

// The functions that collect chunks for a plan, in the order in which they are tried until the plan
// has enough chunks. Before them, the plan uses idle chunks and the chunks that its pages had
// before.
const ChunkBacking::Source ChunkBacking::kSources[] = {
    &ChunkBacking::GatherHarmless,     // step 2: chunks that the next iteration does not need
                                       // elsewhere
    &ChunkBacking::GrowWithinSlack,    // step 3, early: a little growth settles a loop sooner
    &ChunkBacking::GatherOwn,          // step 2: free pages of this stream
    &ChunkBacking::GatherOldOfOthers,  // step 2: old cached memory of other streams
    &ChunkBacking::Grow,               // step 3: make chunks
    &ChunkBacking::GatherAllOfOthers,  // step 4: all cached memory of other streams
};

bool ChunkBacking::Serve(AllocationAttempt* attempt) {
  PoolCounters& counters = parts_->counters;
  if (attempt->heap->repeating() && attempt->heap->RestoreMappings() &&
      attempt->Take(Served::kStitch))
    return true;
  // The loop runs at most twice: if two pages of the first plan need the same chunk, a second plan
  // is made.
  for (int round = 0; round < 2; ++round) {
    Plan plan;
    const bool recall = round == 0;
    attempt->result = attempt->heap->MakePlan(attempt->size, recall, &plan);
    attempt->no_records = attempt->result == kDriverOutOfMemory;
    // An empty plan means that the block needs more chunks than the device can have.
    if (attempt->result == kDriverSuccess && plan.count == 0) attempt->result = kDriverOutOfMemory;
    if (attempt->result != kDriverSuccess) return false;
    const bool elsewhere = !plan.repeats || plan.cost != 0;
    if (elsewhere && attempt->heap->ServeAnywhere() && attempt->Take(Served::kHit)) return true;
    attempt->result = Renew(attempt, recall, &plan);
    if (attempt->result != kDriverSuccess) return false;
    const uint64_t grown = counters.grown.load(std::memory_order_relaxed);
    const uint64_t moved = counters.moved.load(std::memory_order_relaxed);
    Gather(attempt, plan);
    const uint64_t idle = parts_->chunks.IdleFor(attempt->heap->timeline);
    attempt->lacking = idle < plan.count ? plan.count - idle : 0;
    if (attempt->lacking != 0) return false;
    if (plan.cost != 0 && attempt->heap->repeating()) attempt->heap->NeededDriver();
    attempt->result = attempt->heap->Execute(plan);
    // Two pages of the plan wait for the same chunk, and only one can have it. So a second plan is
    // made, which uses no page that waits for a chunk.
    if (attempt->result == kDriverNotReady && round == 0) continue;
    if (attempt->result != kDriverSuccess) return false;
    const uint64_t made = counters.grown.load(std::memory_order_relaxed) - grown;
    const uint64_t came = counters.moved.load(std::memory_order_relaxed) - moved;
    Bump(&counters.stitches, 1);
    if (came != 0) {
      const uint64_t mapped = (plan.count - made) * parts_->config.chunk_bytes;
      parts_->events.Stitched({mapped, attempt->size, came, attempt->request.stream});
    }
    if (attempt->Take(made != 0 ? Served::kGrow : Served::kStitch)) return true;
  }
  return false;
}

// If the plan needs driver calls anyway, this function first asks the driver which work has
// finished. More pages may be usable after that, so the plan is made again.
DriverResult ChunkBacking::Renew(AllocationAttempt* attempt, bool recall, Plan* plan) {
  if (plan->cost == 0 || parts_->chunks.shadow_count() == 0) return kDriverSuccess;
  attempt->relaxed->Begin();
  Fences& fences = parts_->fences;
  fences.Ensure(attempt->heap->timeline, fences.OpenTick(attempt->heap->timeline));
  fences.Poll();
  return attempt->heap->MakePlan(attempt->size, recall, plan);
}

uint64_t ChunkBacking::Lacking(const Gathering& gathering) const {
  const uint64_t idle = parts_->chunks.IdleFor(gathering.attempt->heap->timeline);
  return idle < gathering.plan.count ? gathering.plan.count - idle : 0;
}

// Moves chunks into the store until it has enough for the plan.
void ChunkBacking::Gather(AllocationAttempt* attempt, const Plan& plan) {
  Bump(&parts_->counters.moved, attempt->heap->Recall(plan));
  if (plan.cost != 0) attempt->relaxed->Begin();
  Gathering gathering{attempt, plan};
  if (Lacking(gathering) == 0) return;
  attempt->relaxed->Begin();
  for (const Source source : kSources) {
    (this->*source)(&gathering);
    if (Lacking(gathering) == 0) break;
  }
  if (gathering.stitched == 0) return;
  attempt->Note(LadderStep::kStitch, gathering.stitched * parts_->config.chunk_bytes,
                gathering.stitch_ns);
}

// --- The sources ---------------------------------------------------------------------------------

// Takes cached chunks that the next iteration does not need elsewhere at the same time. Using such
// chunks causes no driver call later.
void ChunkBacking::GatherHarmless(Gathering* gathering) {
  Bump(&parts_->counters.moved,
       gathering->attempt->heap->StripByInterference(Lacking(*gathering), gathering->plan, true));
}

// True if the pool stays within the allowed growth (one of the three slack limits of PoolConfig)
// with `chunks` more chunks.
bool ChunkBacking::WithinSlack(const AllocationAttempt& attempt, uint64_t chunks,
                               uint64_t permille) const {
  const uint64_t peak = parts_->peak.since_trim();
  const uint64_t now = parts_->heaps.AllocatedBytes() + attempt.size;
  const uint64_t most = peak > now ? peak : now;
  const uint64_t slack = most / 1000 * permille;
  return parts_->chunks.reserved_bytes() + chunks * parts_->config.chunk_bytes <= most + slack;
}

void ChunkBacking::GrowWithinSlack(Gathering* gathering) {
  const PoolConfig& config = parts_->config;
  // If a repeating iteration lacks chunks at an address where it had them before, it would have to
  // move chunks in every iteration. To avoid that, a larger growth of the pool is allowed for it.
  uint64_t permille = config.slack_permille;
  if (gathering->plan.repeats && permille != 0) permille = config.repeat_slack_permille;
  if (!gathering->attempt->heap->repeating() && permille > config.restless_slack_permille) {
    permille = config.restless_slack_permille;
  }
  if (WithinSlack(*gathering->attempt, Lacking(*gathering), permille)) Grow(gathering);
}

void ChunkBacking::GatherOwn(Gathering* gathering) {
  AllocationAttempt* attempt = gathering->attempt;
  StreamHeap* heap = attempt->heap;
  const Plan& plan = gathering->plan;
  const uint64_t since = parts_->Now();
  uint64_t brought = heap->StripByInterference(Lacking(*gathering), plan, false);
  StripResult strip = heap->Strip(Lacking(*gathering), ~uint32_t{0}, plan, true);
  brought += strip.pages;
  if (Lacking(*gathering) != 0 && strip.waiting != 0) {
    Fences& fences = parts_->fences;
    fences.Ensure(heap->timeline, fences.OpenTick(heap->timeline));
    fences.Poll();
    strip = heap->Strip(Lacking(*gathering), ~uint32_t{0}, plan, true);
    brought += strip.pages;
  }
  if (Lacking(*gathering) != 0 && strip.waiting != 0 && WaitForOwnStream(attempt)) {
    strip = heap->Strip(Lacking(*gathering), ~uint32_t{0}, plan, true);
    brought += strip.pages;
  }
  Bump(&parts_->counters.moved, brought);
  if (strip.result != kDriverSuccess) attempt->result = strip.result;
  gathering->stitched += brought;
  gathering->stitch_ns += parts_->Now() - since;
}

void ChunkBacking::GatherOldOfOthers(Gathering* gathering) {
  const uint64_t since = parts_->Now();
  const uint32_t old = parts_->epochs.OlderThan(parts_->config.steal_after_ns, since);
  if (old == 0) return;
  gathering->stitched += trimmer_->StripOthers(gathering->attempt, Lacking(*gathering), old);
  gathering->stitch_ns += parts_->Now() - since;
}

// Creates the chunks that the plan still lacks if the limit allows all of them; otherwise creates
// none.
void ChunkBacking::Grow(Gathering* gathering) {
  AllocationAttempt* attempt = gathering->attempt;
  const uint64_t chunks = Lacking(*gathering);
  if (chunks == 0 || chunks > parts_->chunks.ChunksUnderLimit()) return;
  // The device never had that much memory, so the attempt is pointless.
  if (chunks > parts_->device.total_bytes / parts_->config.chunk_bytes) {
    attempt->result = kDriverOutOfMemory;
    return;
  }
  const uint64_t since = parts_->Now();
  uint64_t made = 0;
  attempt->result = parts_->chunks.Make(chunks, &made, NeighboursIn(gathering->plan));
  attempt->made += made;
  Bump(&parts_->counters.grown, made);
  const uint64_t bytes = made * parts_->config.chunk_bytes;
  if (made != 0) {
    parts_->events.Step(EventKind::kCacheGrow, bytes, attempt->size, 0, attempt->request.stream,
                        attempt->result);
  }
  attempt->Note(LadderStep::kGrow, bytes, parts_->Now() - since);
}

// Returns the length of the longest run of the plan's pages that have neither a chunk nor a
// mapping. Large chunks may back such a run.
uint64_t ChunkBacking::NeighboursIn(const Plan& plan) {
  if (!parts_->chunks.makes_large()) return 0;
  uint64_t most = 0;
  uint64_t run = 0;
  for (uint64_t i = 0; i < plan.pages; ++i) {
    const Page& page = parts_->space.PageAt(plan.address + i * parts_->config.chunk_bytes);
    run = page.chunk == 0 && page.mapped == 0 ? run + 1 : 0;
    most = std::max(most, run);
  }
  return most;
}

void ChunkBacking::GatherAllOfOthers(Gathering* gathering) {
  const uint64_t since = parts_->Now();
  const uint64_t stripped =
      trimmer_->StripOthers(gathering->attempt, Lacking(*gathering), ~uint32_t{0});
  gathering->attempt->Note(LadderStep::kTrimOthers, stripped * parts_->config.chunk_bytes,
                           parts_->Now() - since);
  // After other heaps gave up chunks, the limit may allow the rest.
  if (stripped != 0) Grow(gathering);
}

// Waits a moment for work that is about to finish, if only such work still uses freed memory of
// this stream. A short wait avoids that the pool grows for good. Other threads can allocate cached
// memory meanwhile.
bool ChunkBacking::WaitForOwnStream(AllocationAttempt* attempt) {
  const uint64_t since = parts_->Now();
  if (!MayWait(*parts_, since)) return false;
  Fences& fences = parts_->fences;
  const uint32_t timeline = attempt->heap->timeline;
  const uint32_t tick = fences.OpenTick(timeline) - 1;
  const bool passed =
      fences.WaitFor(timeline, tick, parts_->WaitClock() + parts_->config.stitch_wait_ns);
  NoteWait(parts_, *attempt, since, passed);
  return passed;
}

// --- Giving back ---------------------------------------------------------------------------------

StripResult ChunkBacking::StripFree(StreamHeap* heap, uint64_t pages, uint32_t before_epoch, bool) {
  return heap->Strip(pages, before_epoch, Plan());
}

void ChunkBacking::DropAll(StreamHeap* heap, PoolEnd end) {
  if (end != PoolEnd::kDriverGone) heap->UnmapAll();
}

}  // namespace vramstow
