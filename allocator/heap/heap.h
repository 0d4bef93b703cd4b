// Heap: the blocks of one stream (or of all callers without a stream), in regions of its own.
//
// Idea: two zones, one for small blocks and one for the others, each a set of regions tiled by
// spans. A request is served, in this order, by a block of the same size that was freed a moment
// ago (kept whole in a bin), or by the best span of the index, from which the block is cut where
// that opens the fewest whole pages. Neither touches a page or a chunk. What needs chunks is in
// heap_pages.cc, called by the pool with the device's lock held as well.
//
// A heap of one stream hands a freed block out again at once: the stream's own order protects it.
// What other streams used (recorded uses), and every block of the heap without a stream, waits as
// kPending until its fences have passed. Unmapping a free page always needs the fence, also on the
// stream's own heap.
//
// Ownership: its records; the pool owns heaps, chunks and addresses. Threads: `mutex` guards all
// but the constants; the functions expect it to be held. Errors: HeapError or 0. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_HEAP_HEAP_H_
#define VRAMSTOW_ALLOCATOR_HEAP_HEAP_H_

#include <atomic>
#include <cstdint>

#include "allocator/core/counter.h"
#include "allocator/core/epochs.h"
#include "allocator/core/events.h"
#include "allocator/core/fences.h"
#include "allocator/core/mutex.h"
#include "allocator/heap/address_map.h"
#include "allocator/heap/live_bits.h"
#include "allocator/heap/span.h"
#include "allocator/heap/span_index.h"
#include "allocator/physical/chunk_store.h"
#include "allocator/placement/interference_map.h"
#include "allocator/placement/placement_predictor.h"

namespace vramstow {

struct HeapKey {
  uint64_t stream;   // kUnknownStream: callers without a stream
  uint64_t pool;     // a private pool of the framework; 0 is the common one
  uint32_t tag = 0;  // blocks with the same one can be moved together; 0: none
};

// What a heap counts. Written under its lock; read by anybody, each number by itself.
struct HeapStats {
  std::atomic<uint64_t> allocated_bytes{0};  // live blocks, rounded
  std::atomic<uint64_t> requested_bytes{0};
  std::atomic<uint64_t> live_blocks{0};
  std::atomic<uint64_t> pending_bytes{0};
  std::atomic<uint64_t> allocations{0};
  std::atomic<uint64_t> frees{0};
  std::atomic<uint64_t> misses{0};
  std::atomic<uint64_t> host_bytes{0};  // of the heap's records
  // As long as every heap's allocated bytes stay below its credit, the pool's peak cannot rise: all
  // credits together are at most the peak. So a hit need not look at what other heaps count.
  std::atomic<uint64_t> credit{0};
  std::atomic<uint64_t> mapped_bytes[2]{};  // by zone
};

// Everything that a heap needs of its pool.
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
};

class Heap {
 public:
  static constexpr int kZones = 2;
  static constexpr uint8_t kSmallZone = 0;
  static constexpr uint8_t kLargeZone = 1;

  bool Open(const HeapDependencies& around, const HeapKey& key, uint16_t number, uint32_t timeline);
  void Close();

