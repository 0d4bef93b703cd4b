// StreamHeap: the memory of one stream (or of all callers without a stream), in its own regions.
//
// Idea: the class combines the parts of a heap under one lock. A request is served by a block of
// the same size that was freed recently (Bins), else by a free span (SpanTable) at the address that
// LargePlacement chooses; neither touches a page or a chunk. Planner, Stripper and ChunkMoves work
// on chunks, with the device's lock held as well.
//
// A heap of one stream reuses a freed block at once, because the stream's own order protects it.
// Blocks that other streams used (recorded uses), and all blocks of the heap without a stream, wait
// in the PendingList until their fences have completed. Unmapping a free page always needs the
// fence.
//
// When its stream has ended, and its timeline or its number is needed, the heap is detached: it
// cannot be found any more, and its live blocks are freed as in the heap without a stream. Once it
// is empty it gets another key and keeps its cached memory.
//
// Ownership: its records; the pool owns heaps, chunks and addresses. Threads: `mutex` guards all
// but the constants and the numbers. Errors: DriverResult; 0 in place of a block. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_POOL_STREAM_HEAP_H_
#define VRAMSTOW_ALLOCATOR_POOL_STREAM_HEAP_H_

#include <atomic>
#include <cstdint>

#include "allocator/core/config.h"
#include "allocator/core/counter.h"
#include "allocator/core/device_lock.h"
#include "allocator/core/epochs.h"
#include "allocator/core/events.h"
#include "allocator/core/fences.h"
#include "allocator/heap/address_map.h"
#include "allocator/heap/bins.h"
#include "allocator/heap/deferred_frees.h"
#include "allocator/heap/pending_list.h"
#include "allocator/heap/span_table.h"
#include "allocator/physical/address_space.h"
#include "allocator/physical/chunk_store.h"
#include "allocator/placement/chunk_moves.h"
#include "allocator/placement/interference_map.h"
#include "allocator/placement/large_placement.h"
#include "allocator/placement/planner.h"
#include "allocator/placement/stripper.h"
#include "base/mutex.h"

namespace vramstow {

struct HeapKey {
  uint64_t stream;   // kUnknownStream for callers without a stream
  uint64_t pool;     // a private pool of the framework; 0 is the common one
  uint32_t tag = 0;  // blocks with the same tag can move together; 0 for none

  bool operator==(const HeapKey&) const = default;
};

// A heap's key, which HeapTable compares without the heap's lock while another thread may change
// it. The stream is written last and read first. So a reader that sees a half-changed key has read
// the old stream, and StreamHeap::Serves rejects the heap.
class SharedHeapKey {
 public:
  HeapKey Get() const {
    return {stream(), pool_.load(std::memory_order_relaxed), tag_.load(std::memory_order_relaxed)};
  }
  uint64_t stream() const { return stream_.load(std::memory_order_acquire); }
  bool operator==(const HeapKey& key) const {
    return stream() == key.stream && pool_.load(std::memory_order_relaxed) == key.pool &&
           tag_.load(std::memory_order_relaxed) == key.tag;
  }
  void Set(const HeapKey& key) {
    stream_.store(Fences::kNoStream, std::memory_order_release);
    pool_.store(key.pool, std::memory_order_release);
    tag_.store(key.tag, std::memory_order_release);
    stream_.store(key.stream, std::memory_order_release);
  }

