#include "allocator/pool/pool.h"

#include <new>

#include "allocator/core/host_memory.h"
#include "base/units.h"

namespace vramstow {
namespace {

constexpr uint64_t kLargestBlock = uint64_t{1} << 46;
// Arenas are this many times the device's memory: every heap can have a region as large as it.
constexpr uint64_t kArenaFactor = 16;
constexpr uint64_t kLeastArena = uint64_t{1} << 40;
// Memory of the plain driver lies at multiples of this, if as much or more was asked for.
constexpr uint64_t kSegmentPage = 2 * kMiB;
// Ids of blocks: this mark, which the driver's own never have, 11 bits of the pool, 10 of the heap,
// and a count that lasts for years.
constexpr uint64_t kIdMark = uint64_t{1} << 63;

}  // namespace

const char* PoolErrorName(PoolError error) {
  switch (error) {
    case PoolError::kOk:
      return "ok";
    case PoolError::kOutOfMemory:
      return "out_of_memory";
    case PoolError::kInvalid:
      return "invalid";
    case PoolError::kNotOurs:
      return "not_ours";
    case PoolError::kUnavailable:
      return "unavailable";
  }
  return "unknown";
}

PoolError Pool::Open(const DriverTable* driver, const PoolConfig& config) {
  driver_ = driver;
  config_ = config;
  if (driver->describe(driver->self, &device_) != kDriverSuccess) return PoolError::kUnavailable;
  const bool segments = config.backing == PoolBacking::kSegments ||
                        (config.backing == PoolBacking::kAny && !device_.virtual_memory);
  if (segments ? !device_.plain : !device_.virtual_memory) return PoolError::kUnavailable;
  // Chunks are powers of two, so that pages are found by masks.
  uint64_t chunk = segments ? kSegmentPage : device_.granularity_bytes;
  while (chunk < config.chunk_bytes) chunk *= 2;
  config_.chunk_bytes = chunk;
  events_.Open(config.sink, device_.ordinal);
  uint64_t wanted = config.address_bytes;
  if (wanted == 0) {
    wanted = device_.total_bytes * kArenaFactor;
    if (wanted < kLeastArena) wanted = kLeastArena;
  }
  space_.Open(driver, &events_, chunk, wanted, device_.total_bytes / 4);
  fences_.Open(driver);
  if (!chunks_.Open(driver, &events_, &space_, &fences_, config.limit_bytes, config.shadows)) {
    return PoolError::kUnavailable;
  }
  if (segments) chunks_.UseSegments();
  opened_ns_ = Now();
  limit_bytes_ = config.limit_bytes;
  epochs_.Advance(opened_ns_);
  return PoolError::kOk;
}

void Pool::Close(PoolEnd end) {
  const bool alive = end != PoolEnd::kDriverGone;
  MutexLock device_lock(&mutex_);
  const uint32_t count = heap_count_.load();
  for (std::atomic<Heap*>& entry : table_) entry.store(nullptr);
  heap_count_.store(0);
  for (uint32_t number = 1; number <= count; ++number) {
    Heap* heap = heaps_[number];
    if (alive && segments()) heap->DropSegments(end == PoolEnd::kAlive);
    if (alive && !segments()) heap->UnmapAll();
    heap->Close();
    heap->~Heap();
    FreeHostMemory(heap, sizeof(Heap));
    heaps_[number] = nullptr;
  }
  interference_.Close();
  fences_.Close(end == PoolEnd::kAlive);
  chunks_.Close(alive);
  space_.Close(alive);
}

// --- Heaps --------------------------------------------------------------------------------------

uint64_t Pool::HashOf(const HeapKey& key) {
  const uint64_t apart = key.pool + (uint64_t{key.tag} << 32);
  const uint64_t mixed = (key.stream ^ (apart * 0x9E3779B97F4A7C15U)) * 0xD6E8FEB86659FD93U;
  return mixed >> 53;  // 11 bits: 2 * kMaxHeaps places
}

Heap* Pool::FindHeap(const HeapKey& key) const {
  static_assert(2 * kMaxHeaps == 1U << 11);
  for (uint64_t place = HashOf(key);; place = (place + 1) & (2 * kMaxHeaps - 1)) {
    Heap* heap = table_[place].load(std::memory_order_acquire);
    if (heap == nullptr) return nullptr;
    if (heap->key.stream == key.stream && heap->key.pool == key.pool && heap->key.tag == key.tag) {
      return heap;
    }
  }
}

// The device's lock is held.
Heap* Pool::GetHeap(const HeapKey& key) {
  Heap* heap = FindHeap(key);
  if (heap != nullptr) return heap->paused ? GetHeap({key.stream, key.pool}) : heap;
  const uint32_t count = heap_count_.load(std::memory_order_relaxed);
  // The last place is kept for callers without a stream: that heap waits for everything, so it is
  // right for any stream that finds no place of its own.
  constexpr HeapKey kCommon{kUnknownStream, 0};
  const bool common =
      key.stream == kCommon.stream && key.pool == kCommon.pool && key.tag == kCommon.tag;
  if (!common && count + 1 >= kMaxHeaps) return GetHeap(kCommon);
  void* memory = AllocateHostMemory(sizeof(Heap));
  if (memory == nullptr) return nullptr;
  heap = new (memory) Heap;
  const uint32_t timeline =
      key.stream == kUnknownStream ? Fences::kEverything : fences_.TimelineOf(key.stream);
  HeapDependencies around;
  around.space = &space_;
  around.chunks = &chunks_;
  around.fences = &fences_;
  around.epochs = &epochs_;
  around.events = &events_;
  around.interference = &interference_;
  around.page_bytes = config_.chunk_bytes;
  around.small_bytes = config_.small_bytes;
  around.largest_region = RoundUp(device_.total_bytes, config_.chunk_bytes);
  if (!heap->Open(around, key, static_cast<uint16_t>(count + 1), timeline)) {
    heap->~Heap();
    FreeHostMemory(memory, sizeof(Heap));
    return nullptr;
  }
  heap->graph_pinned = key.pool != 0;
  heap->next_id = kIdMark | uint64_t{config_.id_space & 2047} << 52 | uint64_t{count + 1} << 42;
  heaps_[count + 1] = heap;
  heap_count_.store(count + 1, std::memory_order_release);
  // From here on the first heap knows that it is not alone (FinishAllocation).
  if (count == 1) {
    MutexLock lock(&heaps_[1]->mutex);
  }
  uint64_t place = HashOf(key);
  while (table_[place].load(std::memory_order_relaxed) != nullptr) {
    place = (place + 1) & (2 * kMaxHeaps - 1);
  }
  table_[place].store(heap, std::memory_order_release);
  return heap;
}

// --- Blocks -------------------------------------------------------------------------------------

PoolError Pool::Allocate(const BlockRequest& request, Block* block) {
  if (request.size == 0) return PoolError::kInvalid;
  if (request.size > kLargestBlock) return PoolError::kOutOfMemory;
  const uint64_t size = (request.size + kBlockBytes - 1) & ~(kBlockBytes - 1);
  Heap* heap = FindHeap({request.stream, request.pool, request.tag});
  if (heap != nullptr) {
    bool served = false;
    uint64_t sum = 0;
    {
      MutexLock lock(&heap->mutex);
      // What waited for work that is done by now is as good as free, and has to be seen as such
      // before a place is chosen.
      heap->SettleIfDone();
      const uint32_t index = heap->paused ? 0 : heap->Take(size);
      if (index != 0) {
        served = true;
        sum = FinishAllocation(heap, index, request, Served::kHit, block);
      }
    }
    if (served) {
      if (sum != 0) NotePeak(heap, sum);
      return PoolError::kOk;
    }
  }
  return AllocateSlow(request, size, block);
}

// Under the heap's lock: the event is told before anybody else can see the block. Returns 0, or,
// where the heap has used up its credit, what all heaps have allocated: it calls for NotePeak.
uint64_t Pool::FinishAllocation(Heap* heap, uint32_t index, const BlockRequest& request,
                                Served served, Block* block) {
  Span& span = heap->span(index);
  span.requested = request.size;
  span.layer = request.layer;
  span.id = ++heap->next_id;
  span.offloaded = false;
  const uint64_t allocated =
      heap->stats.allocated_bytes.load(std::memory_order_relaxed) + span.size;
  heap->stats.allocated_bytes.store(allocated, std::memory_order_relaxed);
  Bump(&heap->stats.requested_bytes, request.size);
  Bump(&heap->stats.live_blocks, 1);
  Bump(&heap->stats.allocations, 1);
  heap->NoteLive(span.address);
  const uint32_t clock = touch_clock_.load(std::memory_order_relaxed);
  if (clock != 0) {
    space_.Touch(span.address, clock);
    // What pinned earlier blocks does not pin this one, where it has a page for itself; a page that
    // it shares may be pinned for a neighbour.
    const uint64_t page = config_.chunk_bytes;
    const uint64_t end = span.address + span.size;
    for (uint64_t at = RoundUp(span.address, page); at + page <= end; at += page) {
      space_.Renew(at, clock);
    }
  }
  *block = {span.address, span.size, served};
  events_.Block(EventKind::kAllocate, request.layer, span.address, span.size, request.size,
                request.stream, served);
  if (allocated <= heap->stats.credit.load(std::memory_order_relaxed)) return 0;
  if (heap_count_.load(std::memory_order_acquire) == 1 &&
      heap->deferred_count.load(std::memory_order_relaxed) == 0) {
    // Nobody else has credit, and nobody gets any while this heap is locked (GetHeap).
    const uint64_t peak = peak_allocated_.load(std::memory_order_relaxed);
    const uint64_t higher = allocated > peak ? allocated : peak;
    peak_allocated_.store(higher, std::memory_order_relaxed);
    heap->stats.credit.store(higher, std::memory_order_relaxed);
    return 0;
  }
  return AllocatedBytes();
}

// The sum over all heaps, read without a lock: each number is exact but for what is deferred.
uint64_t Pool::AllocatedBytes() const {
  const uint32_t count = heap_count_.load(std::memory_order_acquire);
  uint64_t sum = 0;
  for (uint32_t number = 1; number <= count; ++number) {
    sum += heaps_[number]->stats.allocated_bytes.load(std::memory_order_relaxed);
  }
  return sum;
}

PoolError Pool::Free(uint64_t address, BlockInfo* freed, bool framework_only) {
  const uint16_t number = space_.HeapOf(address);
  if (number == AddressSpace::kNoHeap) {
    return space_.Owns(address) ? PoolError::kInvalid : PoolError::kNotOurs;
  }
  Heap* heap = heaps_[number];
  MutexLock lock(&heap->mutex);
  // Who wants to know about the block needs its record at once.
  if (!events_.on() && freed == nullptr && heap->DeferFree(address)) {
    Bump(&heap->stats.frees, 1);
    return PoolError::kOk;
  }
  heap->FlushDeferred();
  const uint32_t index = heap->FindLive(address);
  if (index == 0) return PoolError::kInvalid;
  const Span& span = heap->span(index);
  if (framework_only && span.layer != Layer::kFramework) return PoolError::kNotOurs;
  heap->NoteFreed(address);
  if (freed != nullptr) {
    *freed = {address,        span.size, span.requested, heap->key.stream,
              heap->key.pool, span.id,   span.layer};
  }
  events_.Block(EventKind::kFree, span.layer, address, span.size, span.requested, heap->key.stream,
                Served::kUnknown);
  Bump(&heap->stats.frees, 1);
  heap->TakeBack(index);
  if (freed != nullptr) freed->pending = heap->span(index).state == SpanState::kPending;
  return PoolError::kOk;
}

PoolError Pool::RecordUse(uint64_t address, uint64_t stream) {
  const uint16_t number = space_.HeapOf(address);
  if (number == AddressSpace::kNoHeap) {
    return space_.Owns(address) ? PoolError::kInvalid : PoolError::kNotOurs;
  }
  uint32_t timeline = fences_.FindTimeline(stream);
  if (timeline == Fences::kMaxTimelines) {
    MutexLock device_lock(&mutex_);
    timeline = fences_.TimelineOf(stream);
  }
  Heap* heap = heaps_[number];
  HeapLock lock(heap);
  const uint32_t index = heap->FindLive(address);
  if (index == 0) return PoolError::kInvalid;
  return heap->RecordUse(index, timeline) ? PoolError::kOk : PoolError::kUnavailable;
}

PoolError Pool::Find(uint64_t address, BlockInfo* info) {
  const uint16_t number = space_.HeapOf(address);
  if (number == AddressSpace::kNoHeap) {
    return space_.Owns(address) ? PoolError::kInvalid : PoolError::kNotOurs;
  }
  Heap* heap = heaps_[number];
  HeapLock lock(heap);
  const uint32_t index = heap->FindAround(address);
  if (index == 0) return PoolError::kInvalid;
  const Span& span = heap->span(index);
  *info = {span.address,   span.size, span.requested, heap->key.stream,
           heap->key.pool, span.id,   span.layer,     !heap->on_stream || span.uses != 0};
  return PoolError::kOk;
}

uint32_t Pool::ChunksOf(uint64_t address, uint64_t id, uint64_t first, uint64_t* handles,
                        uint32_t most) {
  const uint16_t number = space_.HeapOf(address);
  if (number == AddressSpace::kNoHeap) return 0;
  MutexLock device_lock(&mutex_);
  Heap* heap = heaps_[number];
  HeapLock lock(heap);
  const uint32_t index = heap->FindLive(address);
  if (index == 0 || heap->span(index).id != id || segments()) return 0;
  const uint64_t chunk = config_.chunk_bytes;
  const uint64_t end = address + heap->span(index).requested;
  uint32_t count = 0;
  for (uint64_t at = address / chunk * chunk + first * chunk; at < end && count < most;
       at += chunk) {
    // Who has it elsewhere would not see it move.
    space_.Renew(at, AddressSpace::kPinned);
    if (chunks_.OnHost(at)) return 0;
    handles[count++] = chunks_.HandleAt(at);
  }
  return count;
}

// --- Streams ------------------------------------------------------------------------------------

void Pool::NoteStream(uint64_t stream) {
  if (fences_.FindTimeline(stream) != Fences::kMaxTimelines) return;
  MutexLock device_lock(&mutex_);
  fences_.TimelineOf(stream);
}

void Pool::StreamDestroyed(uint64_t stream) {
  MutexLock device_lock(&mutex_);
  const uint32_t timeline = fences_.FindTimeline(stream);
  if (timeline == Fences::kMaxTimelines) return;
  const uint32_t count = heap_count_.load();
  for (uint32_t number = 1; number <= count; ++number) {
    Heap* heap = heaps_[number];
    if (heap->timeline != timeline || !heap->on_stream) continue;
    HeapLock lock(heap);
    heap->Gate();
  }
  // Blocks that other heaps hold for this stream need its event now: later it has no name.
  fences_.Ensure(timeline, fences_.OpenTick(timeline));
}

// --- Numbers ------------------------------------------------------------------------------------

PoolStats Pool::Stats() {
  PoolStats stats{};
  const uint32_t count = heap_count_.load(std::memory_order_acquire);
  for (uint32_t number = 1; number <= count; ++number) {
    if (heaps_[number]->deferred_count.load(std::memory_order_relaxed) != 0) {
      HeapLock lock(heaps_[number]);
    }
    const HeapStats& heap = heaps_[number]->stats;
    stats.allocated_bytes += heap.allocated_bytes.load(std::memory_order_relaxed);
    stats.requested_bytes += heap.requested_bytes.load(std::memory_order_relaxed);
    stats.pending_bytes += heap.pending_bytes.load(std::memory_order_relaxed);
    stats.live_blocks += heap.live_blocks.load(std::memory_order_relaxed);
    stats.allocations += heap.allocations.load(std::memory_order_relaxed);
    stats.frees += heap.frees.load(std::memory_order_relaxed);
    stats.misses += heap.misses.load(std::memory_order_relaxed);
    stats.host_bytes += heap.host_bytes.load(std::memory_order_relaxed) + sizeof(Heap);
  }
  stats.host_bytes += chunks_.committed_bytes();
  stats.reserved_bytes = chunks_.reserved_bytes();
  stats.peak_reserved_bytes = chunks_.peak_reserved_bytes();
  stats.peak_allocated_bytes = peak_allocated_.load(std::memory_order_relaxed);
  stats.stitches = stitches_.load(std::memory_order_relaxed);
  stats.grown_chunks = grown_.load(std::memory_order_relaxed);
  stats.moved_chunks = moved_.load(std::memory_order_relaxed);
  stats.released_chunks = released_.load(std::memory_order_relaxed);
  stats.fence_waits = fence_waits_.load(std::memory_order_relaxed);
  stats.fence_wait_ns = fence_wait_ns_.load(std::memory_order_relaxed);
  stats.out_of_memory = out_of_memory_.load(std::memory_order_relaxed);
  stats.hook_calls = hook_calls_.load(std::memory_order_relaxed);
  return stats;
}

void Pool::ResetPeaks() {
  MutexLock device_lock(&mutex_);
  {
    // Without credit every heap asks again.
    MutexLock credit_lock(&credit_mutex_);
    CollectCredit(nullptr);
    peak_allocated_.store(Stats().allocated_bytes, std::memory_order_relaxed);
    CollectCredit(nullptr);
  }
  chunks_.ResetPeak();
}

void Pool::SetLimit(uint64_t bytes) {
  MutexLock device_lock(&mutex_);
  limit_bytes_ = bytes;
  ApplyLimits(true);
}

void Pool::SetShare(uint64_t bytes) {
  MutexLock device_lock(&mutex_);
  share_bytes_ = bytes;
  ApplyLimits(true);
}

// The device's lock is held. A framework's share is of what it holds itself, beside what callers
// without a stream do.
void Pool::ApplyLimits(bool for_framework) {
  uint64_t limit = limit_bytes_;
  const uint64_t share = share_bytes_ + MappedWithoutStream();
  if (for_framework && share_bytes_ != 0 && (limit == 0 || share < limit)) limit = share;
  chunks_.set_limit_bytes(limit);
}

DriverResult Pool::MemoryInfo(uint64_t* free_bytes, uint64_t* total_bytes) {
  const DriverResult result = driver_->memory_info(driver_->self, free_bytes, total_bytes);
  if (result == kDriverSuccess) AdjustMemoryInfo(free_bytes, total_bytes);
  return result;
}

void Pool::AdjustMemoryInfo(uint64_t* free_bytes, uint64_t* total_bytes) {
  MutexLock device_lock(&mutex_);
  const PoolStats stats = Stats();
  // What lies elsewhere takes no device memory.
  const uint64_t away = chunks_.offloaded_bytes() + chunks_.discarded_bytes();
  const uint64_t resident = stats.allocated_bytes > away ? stats.allocated_bytes - away : 0;
  if (stats.reserved_bytes > resident) *free_bytes += stats.reserved_bytes - resident;
  if (*free_bytes > *total_bytes) *free_bytes = *total_bytes;
  const uint64_t limit = limit_bytes_;
  if (limit == 0) return;
  if (*total_bytes > limit) *total_bytes = limit;
  const uint64_t left = resident < limit ? limit - resident : 0;
  if (*free_bytes > left) *free_bytes = left;
}

OutOfMemoryReport Pool::LastReport() {
  MutexLock device_lock(&mutex_);
  return report_;
}

const char* Pool::Check() {
  MutexLock device_lock(&mutex_);
  return CheckLocked();
}

const char* Pool::CheckLocked() {
  uint64_t backed = chunks_.idle_chunks() * config_.chunk_bytes + chunks_.stuck_bytes();
  const uint32_t count = heap_count_.load();
  for (uint32_t number = 1; number <= count; ++number) {
    Heap* heap = heaps_[number];
    HeapLock lock(heap);
    const char* found = heap->Check();
    if (found != nullptr) return found;
    backed += heap->BackedBytes();
  }
  const uint64_t elsewhere = chunks_.offloaded_bytes() + chunks_.discarded_bytes();
  if (backed != chunks_.reserved_bytes() + elsewhere) {
    return "a chunk is neither mapped nor idle";
  }
  return nullptr;
}

void Pool::CheckIfAsked() {
  if (!config_.check) return;
  const char* found = CheckLocked();
  const char* none = nullptr;
  if (found != nullptr) check_failure_.compare_exchange_strong(none, found);
}

}  // namespace vramstow