  // --- Hits -----------------------------------------------------------------------------------
  // A live span of `size` bytes (a multiple of kBlockBytes) from cached memory, or 0.
  uint32_t Take(uint64_t size) {
    const Bin& bin = bins_[BinOf(size)];
    if (bin.size == size && bin.head != 0) return TakeFromBin(size);
    return TakeFromIndex(size);
  }
  // Where nothing that was freed needs to be waited for any more: makes it free. No driver call.
  bool SettleIfDone() {
    return pending_head_ != 0 && UsesPassed(spans_[pending_head_]) && SettlePending(false);
  }
  // The live block at this address, or 0.
  uint32_t FindLive(uint64_t address) const {
    const uint32_t index = map_.Find(address, spans_);
    return index != 0 && spans_[index].state == SpanState::kLive ? index : 0;
  }
  // The live block that the address lies in, or 0. Slower: walks its zone's spans.
  uint32_t FindAround(uint64_t address) const;
  // Takes a live block back: counts it out and gives it.
  void TakeBack(uint32_t index) {
    const Span& span = spans_[index];
    Bump(&stats.allocated_bytes, ~span.size + 1);
    Bump(&stats.requested_bytes, ~span.requested + 1);
    Bump(&stats.live_blocks, ~uint64_t{0});
    Give(index, with_.epochs->now());
  }
  // The same for a heap of very many blocks, whose records lie in no cache: whether the block is
  // live is seen at once, the rest is put off while its records are fetched. False: it is not, or
  // nothing is known here: ask FindLive, with nothing deferred. What is deferred is counted as
  // live; everything but a hit calls FlushDeferred first.
  bool DeferFree(uint64_t address) {
    if (!defers_ || !bits_.Clear(address)) return false;
    map_.Prefetch(address);
    const uint32_t place = deferred_next_++ % kDeferred;
    const uint64_t older = deferred_[place];
    deferred_[place] = address;
    if (older == 0) {
      deferred_count.store(deferred_count.load(std::memory_order_relaxed) + 1,
                           std::memory_order_relaxed);
      return true;
    }
    const uint32_t index = map_.Find(older);
    __builtin_prefetch(&spans_[index], 1);
    const uint32_t oldest = found_[place];
    found_[place] = index;
    if (oldest != 0) TakeBack(oldest);
    return true;
  }
  // The block was freed without DeferFree, or is live from now on.
  void NoteFreed(uint64_t address) {
    if (tracks_) bits_.Clear(address);
  }
  void NoteLive(uint64_t address) {
    if (tracks_) bits_.Set(address);
  }
  void FlushDeferred() {
    if (deferred_count.load(std::memory_order_relaxed) != 0) FlushAllDeferred();
  }
  // Work of another stream uses the live block. False: no memory for the record.
  bool RecordUse(uint32_t index, uint32_t timeline);

  Span& span(uint32_t index) { return spans_[index]; }

  // --- Slow steps; the device's lock is held, too -----------------------------------------------
  // Makes sure that the next Take finds room for its records. False: the system has no memory.
  bool Prepare();
  // Makes pending blocks whose fences have passed free; joins what the bins keep apart; gives up
  // whole free pages of blocks that lay in host memory. True if something became free.
  bool Settle() { return SettlePending(true); }
  // Makes sure that fences for all pending blocks and free spans are on their way.
  void EnsureFences();
  // Waits until all that was freed so far can be taken. False: not by the deadline.
  bool WaitForFrees(uint64_t deadline_ns);

  // A way to make room for a block with chunks: these pages, as far as they are holes.
  struct Plan {
    uint64_t address = 0;
    uint64_t pages = 0;
    uint64_t count = 0;  // chunks that are needed
    uint64_t cost = 0;   // steps of the driver, where chunks can be had
    uint64_t left = 0;   // bytes that stay over beside the block
    uint64_t from = 0;   // free spans within [from, to) are part of it: not to be stripped
    uint64_t to = 0;
    bool repeats = false;  // the block comes to lie where it lay in the round before
  };
  // Whether the requests of late repeat earlier ones.
  bool repeating() const { return predictor_.Repeating(); }
  void NeededDriver() { predictor_.NeededDriver(); }
  // The next Take may serve the request anywhere. True if it would not have until now.
  bool ServeAnywhere() {
    const bool sure = predictor_.Confident();
    predictor_.GiveUp();
    return sure;
  }
  // With `recall`, chunks that were at a place before may come back to it.
  DriverResult MakePlan(uint64_t size, bool recall, Plan* plan);
  // Chunks that had filled a gap and are free again go back to where they came from, so that a
  // repeating job finds its memory as it was before. No driver call. True if any did.
  bool RestoreMappings();
  // Takes the chunks that were at the plan's pages before out of free pages: they go to the store.
  // No driver call. Returns how many.
  uint64_t Recall(const Plan& plan);
  // Puts idle chunks of the store to use at the plan's pages: they become a free span.
  DriverResult Execute(const Plan& plan);