 private:
  std::atomic<uint64_t> stream_{Fences::kNoStream};
  std::atomic<uint64_t> pool_{0};
  std::atomic<uint32_t> tag_{0};
};

// The counters of a heap. They are written under its lock; any thread may read each counter.
struct HeapStats {
  std::atomic<uint64_t> allocated_bytes{0};  // live blocks, rounded
  std::atomic<uint64_t> requested_bytes{0};
  std::atomic<uint64_t> live_blocks{0};
  std::atomic<uint64_t> pending_bytes{0};
  std::atomic<uint64_t> allocations{0};
  std::atomic<uint64_t> frees{0};
  std::atomic<uint64_t> misses{0};
  std::atomic<uint64_t> host_bytes{0};  // bytes of the heap's records
  // The pool's peak cannot rise while every heap's allocated bytes stay below its credit, since all
  // credits add up to at most the peak. So an allocation from cached memory need not read the
  // counters of other heaps.
  std::atomic<uint64_t> credit{0};
};

// The parts of the pool that a heap uses.
struct HeapDependencies {
  AddressSpace* space;
  ChunkStore* chunks;
  Fences* fences;
  const Epochs* epochs;
  const PoolEvents* events;
  InterferenceMap* interference;
  uint64_t page_bytes;
  uint64_t small_bytes;
  uint64_t largest_region;  // a region is at most this large, unless one block needs more
  PoolBounds bounds;
};

class StreamHeap {
 public:
  StreamHeap() = default;
  StreamHeap(const StreamHeap&) = delete;
  StreamHeap& operator=(const StreamHeap&) = delete;

  bool Open(const HeapDependencies& with, const HeapKey& heap_key, uint16_t heap_number,
            uint32_t heap_timeline) VRAMSTOW_REQUIRES(kDeviceLock);
  // Called while no other thread can reach the heap.
  void Close() VRAMSTOW_NO_LOCK_ANALYSIS;

  // --- Hits --------------------------------------------------------------------------------------
  // Returns a live span of `size` bytes (a multiple of kBlockBytes) from cached memory, or 0.
  uint32_t Take(uint64_t size) VRAMSTOW_REQUIRES(mutex) {
    if (bins_.Has(size)) return RemoveFromBin(size);
    return RemoveFromIndex(size);
  }
  // Frees the pending blocks without a driver call if the first of them has no unfinished work.
  bool SettleIfDone() VRAMSTOW_REQUIRES(mutex) {
    return !pending_.empty() && pending_.IsDone(spans_[pending_.first()]) && SettleUnmoved();
  }
  // Returns the live block that begins at this address, or 0.
  uint32_t FindLive(uint64_t address) const VRAMSTOW_REQUIRES(mutex) {
    const uint32_t index = map_.Find(address, spans_.slab());
    return index != 0 && spans_[index].state == SpanState::kLive ? index : 0;
  }
  // Returns the live block that contains the address, or 0; it walks the spans of one zone.
  uint32_t FindAround(uint64_t address) const VRAMSTOW_REQUIRES(mutex);
  // Frees a live block and updates the counters.
  void FreeLive(uint32_t index) VRAMSTOW_REQUIRES(mutex) {
    const Span& span = spans_[index];
    Subtract(&stats.allocated_bytes, span.size);
    Subtract(&stats.requested_bytes, span.requested);
    Subtract(&stats.live_blocks, 1);
    Give(index, with_.epochs->now());
  }
  // Defers the free of the block at this address (DeferredFrees). If it returns false, nothing has
  // changed; the caller then calls FlushDeferred and FindLive, and frees the block at once.
  bool DeferFree(uint64_t address) VRAMSTOW_REQUIRES(mutex) {
    return deferred_.Defer(address, map_, &spans_, [this](uint32_t index) {
      mutex.AssertHeld();
      FreeLive(index);
    });
  }
  // Carries out the deferred frees. Every operation, except Take and a free, calls this first.
  void FlushDeferred() VRAMSTOW_REQUIRES(mutex) {
    if (deferred_.any()) FlushAllDeferred();
  }
  // True if frees are deferred. The counters then include blocks that are freed already. May be
  // called from any thread.
  bool has_deferred() const VRAMSTOW_NO_LOCK_ANALYSIS { return deferred_.any(); }
  // Records that a block was freed without DeferFree, or that it is live from now on.
  void NoteFreed(uint64_t address) VRAMSTOW_REQUIRES(mutex) { deferred_.NoteFreed(address); }
  void NoteLive(uint64_t address) VRAMSTOW_REQUIRES(mutex) { deferred_.NoteLive(address); }
  // Records that work of the stream `used_by` uses the live block.
  void RecordUse(uint32_t index, uint32_t used_by) VRAMSTOW_REQUIRES(mutex) {
    pending_.RecordUse(&spans_, index, used_by);
  }

