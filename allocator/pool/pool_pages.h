// PoolPages: the pages under a pool's live blocks, for whoever moves what is in them
// (allocator/offload).
//
// Idea: who moves memory holds the device's lock, looks at the blocks heap by heap, exchanges
// chunks under their pages, and says afterwards which blocks lie elsewhere. It does not see how
// blocks are allocated. Touches are told from any thread, without a lock.
//
// Ownership: none; the pool outlives it. Threads: with the device's lock, but for touches, the
// constants and what says so. Errors: as ChunkStore. Units: bytes; nanoseconds.
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
  // What deadlines are made of.
  uint64_t WaitClock() const { return parts_->WaitClock(); }
  // Whether memory moves out where a request lacks room.
  bool has_relief() const { return parts_->config.relief.relieve != nullptr; }

  // --- Touches, from any thread ------------------------------------------------------------------
  // The time by which new blocks count as touched; 0 while nobody wants to know.
  void SetClock(uint32_t clock) { parts_->touch_clock.store(clock, std::memory_order_relaxed); }
  // True: that is news: a page of the pool's, not pinned, not touched at the same time before.
  bool Touch(uint64_t address, uint32_t when) { return parts_->space.Touch(address, when); }
  void Expose(uint64_t address, uint32_t when) { parts_->space.Expose(address, when); }
  AddressSpace::Touches TouchesAt(uint64_t address) const {
    return parts_->space.TouchesAt(address);
  }

  // --- Memory ------------------------------------------------------------------------------------
  ChunkStore& chunks() const { return parts_->chunks; }
  ChunkExchange& exchange() const { return parts_->exchange; }
  Fences& fences() const { return parts_->fences; }
  // Of live blocks, of all heaps.
  uint64_t AllocatedBytes() const { return parts_->heaps.AllocatedBytes(); }
  // Makes chunks until the store has `count` of those that it has `idle` of, as far as the limit
  // and the device allow it.
  void MakeUpTo(uint64_t count, uint64_t idle) VRAMSTOW_REQUIRES(kDeviceLock);
  // The store has `count` chunks that no work touches, as far as cached memory gives them.
  void TakeCached(uint64_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  // The store has `count` chunks, as far as cached memory gives them. Work that was submitted may
  // still use them, so whoever takes them has to come after that work.
  void TakeFreed(uint64_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  // As Pool::HoldChunks and Pool::ReleaseChunks.
  uint64_t Hold(uint64_t address, uint64_t size) VRAMSTOW_REQUIRES(kDeviceLock);
  void Release(uint64_t address, uint64_t size) VRAMSTOW_REQUIRES(kDeviceLock);
  // Releases up to `count` idle chunks. Returns the number.
  uint64_t ReleaseIdle(uint64_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  // Gives `bytes` back to the device. `released` chunks of them went before. Without the
  // device's lock.
  void Trim(uint64_t bytes, uint64_t released = 0);
  // How many bytes of a range of the pool's lie on the host now. Without the device's lock.
  uint64_t BytesOnHost(uint64_t address, uint64_t size);
  // From now on nothing at [address, address + size) moves as long as its blocks live. False: part
  // of it lies on the host already. Without the device's lock.
  bool PinInPlace(uint64_t address, uint64_t size);

  // --- Blocks ------------------------------------------------------------------------------------
  // Calls visit(span, of_graph) for the spans of heaps with this tag, in order of address within
  // each heap. `of_graph`: of a heap whose pages captured graphs write to; without `graphs` these
  // are left out.
  template <typename Visit>
  void VisitSpans(uint32_t tag, bool graphs, Visit visit) VRAMSTOW_REQUIRES(kDeviceLock) {
    VisitHeaps(tag, graphs, [&](StreamHeap* heap) {
      heap->mutex.AssertHeld();
      const bool of_graph = heap->graph_pinned();
      static_cast<const StreamHeap*>(heap)->spans().Visit(
          [&](const Span& span) { visit(span, of_graph); });
    });
  }
  // Marks the blocks that have a page which is not on the device: once they are freed, their pages
  // are given up rather than used again. Not those of graphs: their pages come back in any case.
  void MarkOffloaded() VRAMSTOW_REQUIRES(kDeviceLock);
  // The same, and gives up what is free and paused: a heap is no graph's any more.
  void DropPaused() VRAMSTOW_REQUIRES(kDeviceLock);
  // Heaps with this tag serve nothing from now on; with `graphs`, those of graphs, too.
  void Pause(uint32_t tag, bool graphs) VRAMSTOW_REQUIRES(kDeviceLock);
  // The smallest tag, from this one on, of a heap that is paused; kAnyTag: there is none.
  uint32_t PausedTagFrom(uint32_t least) VRAMSTOW_REQUIRES(kDeviceLock);
  // Those of them that have no paused page serve again.
  void EndPause(uint32_t tag) VRAMSTOW_REQUIRES(kDeviceLock);

 private:
  // Without `graphs`, heaps whose pages a captured graph writes to are left out.
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