  // In a job that repeats: the chunks of up to `count` whole free pages go to the store, those that
  // are least in the way when the round is served in the same way again; with `safe`, only such as
  // are not at all. No driver call. Returns how many.
  uint64_t StripByInterference(uint64_t count, const Plan& plan, bool safe);

  struct StripResult {
    uint64_t pages = 0;    // of the device; now in the store
    uint64_t waiting = 0;  // pages that only wait for a fence
    DriverResult result = kDriverSuccess;
  };
  // The chunks of up to `count` whole free pages, freed in the epoch `before_epoch` or earlier, go
  // to the store. For others than this heap's stream (`own` false), or where chunks leave no
  // shadow, no work may touch them any more.
  StripResult Strip(uint64_t count, uint32_t before_epoch, const Plan& plan, bool own = false);

  // Of a pool without virtual memory (segments.cc): memory of the plain driver is free from now on,
  // so many bytes, whole pages, for blocks of the same zone as one of `size` bytes.
  DriverResult AddSegment(uint64_t size, uint64_t bytes);
  // Segments that are free as a whole since `before_epoch` or earlier, and that no work touches,
  // go back to the device until `pages` have; with `no_more`, only as many as that.
  StripResult ReleaseSegments(uint64_t pages, uint32_t before_epoch, bool no_more);
  // At the end: all of them. `alive` false: they went with the context.
  void DropSegments(bool alive);

  // The largest cached range, and the largest free range counting joined neighbours only.
  uint64_t LargestFree() const;
  uint64_t free_bytes() const { return zones_[0].free.bytes() + zones_[1].free.bytes(); }
  uint32_t free_pieces() const { return zones_[0].free.count() + zones_[1].free.count(); }
  // The stream is about to be destroyed, and its name may come back as another's: nothing is handed
  // out until the work submitted so far has passed.
  void Gate();
  // Whether the gate has opened, which needs a poll before.
  bool GateOpen();
  bool WaitForGate(uint64_t deadline_ns);
  // The block [address, address + size), if all of it is cached; else 0. Room for the records has
  // been made.
  uint32_t TakeAt(uint64_t address, uint64_t size);
  // Serves from the other zone, as a last resort: 0 if that cannot be either.
  uint32_t TakeAnywhere(uint64_t size);
  // Sets the access rights of every page that is mapped.
  DriverResult RenewAccess();
  // Unmaps every chunk of the heap's regions, live blocks or not.
  void UnmapAll();

  // Calls visit(span) for all spans, in order of address within each region.
  template <typename Visit>
  void VisitSpans(Visit visit) const {
    for (uint32_t r = 0; r < region_count_; ++r) {
      for (uint32_t i = regions_[r].first; i != 0; i = spans_[i].next) visit(spans_[i]);
    }
  }
  // Marks the live and pending blocks for which lies_there(span) says so: once they are freed,
  // their pages are given up rather than used again.
  template <typename Says>
  void MarkOffloaded(Says lies_there) {
    for (uint32_t r = 0; r < region_count_; ++r) {
      for (uint32_t i = regions_[r].first; i != 0; i = spans_[i].next) {
        Span& span = spans_[i];
        if (span.state != SpanState::kLive && span.state != SpanState::kPending) continue;
        span.offloaded = lies_there(span);
      }
    }
  }
  // Bytes of the pages of the heap's regions that a chunk backs.
  uint64_t BackedBytes() const;
  // Null if all invariants hold, else a sentence. See heap_check.cc.
  const char* Check() const;

  Mutex mutex;
  std::atomic<uint32_t> deferred_count{0};  // written under the lock, read by anybody; 0: none
  HeapKey key{};
  uint16_t number = 0;
  uint32_t timeline = 0;
  bool on_stream = false;
  // Cached pages stay mapped where they are: a captured graph may write to them. Under both locks.
  bool graph_pinned = false;
  // Some of its pages are paused: nothing is served from it. Written under both locks.
  bool paused = false;
  uint64_t next_id = 0;
  HeapStats stats;

