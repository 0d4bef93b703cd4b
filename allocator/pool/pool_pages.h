// PoolPages: access to the pages under a pool's live blocks, for the code that moves their contents
// (allocator/offload).
//
// Idea: the code that moves memory holds the device's lock, examines the blocks heap by heap,
// exchanges the chunks under their pages, and then marks the blocks that are not on the device. It
// does not see how blocks are allocated. Touches (the times at which work last used a page) are
// recorded from any thread, without a lock.
//
// Ownership: none; the pool outlives the object. Threads: under the device's lock, except for
// touches, constants and functions that say otherwise. Errors: as ChunkStore. Units: bytes;
// nanoseconds.
#ifndef VRAMSTOW_ALLOCATOR_POOL_POOL_PAGES_H_
#define VRAMSTOW_ALLOCATOR_POOL_POOL_PAGES_H_

#include <cstdint>

#include "allocator/pool/parts.h"
#include "allocator/pool/trimmer.h"

namespace vramstow {

class PoolPages {
 public:
  static constexpr uint32_t kAnyTag = ~uint32_t{0};

  void Open(PoolParts* parts, Trimmer* trimmer) {
    parts_ = parts;
    trimmer_ = trimmer;
  }

  // --- Constants ---------------------------------------------------------------------------------
  DeviceMutex* mutex() const { return &parts_->mutex; }
  const DriverTable* driver() const { return parts_->driver; }
  const DriverDevice& device() const { return parts_->device; }
  const PoolEvents& events() const { return parts_->events; }
  uint64_t page_bytes() const { return parts_->config.chunk_bytes; }
  uint64_t Now() const { return parts_->Now(); }
  // Returns the time of the clock by which deadlines are measured.
  uint64_t WaitClock() const { return parts_->WaitClock(); }
  // True if memory is evicted to the host when a request lacks memory.
  bool has_reclaim_callback() const { return parts_->config.reclaim_callback.reclaim != nullptr; }

  // --- Touches, from any thread ------------------------------------------------------------------
  // Sets the time that is recorded as the touch of a new block; 0 stops the recording.
  void SetClock(uint32_t clock) { parts_->touch_clock.store(clock, std::memory_order_relaxed); }
  // Records that work used the address at the time `when`. Returns true if this changed the record.
  // It changes nothing if the page is not the pool's, is pinned, or already has this time.
  bool Touch(uint64_t address, uint32_t when) { return parts_->space.Touch(address, when); }
  void Expose(uint64_t address, uint32_t when) { parts_->space.Expose(address, when); }
  void CountUsesAnew() { parts_->space.CountUsesAnew(); }
  AddressSpace::Touches TouchesAt(uint64_t address) const {
    return parts_->space.TouchesAt(address);
  }