  Span& span(uint32_t index) VRAMSTOW_REQUIRES(mutex) { return spans_[index]; }

  // --- Slow steps --------------------------------------------------------------------------------
  // Reserves the records that the next Take needs. Returns false if the system has no memory.
  bool Prepare() VRAMSTOW_REQUIRES(mutex, kDeviceLock);
  // Frees pending blocks whose fences have completed, joins the blocks of the bins with their
  // neighbours, and drops whole free pages in host memory. Returns true if memory became free.
  bool Settle() VRAMSTOW_REQUIRES(mutex, kDeviceLock);
  // Makes sure that events cover all pending blocks and free spans.
  void EnsureFences() VRAMSTOW_REQUIRES(mutex, kDeviceLock) { pending_.EnsureFences(spans_); }
  // Waits until all memory freed so far can be reused. Returns false if the deadline passes first.
  bool WaitForFrees(uint64_t deadline_ns) VRAMSTOW_REQUIRES(mutex, kDeviceLock);
  // Joins the blocks of the bins with their neighbours.
  void EmptyBins() VRAMSTOW_REQUIRES(mutex) { EmptyBins(Bins::kAll); }

  // --- Chunks (Planner, ChunkMoves, Stripper) ----------------------------------------------------
  // True if the recent requests repeat earlier ones.
  bool repeating() const VRAMSTOW_REQUIRES(mutex) { return placement_.predictor().Repeating(); }
  void NeededDriver() VRAMSTOW_REQUIRES(mutex) { placement_.predictor().NeededDriver(); }
  // Lets the next Take use any address. Returns true if its addresses were restricted before.
  bool ServeAnywhere() VRAMSTOW_REQUIRES(mutex);
  // Plans pages for a block. If `recall` is true, chunks may return to pages where they were
  // before. Returns an error if the heap's regions have no room and no region can be added.
  DriverResult MakePlan(uint64_t size, bool recall, Plan* plan)
      VRAMSTOW_REQUIRES(mutex, kDeviceLock);
  DriverResult Execute(const Plan& plan) VRAMSTOW_REQUIRES(mutex, kDeviceLock);
  uint64_t Recall(const Plan& plan) VRAMSTOW_REQUIRES(mutex, kDeviceLock);
  bool RestoreMappings() VRAMSTOW_REQUIRES(mutex, kDeviceLock);
  uint64_t StripByInterference(uint64_t count, const Plan& plan, bool safe)
      VRAMSTOW_REQUIRES(mutex, kDeviceLock);
  StripResult Strip(uint64_t count, uint32_t before_epoch, const Plan& plan, bool own = false)
      VRAMSTOW_REQUIRES(mutex, kDeviceLock);

  // --- Segments ----------------------------------------------------------------------------------
  SpanTable& spans() VRAMSTOW_REQUIRES(mutex, kDeviceLock) { return spans_; }
  const SpanTable& spans() const VRAMSTOW_REQUIRES(mutex) { return spans_; }

  // --- The gate ----------------------------------------------------------------------------------
  // Notes that the stream is about to be destroyed and its handle may be reused. Until all work so
  // far has finished (`end_tick`), the gate is closed: the heap serves nothing.
  void CloseGate(uint32_t end_tick) VRAMSTOW_REQUIRES(mutex, kDeviceLock);
  // True if all work of the destroyed stream has finished. Poll the fences before.
  bool IsGateOpen() VRAMSTOW_REQUIRES(mutex, kDeviceLock);
  bool WaitForGate(uint64_t deadline_ns) VRAMSTOW_REQUIRES(mutex, kDeviceLock);