 private:
  static constexpr uint32_t kTinyBins = 32;
  static constexpr uint32_t kBins = 2 * kTinyBins;
  static constexpr uint64_t kTinyMask = (uint64_t{1} << kTinyBins) - 1;
  // Tiny blocks stay in their bins, unjoined, up to so many bytes or this part of what is
  // allocated: too few to matter.
  static constexpr uint64_t kMostTinyBytes = uint64_t{1} << 18;
  static constexpr uint64_t kTinyShare = 512;
  static constexpr int kLooks = 6;
  static constexpr int kBinLooks = 8;
  // Steps that interference may take for each request, and before a job has repeated for long.
  static constexpr uint64_t kStepsEach = 4;
  static constexpr uint64_t kMostSteps = uint64_t{1} << 24;
  // Below so many live blocks the records fit into a processor's own cache.
  static constexpr uint64_t kTracksFrom = 6144;
  // So many bytes of blocks have a byte of bits.
  static constexpr uint64_t kBitsReach = kBlockBytes * 8;
  static constexpr uint32_t kDeferred = 8;
  // Regions are few and double in size; segments are many.
  static constexpr uint32_t kMaxRegions = 16384;
  static constexpr uint32_t kMaxSpans = uint32_t{1} << 25;
  static constexpr uint32_t kMaxUses = uint32_t{1} << 22;

  struct Use {
    uint32_t next;
    uint32_t timeline;
    uint32_t tick;  // 0: while the block lives; set when it is freed
  };
  struct Bin {
    uint64_t size = 0;
    uint32_t head = 0;
  };
  struct Zone {
    SpanIndex free;
    SpanIndex holes;
  };
  struct Region {
    uint64_t address;
    uint64_t size;
    uint32_t first;  // the span at the region's start, which never changes its number
    uint8_t zone;
  };

  // The smallest sizes have a bin each, the others share the rest by hash.
  static uint32_t BinOf(uint64_t size) {
    const uint64_t units = size / kBlockBytes;
    if (units < kTinyBins) return static_cast<uint32_t>(units);
    return kTinyBins | (static_cast<uint32_t>(units) * 0x9E3779B1U >> 27);
  }
  uint8_t ZoneOf(uint64_t size) const {
    return size <= with_.small_bytes ? kSmallZone : kLargeZone;
  }
  uint64_t PageUp(uint64_t address) const {
    return (address + with_.page_bytes - 1) & ~(with_.page_bytes - 1);
  }
  uint64_t PageDown(uint64_t address) const { return address & ~(with_.page_bytes - 1); }