  // --- Memory ------------------------------------------------------------------------------------
  ChunkStore& chunks() const { return parts_->chunks; }
  ChunkExchange& exchange() const { return parts_->exchange; }
  Fences& fences() const { return parts_->fences; }
  // True if all work that was submitted so far has ended, and no stream is being captured.
  bool HasWorkEnded();
  // Bytes of the live blocks of all heaps.
  uint64_t AllocatedBytes() const { return parts_->heaps.AllocatedBytes(); }
  // Makes chunks until the store has `count` of them, as far as the limit and the device allow it.
  // `idle` is the number of chunks that the store has now.
  void MakeUpTo(uint64_t count, uint64_t idle) VRAMSTOW_REQUIRES(kDeviceLock);
  // Returns how many device chunks can be made; `if_unknown` if the device does not say it.
  uint64_t NewChunks(uint64_t if_unknown) VRAMSTOW_REQUIRES(kDeviceLock);
  // Moves cached chunks to the store until it has `count` chunks that no work touches. Stops
  // earlier if no more chunks are cached.
  void ReclaimCached(uint64_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  // Moves cached chunks to the store until it has `count` chunks. Stops earlier if no more chunks
  // are cached. Submitted work may still use these chunks, so their next use must be ordered after
  // that work.
  void ReclaimFreed(uint64_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  // Holds chunks at their addresses, and releases them, as Pool::HoldChunks and Pool::ReleaseChunks
  // do. The caller holds the device's lock already.
  uint64_t Hold(uint64_t address, uint64_t size) VRAMSTOW_REQUIRES(kDeviceLock);
  void Release(uint64_t address, uint64_t size) VRAMSTOW_REQUIRES(kDeviceLock);
  // Releases up to `count` idle chunks. Returns the number.
  uint64_t ReleaseIdle(uint64_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  // The bytes of all idle chunks.
  uint64_t IdleBytes();
  // Releases `bytes` to the device, of which `released` chunks have been released already. Call it
  // without the device's lock.
  void Trim(uint64_t bytes, uint64_t released = 0);
  // Returns how many bytes of the range are on the host now. Call it without the device's lock.
  uint64_t BytesOnHost(uint64_t address, uint64_t size);
  // Prevents all moves at [address, address + size) while its blocks live. Returns false if a part
  // of it is on the host already. Call it without the device's lock.
  bool PinInPlace(uint64_t address, uint64_t size);

  // --- Blocks ------------------------------------------------------------------------------------
  // Calls visit(span, of_graph) for the spans of heaps with this tag, in order of address within
  // each heap. `of_graph` is true if captured graphs write to the pages of the heap. Such heaps are
  // left out unless `graphs` is true.
  template <typename Visit>
  void VisitSpans(uint32_t tag, bool graphs, Visit visit) VRAMSTOW_REQUIRES(kDeviceLock) {
    VisitHeaps(tag, graphs, [&](StreamHeap* heap) {
      heap->mutex.AssertHeld();
      const bool of_graph = heap->graph_pinned();
      static_cast<const StreamHeap*>(heap)->spans().Visit(
          [&](const Span& span) { visit(span, of_graph); });
    });
  }
  // Marks the blocks that have a page which is not on the device. When such a block is freed, its
  // pages are dropped, not reused. Blocks to which captured graphs write are not marked, because
  // their pages are always restored.
  void MarkOffloaded() VRAMSTOW_REQUIRES(kDeviceLock);
  // Marks also the blocks that have a page for which leaves(address) is true. A caller does this
  // before such pages leave the device, because another thread may free the blocks meanwhile, and
  // calls MarkOffloaded afterwards.
  template <typename Leaves>
  void MarkLeaving(Leaves leaves) VRAMSTOW_REQUIRES(kDeviceLock) {
    VisitHeaps(kAnyTag, /*graphs=*/false, [&](StreamHeap* heap) {
      heap->mutex.AssertHeld();
      heap->MarkOffloaded(
          [&](const Span& span) { return span.offloaded || HasPage(span, leaves); });
    });
  }
  // Marks blocks as MarkOffloaded does, and also drops free pages that are paused (that is, evicted
  // on request of the program). Called after captured graphs have released a heap.
  void DropPaused() VRAMSTOW_REQUIRES(kDeviceLock);
  // Stops heaps with this tag from serving requests. If `graphs` is true, this includes heaps to
  // whose pages captured graphs write.
  void Pause(uint32_t tag, bool graphs) VRAMSTOW_REQUIRES(kDeviceLock);
  // Returns the smallest tag, not below `least`, of a paused heap; kAnyTag if there is none.
  uint32_t PausedTagFrom(uint32_t least) VRAMSTOW_REQUIRES(kDeviceLock);
  // Lets paused heaps with this tag serve requests again if none of their pages is paused.
  void EndPause(uint32_t tag) VRAMSTOW_REQUIRES(kDeviceLock);

 private:
  // True if like(address) is true for at least one of the span's pages.
  template <typename Like>
  bool HasPage(const Span& span, Like like) const {
    const uint64_t page = page_bytes();
    const uint64_t end = span.address + span.size;
    for (uint64_t at = span.address / page * page; at < end; at += page) {
      if (like(at)) return true;
    }
    return false;
  }
  // Calls visit(heap) for the heaps with this tag. Heaps whose pages captured graphs write to are
  // left out unless `graphs` is set.
  template <typename Visit>
  void VisitHeaps(uint32_t tag, bool graphs, Visit visit) {
    const uint32_t heaps = parts_->heaps.count();
    for (uint32_t number = 1; number <= heaps; ++number) {
      StreamHeap* heap = parts_->heaps.at(number);
      if (heap->graph_pinned() && !graphs) continue;
      if (tag != kAnyTag && heap->key.Get().tag != tag) continue;
      HeapLock lock(heap);
      visit(heap);
    }
  }

  PoolParts* parts_ = nullptr;
  Trimmer* trimmer_ = nullptr;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_POOL_PAGES_H_