  // --- Change of the key -------------------------------------------------------------------------
  // Detaches the heap. Its stream has no unfinished work, and its timeline is given to another
  // stream. From then on the heap waits for all submitted work before it reuses memory. It serves
  // only requests that had found the heap before.
  void Detach() VRAMSTOW_REQUIRES(mutex, kDeviceLock);
  // True if the heap may get another key: it has no live or pending block, no work uses its free
  // memory, and nothing pins this memory to its addresses. Call Settle before.
  bool IsVacant() const VRAMSTOW_REQUIRES(mutex, kDeviceLock);
  // Gives a vacant heap this key.
  void Rename(const HeapKey& new_key, uint32_t new_timeline) VRAMSTOW_REQUIRES(mutex, kDeviceLock);
  // True if Take may serve a request of this stream. Code that found the heap without a lock must
  // check this, because the heap may have got another key or been paused meanwhile.
  bool Serves(uint64_t stream) const VRAMSTOW_REQUIRES(mutex) { return serves_ == stream; }

  // Returns the block [address, address + size), or 0 if it is not all cached. Call Prepare before.
  uint32_t RemoveAt(uint64_t address, uint64_t size) VRAMSTOW_REQUIRES(mutex, kDeviceLock);
  // Serves the request from either zone, as a last resort. Returns 0 if that fails, too.
  uint32_t RemoveFromAnyZone(uint64_t size) VRAMSTOW_REQUIRES(mutex);
  // Sets the access rights of every mapped page.
  DriverResult RenewAccess() VRAMSTOW_REQUIRES(mutex, kDeviceLock);
  // Unmaps every chunk of the heap's regions, also under live blocks, when the pool closes.
  void UnmapAll() VRAMSTOW_REQUIRES(kDeviceLock) VRAMSTOW_NO_LOCK_ANALYSIS;

  // Marks the live and pending blocks for which lies_there(span) is true, that is, those that have
  // memory on the host. When they are freed, their pages are dropped, not reused.
  template <typename Says>
  void MarkOffloaded(Says lies_there) VRAMSTOW_REQUIRES(mutex) {
    spans_.VisitMutable([&](Span* span) {
      if (span->state != SpanState::kLive && span->state != SpanState::kPending) return;
      span->offloaded = lies_there(*span);
    });
  }
  // Drops those free pages in host memory that no unfinished work can touch.
  void DropHostPages() VRAMSTOW_REQUIRES(mutex, kDeviceLock);
  // Returns the bytes of the heap's pages that a chunk backs.
  uint64_t BackedBytes() const VRAMSTOW_REQUIRES(mutex, kDeviceLock);
  // Returns null if all invariants hold, else a sentence that states the violation.
  const char* Check() const VRAMSTOW_REQUIRES(mutex, kDeviceLock);
  // Returns the mapped bytes of one zone. May be called from any thread.
  uint64_t mapped_bytes(uint8_t zone) const VRAMSTOW_NO_LOCK_ANALYSIS {
    return spans_.mapped_bytes(zone);
  }

  // True if cached pages must stay mapped because a captured graph may write to them. Written under
  // both locks, so either is enough to read it, which the lock analysis does not know.
  bool graph_pinned() const VRAMSTOW_NO_LOCK_ANALYSIS { return graph_pinned_; }
  void set_graph_pinned(bool pinned) VRAMSTOW_REQUIRES(mutex, kDeviceLock) {
    graph_pinned_ = pinned;
  }
  // True if some pages are paused (evicted on request). The heap then serves nothing.
  bool paused() const VRAMSTOW_NO_LOCK_ANALYSIS { return paused_; }
  void set_paused(bool paused) VRAMSTOW_REQUIRES(mutex, kDeviceLock) {
    paused_ = paused;
    SetServed();
  }
  // True if the heap cannot be found by its key.
  bool detached() const VRAMSTOW_REQUIRES(kDeviceLock) VRAMSTOW_NO_LOCK_ANALYSIS {
    return detached_;
  }

  FastMutex mutex VRAMSTOW_ACQUIRED_AFTER(kDeviceLock);
  SharedHeapKey key;
  uint16_t number = 0;    // constant after Open
  uint32_t timeline = 0;  // written under both locks, so read under either
  bool on_stream = false;
  uint64_t next_id VRAMSTOW_GUARDED_BY(mutex) = 0;
  HeapStats stats;

