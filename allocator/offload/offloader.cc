#include "allocator/offload/offloader.h"

#include <algorithm>

#include "allocator/counter.h"
#include "allocator/host_memory.h"

namespace vramstow {
bool Offloader::Open(Pool* pool, SubmissionGate* gate, const OffloadConfig& config) {
  pool_ = pool;
  gate_ = gate;
  config_ = config;
  slice_pages_ = kFirstSlicePages;
  last_out_ns_ = 0;
  last_out_clock_ = 0;
  mover_.Open(pool->driver_, &pool->events_, &pool->chunks_);
  if (!pool->device_.host_memory) config_.host_bytes = 0;
  return pool->device_.host_memory;
}

void Offloader::Close(bool alive) {
  MutexLock device_lock(&pool_->mutex_);
  mover_.Close(alive);
  if (pages_ != nullptr) FreeHostMemory(pages_, pages_room_ * sizeof(Page));
  pages_ = nullptr;
  pages_room_ = 0;
  Watch(false);
}

void Offloader::Watch(bool wanted) {
  watching_.store(wanted, std::memory_order_relaxed);
  pool_->touch_clock_.store(wanted ? Clock() : 0, std::memory_order_relaxed);
}

// --- Which pages --------------------------------------------------------------------------------

bool Offloader::EnsurePages(uint64_t count) {
  if (count <= pages_room_) return true;
  void* memory = AllocateHostMemory(count * sizeof(Page));
  if (memory == nullptr) return false;
  if (pages_ != nullptr) FreeHostMemory(pages_, pages_room_ * sizeof(Page));
  pages_ = static_cast<Page*>(memory);
  pages_room_ = count;
  return true;
}

// A block was touched when any of its pages was; a page is as warm as its warmest block, and pinned
// with a pinned one. Spans come in order of address, so blocks that share a page come one after the
// other.
void Offloader::ListHeap(Heap* heap, bool on_host, uint64_t* count) {
  const uint64_t page = pool_->config_.chunk_bytes;
  heap->VisitSpans([&](const Span& span) {
    if (span.state != SpanState::kLive && span.state != SpanState::kPending) return;
    const uint64_t first = span.address / page * page;
    const uint64_t end = span.address + span.size;
    uint32_t touched = 0;
    for (uint64_t at = first; at < end; at += page) {
      touched = std::max(touched, pool_->space_.TouchedAt(at));
    }
    const uint64_t rank = uint64_t{touched} << 32 | (span.id & 0xFFFFFFFFU);
    for (uint64_t at = first; at < end; at += page) {
      if (*count > 0 && pages_[*count - 1].address == at) {
        pages_[*count - 1].rank = std::max(pages_[*count - 1].rank, rank);
      } else if (pool_->chunks_.OnHost(at) == on_host && *count < pages_room_) {
        pages_[(*count)++] = {at, rank};
      }
    }
  });
}

// The device's lock is held. All pages with live blocks that may move, in no order.
uint64_t Offloader::ListPages(bool on_host) {
  const uint64_t mapped = pool_->chunks_.chunks();
  if (!EnsurePages(mapped + 1)) return 0;
  uint64_t count = 0;
  const uint32_t heaps = pool_->heap_count_.load(std::memory_order_relaxed);
  for (uint32_t number = 1; number <= heaps; ++number) {
    Heap* heap = pool_->heaps_[number];
    HeapLock lock(heap);
    if (!heap->kept) ListHeap(heap, on_host, &count);
  }
  Page* end = std::remove_if(pages_, pages_ + count, [](const Page& page) {
    return page.rank >> 32 == AddressSpace::kPinned;
  });
  return static_cast<uint64_t>(end - pages_);
}

// Blocks with a page in host memory are not to be used again as they are once they are freed.
void Offloader::MarkBlocks() {
  const uint64_t page = pool_->config_.chunk_bytes;
  const uint32_t heaps = pool_->heap_count_.load(std::memory_order_relaxed);
  for (uint32_t number = 1; number <= heaps; ++number) {
    Heap* heap = pool_->heaps_[number];
    HeapLock lock(heap);
    heap->MarkOffloaded([this, page](const Span& span) {
      const uint64_t end = span.address + span.size;
      for (uint64_t at = span.address / page * page; at < end; at += page) {
        if (pool_->chunks_.OnHost(at)) return true;
      }
      return false;
    });
  }
}

// --- Moving -------------------------------------------------------------------------------------

// The device's lock is held. True: no work is submitted, and all that was has finished.
bool Offloader::CloseGate() {
  if (pool_->fences_.capturing()) return false;
  if (!gate_->Close(config_.gate_wait_ns)) return false;
  Fences& fences = pool_->fences_;
  bool quiet = !fences.capturing();
  if (quiet) {
    const uint32_t tick = fences.OpenTick(Fences::kEverything);
    quiet = fences.WaitFor(Fences::kEverything, tick, pool_->Now() + config_.work_wait_ns);
    if (!quiet && fences.broken()) quiet = fences.Synchronize() == kDriverSuccess;
  }
  if (!quiet) gate_->Open();
  return quiet;
}

void Offloader::OpenGate(uint64_t closed_ns) {
  gate_->Open();
  const uint64_t duration = pool_->Now() - closed_ns;
  Bump(&gate_closed_, 1);
  Bump(&gate_ns_, duration);
  if (duration > longest_gate_ns_.load(std::memory_order_relaxed)) {
    longest_gate_ns_.store(duration, std::memory_order_relaxed);
  }
}

// So many idle chunks of host memory are in the store, as far as the limit allows. True: any.
bool Offloader::EnsureHostChunks(uint64_t count) {
  ChunkStore& chunks = pool_->chunks_;
  const uint64_t size = chunks.chunk_bytes();
  uint64_t idle = chunks.idle_host_chunks();
  while (idle < count && chunks.host_bytes() + size <= config_.host_bytes) {
    if (chunks.MakeHost() != kDriverSuccess) break;
    ++idle;
  }
  return idle != 0;
}

// One event for each run of neighbouring pages; the first has the time that the gate was closed.
void Offloader::Tell(const uint64_t* pages, uint32_t count, bool to_host, OffloadReason reason,
                     uint64_t gate_ns) {
  const uint64_t size = pool_->config_.chunk_bytes;
  const EventKind kind = to_host ? EventKind::kOffload : EventKind::kReturn;
  for (uint32_t i = 0; i < count;) {
    uint32_t run = 1;
    while (i + run < count && pages[i + run] == pages[i] + run * size) ++run;
    pool_->events_.Moved(kind, pages[i], run * size, i == 0 ? gate_ns : 0,
                         static_cast<uint64_t>(reason));
    i += run;
  }
}

// The device's lock is held. Moves the first `count` of the listed pages, as far as it goes;
// returns how many. The gate is closed for one slice at a time.
uint64_t Offloader::MoveSlices(uint64_t count, uint64_t listed, bool to_host,
                               OffloadReason reason) {
  uint64_t moved = 0;
  while (moved < count && moved < listed) {
    uint64_t wanted = std::min({count - moved, listed - moved, uint64_t{slice_pages_}});
    if (to_host && !EnsureHostChunks(wanted)) break;
    uint64_t slice[Mover::kMostPages];
    for (uint64_t i = 0; i < wanted; ++i) slice[i] = pages_[moved + i].address;
    std::sort(slice, slice + wanted);
    if (!CloseGate()) {
      Bump(&refused_, 1);
      break;
    }
    const uint64_t since = pool_->Now();
    DriverResult result = kDriverSuccess;
    const uint32_t done = mover_.Move(slice, static_cast<uint32_t>(wanted), to_host, &result);
    OpenGate(since);
    const uint64_t duration = pool_->Now() - since;
    Tell(slice, done, to_host, reason, duration);
    moved += done;
    // The next slice is as large as fits the time; never more than twice this one.
    const uint64_t fitting = done * config_.slice_ns / std::max<uint64_t>(duration, 1);
    slice_pages_ = static_cast<uint32_t>(std::clamp<uint64_t>(
        std::min<uint64_t>(fitting, uint64_t{slice_pages_} * 2), 1, Mover::kMostPages));
    if (result != kDriverSuccess) {
      Bump(&failed_, 1);
      break;
    }
  }
  if (moved != 0) Bump(to_host ? &out_ : &in_, moved * pool_->config_.chunk_bytes);
  return moved;
}

uint64_t Offloader::Relieve(void* self, uint64_t bytes) {
  return static_cast<Offloader*>(self)->MoveOut(bytes, OffloadReason::kPressure);
}

uint64_t Offloader::MoveOut(uint64_t bytes, OffloadReason reason) {
  if (config_.host_bytes == 0) return 0;
  Watch(true);
  MutexLock device_lock(&pool_->mutex_);
  const uint64_t size = pool_->config_.chunk_bytes;
  uint64_t count = (bytes + size - 1) / size;
  const uint64_t listed = ListPages(false);
  if (count > listed) count = listed;
  const auto colder = [](const Page& a, const Page& b) { return a.rank < b.rank; };
  if (count < listed) std::nth_element(pages_, pages_ + count, pages_ + listed, colder);
  const uint64_t moved = MoveSlices(count, listed, true, reason);
  if (moved != 0) MarkBlocks();
  last_out_ns_ = pool_->Now();
  last_out_clock_ = Clock();
  Tick();
  return moved * size;
}

// The device's lock is held. How many bytes may come back.
uint64_t Offloader::Room() {
  const uint64_t size = pool_->config_.chunk_bytes;
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;
  const DriverTable* driver = pool_->driver_;
  if (driver->memory_info(driver->self, &free_bytes, &total_bytes) != kDriverSuccess) return 0;
  const uint64_t under_limit = pool_->chunks_.ChunksUnderLimit();
  if (under_limit < free_bytes / size) free_bytes = under_limit * size;
  free_bytes += pool_->chunks_.idle_chunks() * size;
  return free_bytes > config_.keep_free_bytes ? free_bytes - config_.keep_free_bytes : 0;
}

uint64_t Offloader::Return(uint64_t most_bytes, bool all) {
  MutexLock device_lock(&pool_->mutex_);
  ChunkStore& chunks = pool_->chunks_;
  if (chunks.offloaded_bytes() == 0) {
    Watch(false);
    return 0;
  }
  if (!all && pool_->Now() - last_out_ns_ < config_.calm_ns) return 0;
  const uint64_t size = chunks.chunk_bytes();
  const uint64_t room = all ? most_bytes : std::min(most_bytes, Room());
  uint64_t listed = ListPages(true);
  if (!all) {
    const uint64_t since = uint64_t{last_out_clock_} << 32;
    Page* end = std::remove_if(pages_, pages_ + listed,
                               [since](const Page& page) { return page.rank < since; });
    listed = static_cast<uint64_t>(end - pages_);
  }
  uint64_t count = std::min(listed, room / size);
  const auto warmer = [](const Page& a, const Page& b) { return a.rank > b.rank; };
  if (count < listed) std::nth_element(pages_, pages_ + count, pages_ + listed, warmer);
  if (chunks.idle_chunks() < count) {
    uint64_t made = 0;
    const uint64_t lacking = std::min(count - chunks.idle_chunks(), chunks.ChunksUnderLimit());
    chunks.Make(lacking, &made);
    Bump(&pool_->grown_, made);
    count = std::min(count, chunks.idle_chunks());
  }
  return MoveSlices(count, listed, false, all ? OffloadReason::kAsked : OffloadReason::kTouched) *
         size;
}

uint64_t Offloader::BringBack(uint64_t most_bytes) { return Return(most_bytes, false); }

uint64_t Offloader::Resume(uint64_t most_bytes) { return Return(most_bytes, true); }

// --- Numbers ------------------------------------------------------------------------------------

OffloadStats Offloader::Stats() const {
  OffloadStats stats{};
  stats.out_bytes = out_.load(std::memory_order_relaxed);
  stats.in_bytes = in_.load(std::memory_order_relaxed);
  stats.offloaded_bytes = pool_->chunks_.offloaded_bytes();
  stats.host_bytes = pool_->chunks_.host_bytes();
  stats.gate_closed = gate_closed_.load(std::memory_order_relaxed);
  stats.gate_ns = gate_ns_.load(std::memory_order_relaxed);
  stats.longest_gate_ns = longest_gate_ns_.load(std::memory_order_relaxed);
  stats.refused = refused_.load(std::memory_order_relaxed);
  stats.failed = failed_.load(std::memory_order_relaxed);
  return stats;
}

}  // namespace vramstow