  void Give(uint32_t index, uint32_t epoch);
  void FlushAllDeferred();
  void Track();
  uint64_t MostTinyBytes() const {
    const uint64_t part = stats.allocated_bytes.load(std::memory_order_relaxed) / kTinyShare;
    return part > kMostTinyBytes ? part : kMostTinyBytes;
  }
  uint32_t TakeFromBin(uint64_t size);
  uint32_t TakeFromIndex(uint64_t size);
  uint32_t Cut(uint32_t index, uint64_t size);
  uint32_t CutAt(uint32_t index, uint64_t offset, uint64_t size);
  struct Fit {
    uint64_t offset;
    uint64_t pages;  // whole free pages that the block would open
  };
  Fit FitIn(const Span& span, uint64_t size) const;
  uint32_t FindLarge(uint64_t size) const;
  uint32_t FindRepeated(uint64_t size, uint64_t place) const;
  uint32_t FindQuiet(uint64_t size, uint64_t pages, uint64_t* place);
  uint32_t TakeLarge(uint64_t size);
  // Whether so many steps may be taken to look ahead: so many for each request, and something to
  // begin with.
  bool SpendLookahead(uint64_t steps) {
    lookahead_steps_ += (predictor_.count() - lookahead_at_) * kStepsEach;
    lookahead_at_ = predictor_.count();
    if (lookahead_steps_ > kMostSteps) lookahead_steps_ = kMostSteps;
    if (lookahead_steps_ < steps) return false;
    lookahead_steps_ -= steps;
    return true;
  }
  // Whether [place, place + size) lies in a span that is at least that large.
  bool Holds(uint32_t index, uint64_t place, uint64_t size) const {
    return place - spans_[index].address <= spans_[index].size - size;
  }
  bool Moved(uint64_t place, uint64_t size) const;
  uint32_t SplitAt(uint32_t index, uint64_t offset);
  uint32_t Join(uint32_t index);
  bool SettlePending(bool may_unmap);
  void DropHostPages(uint32_t index);
  void EmptyBin(uint32_t number_of_bin);
  void EmptyBins(uint64_t which);
  void Retire(uint32_t index);
  void DropUses(Span* span);
  bool UsesPassed(const Span& span) const;
  void Link(uint32_t* head, uint32_t index);
  void Unlink(uint32_t* head, uint32_t index);
  DriverResult AddRegion(uint8_t zone, uint64_t size);
  void ForgetSegment(uint32_t r);
  void Consider(uint32_t hole, uint64_t size, Plan* plan) const;
  bool PlanAt(uint64_t place, uint64_t size, Plan* plan) const;
  uint32_t FindHole(uint64_t from, uint64_t to) const;
  uint64_t CostOf(const Plan& plan) const;
  uint64_t FirstPossible(const Span& hole, uint64_t count) const;
  void MarkFreePages(bool recall);
  bool MovesUnfenced() const;
  bool DetachKeepMapped(uint32_t index, uint64_t from, uint64_t to);
  template <typename Wanted>
  uint32_t FindSpanWith(const Plan& plan, Wanted wanted) const;
  uint64_t RecallFrom(uint32_t index);
  int DetachForRestore(uint32_t index, Plan* runs);
  bool BuildInterference(const Plan& plan, SlotMask* wanted);
  template <typename Visit>
  void VisitMovable(const Plan& plan, Visit visit) const;
  uint64_t DetachWanted(uint64_t wanted, const Plan& plan);
  uint64_t StripSpan(uint32_t index, uint64_t count, DriverResult* result);
  void MakeHole(uint32_t index, uint64_t from, uint64_t to);

  HeapDependencies with_{};
  SpanSlab spans_;
  Slab<Use> uses_;
  AddressMap map_;
  int page_shift_ = 0;
  bool gated_ = false;
  uint32_t gate_tick_ = 0;
  uint32_t pending_head_ = 0;
  uint64_t quick_bytes_ = 0;
  bool narrow_ = true;  // no two addresses of the heap look alike to the map
  LiveBits bits_;       // of the small zone's blocks, where tracks_
  bool tracks_ = false;
  bool defers_ = false;  // tracks_ and narrow_
  uint32_t deferred_next_ = 0;
  uint64_t deferred_[kDeferred] = {};  // addresses: their places in the map are being fetched
  uint32_t found_[kDeferred] = {};     // blocks: their records are being fetched
  uint32_t region_count_ = 0;
  uint32_t mark_ = 0;  // of the pages that were free when the plan was made; 0: of none
  uint64_t next_region_ = 0;
  uint64_t full_bins_ = 0;  // one bit for each bin with a member
  Bin bins_[kBins];
  Zone zones_[kZones];
  Region* regions_ = nullptr;  // room for kMaxRegions
  PlacementPredictor predictor_;
  uint64_t lookahead_steps_ = kMostSteps;  // that may be taken now
  uint64_t lookahead_at_ = 0;              // the request at which that was counted
};

// Holds a heap's lock, with nothing deferred: for all but hits and frees.
class HeapLock {
 public:
  explicit HeapLock(Heap* heap) : lock_(&heap->mutex) { heap->FlushDeferred(); }

 private:
  MutexLock lock_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_HEAP_HEAP_H_