 private:
  // Tiny blocks stay in bins, without being joined to their neighbours, up to kMaxTinyBytes or
  // 1/kTinyShare of all bytes, whichever is larger.
  static constexpr uint64_t kMaxTinyBytes = uint64_t{1} << 18;
  static constexpr uint64_t kTinyShare = 512;

  uint64_t MostTinyBytes() const {
    const uint64_t part = stats.allocated_bytes.load(std::memory_order_relaxed) / kTinyShare;
    return part > kMaxTinyBytes ? part : kMaxTinyBytes;
  }
  HeapPages Pages() VRAMSTOW_REQUIRES(mutex, kDeviceLock);
  void SetKey(const HeapKey& new_key, uint32_t new_timeline) VRAMSTOW_REQUIRES(mutex, kDeviceLock);
  void SetServed() VRAMSTOW_REQUIRES(mutex) {
    serves_ = paused_ || detached_ ? Fences::kNoStream : key.stream();
  }
  uint32_t RemoveFromBin(uint64_t size) VRAMSTOW_REQUIRES(mutex);
  uint32_t RemoveFromIndex(uint64_t size) VRAMSTOW_REQUIRES(mutex);
  uint32_t RemoveLargeSpan(uint64_t size) VRAMSTOW_REQUIRES(mutex);
  uint32_t Cut(uint32_t index, uint64_t offset, uint64_t size) VRAMSTOW_REQUIRES(mutex);
  void Give(uint32_t index, uint32_t epoch) VRAMSTOW_REQUIRES(mutex);
  void FlushAllDeferred() VRAMSTOW_REQUIRES(mutex);
  void EmptyBins(uint64_t which) VRAMSTOW_REQUIRES(mutex);
  void JoinBinned(uint32_t index) VRAMSTOW_REQUIRES(mutex);
  bool SettleUnmoved() VRAMSTOW_REQUIRES(mutex);
  uint32_t Retire(uint32_t index) VRAMSTOW_REQUIRES(mutex);
  DriverResult AddRegion(uint8_t zone, uint64_t size) VRAMSTOW_REQUIRES(mutex, kDeviceLock);

  HeapDependencies with_{};  // constant after Open
  SpanTable spans_ VRAMSTOW_GUARDED_BY(mutex);
  AddressMap map_ VRAMSTOW_GUARDED_BY(mutex);
  Bins bins_ VRAMSTOW_GUARDED_BY(mutex);
  PendingList pending_ VRAMSTOW_GUARDED_BY(mutex);
  DeferredFrees deferred_ VRAMSTOW_GUARDED_BY(mutex);
  bool gated_ VRAMSTOW_GUARDED_BY(mutex) = false;
  uint32_t gate_tick_ VRAMSTOW_GUARDED_BY(mutex) = 0;
  bool graph_pinned_ VRAMSTOW_GUARDED_BY(mutex) = false;
  bool paused_ VRAMSTOW_GUARDED_BY(mutex) = false;
  bool detached_ VRAMSTOW_GUARDED_BY(mutex) = false;
  uint64_t serves_ VRAMSTOW_GUARDED_BY(mutex) = Fences::kNoStream;
  uint64_t next_region_ VRAMSTOW_GUARDED_BY(mutex) = 0;
  Planner planner_ VRAMSTOW_GUARDED_BY(mutex);
  LargePlacement placement_ VRAMSTOW_GUARDED_BY(mutex);
};

// Holds a heap's lock, and has carried out the deferred frees. Used by all operations except Take
// and frees.
class VRAMSTOW_SCOPED_CAPABILITY HeapLock {
 public:
  explicit HeapLock(StreamHeap* heap) VRAMSTOW_ACQUIRE(heap->mutex) : heap_(heap) {
    heap_->mutex.Lock();
    heap_->FlushDeferred();
  }
  ~HeapLock() VRAMSTOW_RELEASE() { heap_->mutex.Unlock(); }
  HeapLock(const HeapLock&) = delete;
  HeapLock& operator=(const HeapLock&) = delete;

 private:
  StreamHeap* heap_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_STREAM_HEAP_H_
