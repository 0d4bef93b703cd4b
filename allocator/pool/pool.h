// Pool: the caching allocator of one device, on the driver's virtual memory.
//
// Idea: a heap per stream serves hits under a lock of its own; all that needs the driver goes up
// the pressure ladder under the device's lock (ladder.cc). Physical memory is fungible: chunks move
// between heaps and addresses, so free memory in pieces is as good as free memory in one.
// docs/pool.md tells the whole story.
//
// Ownership: the pool owns its arenas, chunks and events until Close; the driver table belongs to
// the caller. A Pool is large: give it static storage or pages of its own. Threads: every function
// but Open and Close may be called from any thread; hooks run without any lock of the pool and may
// call it. Errors: PoolError; on an error nothing changed that the caller can see. No exceptions,
// no heap of the process. Units: bytes; nanoseconds; streams as the driver's handles.
//
// Locks, in order: hook list; device (mutex_); credit; one heap, or two where the device's is held.
#ifndef VRAMSTOW_ALLOCATOR_POOL_POOL_H_
#define VRAMSTOW_ALLOCATOR_POOL_POOL_H_

#include <atomic>
#include <cstdint>

#include "allocator/core/config.h"
#include "allocator/core/driver.h"
#include "allocator/core/epochs.h"
#include "allocator/core/events.h"
#include "allocator/core/fences.h"
#include "allocator/core/mutex.h"
#include "allocator/core/relaxed_capture.h"
#include "allocator/heap/heap.h"
#include "allocator/physical/address_space.h"
#include "allocator/physical/chunk_store.h"
#include "allocator/placement/interference_map.h"
#include "allocator/pool/report.h"

namespace vramstow {

enum class PoolError {
  kOk,
  kOutOfMemory,  // last_report() says more
  kInvalid,      // size 0, or an address that is no live block's start (freed twice?)
  kNotOurs,      // the address is not the pool's: ask the plain driver
  kUnavailable,  // the pool cannot work here: no virtual memory, no memory for its records
};
const char* PoolErrorName(PoolError error);

struct BlockRequest {
  uint64_t size;  // as asked; rounded up to kBlockBytes
  uint64_t stream = kUnknownStream;
  uint64_t pool = 0;  // a private pool; 0 is the common one
  Layer layer = Layer::kDriver;
  uint32_t tag = 0;  // what is moved together (allocator/offload); 0: none
};

struct Block {
  uint64_t address;
  uint64_t size;  // after rounding
  Served served;
};

struct BlockInfo {
  uint64_t address;
  uint64_t size;
  uint64_t requested;
  uint64_t stream;
  uint64_t pool;
  uint64_t id;  // never given twice
  Layer layer;
  bool pending = false;  // once it is freed (or was just now), it waits for other streams
};

// A run of addresses of one heap, for those who want to see all of them.
struct PoolSpan {
  uint64_t address;
  uint64_t size;
  uint64_t requested;  // of a live or pending block
  uint64_t stream;
  uint64_t pool;
  SpanState state;  // kLive, kPending or kFree
  Layer layer;
  bool small;
};
using SpanVisitor = void (*)(void* context, const PoolSpan& span);

// Mapped memory of some heaps, by the size of their blocks.
struct MappedBytes {
  uint64_t small;
  uint64_t large;
};

// How a pool ends.
enum class PoolEnd : uint8_t {
  kAlive,        // everything is given back, live blocks too; no work may touch them
  kContextGone,  // the same, but events went with the context
  kDriverGone,   // the records are forgotten without a driver call
};

struct PoolStats {
  uint64_t allocated_bytes;
  uint64_t requested_bytes;
  uint64_t reserved_bytes;
  uint64_t peak_allocated_bytes;
  uint64_t peak_reserved_bytes;
  uint64_t pending_bytes;
  uint64_t live_blocks;
  uint64_t allocations;
  uint64_t frees;
  uint64_t misses;        // allocations that were no hit
  uint64_t stitches;      // allocations for which chunks were mapped
  uint64_t grown_chunks;  // made, ever
  uint64_t moved_chunks;  // unmapped to be mapped elsewhere, ever
  uint64_t released_chunks;
  uint64_t fence_waits;
  uint64_t fence_wait_ns;
  uint64_t out_of_memory;
  uint64_t hook_calls;
  uint64_t host_bytes;  // of the pool's own records
};

struct TrimRequest {
  uint64_t bytes = ~uint64_t{0};  // at most this much
  uint64_t wait_ns = 0;           // for work that still touches what was freed
};

struct TrimResult {
  uint64_t released_bytes;
  uint64_t duration_ns;
};

// Runs when an allocation cannot be served (kPressure: drop your caches; `bytes` are lacking) and
// after cached memory was given back (kTrimmed: `bytes` were). No lock of the pool is held.
using PressureHook = void (*)(void* context, HookKind kind, uint64_t bytes);

class Pool {
 public:
  static constexpr uint32_t kMaxHeaps = 1024;
  static constexpr int kMaxHooks = 32;

  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // kUnavailable: nothing was taken, use the plain driver.
  PoolError Open(const DriverTable* driver, const PoolConfig& config);
  void Close(PoolEnd end);

  PoolError Allocate(const BlockRequest& request, Block* block);
  // *freed: what it was, if that is wanted. With `framework_only` a block that another layer asked
  // for is not the caller's to free: kNotOurs.
  PoolError Free(uint64_t address, BlockInfo* freed = nullptr, bool framework_only = false);
  // Work of `stream` touches the block: after Free it waits for that work, too.
  PoolError RecordUse(uint64_t address, uint64_t stream);

  // Whether the address lies in one of the pool's arenas, in a block or not.
  bool Owns(uint64_t address) const { return space_.Owns(address); }
  // The live block that the address lies in.
  PoolError Find(uint64_t address, BlockInfo* info);

  // For sharing: the handles of the chunks under the live block at this address with this id, from
  // chunk number `first` on, at most `most`. They stay where they are while the block lives.
  // Returns how many there are; 0: no such block.
  uint32_t ChunksOf(uint64_t address, uint64_t id, uint64_t first, uint64_t* handles,
                    uint32_t most);

  // --- Private pools (BlockRequest::pool)
  // --------------------------------------------------------- What a private pool has cached stays
  // mapped where it is, because graphs may write to it, until it is let go (`keep` false). A number
  // may be used again for another pool: then keep it again.
  void KeepPrivate(uint64_t pool, bool keep);
  // A block at an address where memory of the request's heap is cached. kInvalid: it is not.
  PoolError AllocateAt(uint64_t address, const BlockRequest& request, Block* block);
  // Of a private pool; of pool 0: of all heaps that have a stream.
  MappedBytes Mapped(uint64_t pool) const;
  // Of callers without a stream.
  uint64_t MappedWithoutStream() const;
  // Calls the visitor for every span that is mapped, in order of address within each heap. Under
  // locks of the pool: the visitor must not call the pool.
  void VisitSpans(SpanVisitor visitor, void* context);

  // Gives cached memory back to the device; then hooks of kind kTrimmed run.
  TrimResult Trim(const TrimRequest& request);
  // To be called now and then: decay and watermark. Gives back how much was released.
  uint64_t Maintain();
  // The most that the pool may hold; 0: no limit. What it holds already stays until it is trimmed.
  void SetLimit(uint64_t bytes);
  uint64_t chunk_bytes() const { return config_.chunk_bytes; }
  uint64_t limit() const { return limit_bytes_; }
  // A lower limit that a framework has set itself, and that MemoryInfo does not tell of; 0: none.
  // It is for blocks with a stream.
  void SetShare(uint64_t bytes);
  uint64_t device_bytes() const { return device_.total_bytes; }
  // Whether the pool is made of the plain driver's memory, for want of virtual memory.
  bool segments() const { return chunks_.segments(); }
  // What cuMemGetInfo should say: free for this process, cached memory counted as free.
  DriverResult MemoryInfo(uint64_t* free_bytes, uint64_t* total_bytes);
  // The same, made of what the driver said.
  void AdjustMemoryInfo(uint64_t* free_bytes, uint64_t* total_bytes);

  // Waits for all work of the context; what was freed before can then be used at once.
  DriverResult Synchronize();
  // Sets the access rights of all that is mapped once more, after the driver table has learned of
  // one more device that they are for.
  DriverResult RenewAccess();

  // False: the table of hooks is full.
  bool AddHook(PressureHook hook, void* context);
  void RemoveHook(PressureHook hook, void* context);

  // The process uses this stream: frees without a stream wait for it, too, where the driver has no
  // event for the whole context.
  void NoteStream(uint64_t stream);
  // Before the stream is destroyed.
  void StreamDestroyed(uint64_t stream);
  // While any capture is in progress the pool makes no fence and waits for none. To be called
  // before the capture begins: waits until a fence that is just being made is done.
  void CaptureBegins() {
    MutexLock device_lock(&mutex_);
    fences_.CaptureBegins();
  }
  void CaptureEnds() { fences_.CaptureEnds(); }

  PoolStats Stats();
  void ResetPeaks();
  // The last out-of-memory report; number 0 if there was none.
  OutOfMemoryReport LastReport();
  // Null if all invariants hold, else a sentence.
  const char* Check();
  // What the checks of PoolConfig::check have found first; null: nothing.
  const char* check_failure() const { return check_failure_.load(std::memory_order_relaxed); }

 private:
  friend class Offloader;  // moves the pool's pages, under its locks

  // Where an allocation stands on the ladder.
  struct AllocationAttempt {
    BlockRequest request;
    uint64_t size = 0;  // rounded
    Heap* heap = nullptr;
    uint32_t index = 0;  // the block, once there is one
    Served served = Served::kUnknown;
    uint64_t lacking = 0;  // chunks
    uint64_t made = 0;     // chunks
    bool last = false;     // every stream's memory, however young
    OutOfMemoryReport::Tried tried[kLadderSteps] = {};
    DriverResult result = kDriverSuccess;
    RelaxedCapture* relaxed = nullptr;
  };

  static uint64_t HashOf(const HeapKey& key);
  Heap* FindHeap(const HeapKey& key) const;
  Heap* GetHeap(const HeapKey& key);
  uint64_t FinishAllocation(Heap* heap, uint32_t index, const BlockRequest& request, Served served,
                            Block* block);
  uint64_t AllocatedBytes() const;
  void NotePeak(Heap* heap, uint64_t sum);
  void UpdatePeak();
  void RenewCredit(Heap* heap);
  uint64_t CollectCredit(const Heap* except);
  void ApplyLimits(bool for_framework);

  // ladder.cc
  PoolError AllocateSlow(const BlockRequest& request, uint64_t size, Block* block);
  bool TryOnce(AllocationAttempt* attempt);
  bool TryFences(AllocationAttempt* attempt);
  bool TryChunks(AllocationAttempt* attempt);
  void Grow(AllocationAttempt* attempt, uint64_t chunks);
  bool WithinSlack(const AllocationAttempt& attempt, uint64_t chunks, uint64_t permille) const;
  void Gather(AllocationAttempt* attempt, const Heap::Plan& plan);
  uint64_t StripOthers(AllocationAttempt* attempt, uint64_t count, uint32_t before_epoch);
  bool MayWait(uint64_t now) const;
  bool WaitForOwnStream(AllocationAttempt* attempt);
  void WaitForEverything(AllocationAttempt* attempt);
  void ReportOutOfMemory(const AllocationAttempt& attempt);
  void Note(AllocationAttempt* attempt, LadderStep step, uint64_t bytes, uint64_t since_ns);

  // segments.cc
  bool TurnToSegments(DriverResult result);
  bool TrySegments(AllocationAttempt* attempt);
  DriverResult AddSegment(AllocationAttempt* attempt, uint64_t bytes);
  bool MakeRoom(AllocationAttempt* attempt, uint64_t pages);

  // trim.cc
  bool RunHooks(HookKind kind, uint64_t bytes);
  uint64_t GiveBack(uint64_t chunks, uint32_t before_epoch, bool no_more, bool* waits);
  Heap::StripResult StripFree(Heap* heap, uint64_t pages, uint32_t before_epoch, bool no_more);
  uint64_t StripAll(uint64_t chunks, uint32_t before_epoch, bool* waits = nullptr,
                    bool no_more = false);
  uint64_t ReleaseIdle(uint64_t chunks);
  void EnsureAllFences();

  uint64_t Now() const { return driver_->now(driver_->self); }
  static uint64_t CurrentThread();
  const char* CheckLocked();
  void CheckIfAsked();

  const DriverTable* driver_ = nullptr;
  PoolConfig config_;
  DriverDevice device_{};
  PoolEvents events_;
  AddressSpace space_;
  ChunkStore chunks_;
  Fences fences_;
  InterferenceMap interference_;
  Epochs epochs_;
  Mutex mutex_;
  uint64_t opened_ns_ = 0;
  std::atomic<uint64_t> limit_bytes_{0};  // the user's
  uint64_t share_bytes_ = 0;              // the framework's; under mutex_

  std::atomic<uint32_t> heap_count_{0};
  Heap* heaps_[kMaxHeaps + 1] = {};               // by number, from 1
  std::atomic<Heap*> table_[2 * kMaxHeaps] = {};  // by key
  // The most that misses have seen allocated since memory was last given back; under mutex_.
  uint64_t peak_since_trim_ = 0;
  bool trimmed_ = false;
  std::atomic<uint64_t> peak_allocated_{0};
  // The time by which new blocks count as touched; 0 while nobody wants to know
  // (allocator/offload).
  std::atomic<uint32_t> touch_clock_{0};
  Mutex credit_mutex_;  // guards the credits of all heaps, once there are two

  // Counted under the device's lock.
  std::atomic<uint64_t> stitches_{0};
  std::atomic<uint64_t> grown_{0};
  std::atomic<uint64_t> moved_{0};
  std::atomic<uint64_t> released_{0};
  std::atomic<uint64_t> fence_waits_{0};
  std::atomic<uint64_t> fence_wait_ns_{0};
  std::atomic<uint64_t> out_of_memory_{0};
  std::atomic<uint64_t> hook_calls_{0};

  struct HookEntry {
    PressureHook hook;
    void* context;
  };
  Mutex hook_mutex_;
  HookEntry hooks_[kMaxHooks] = {};
  int hook_count_ = 0;
  uint64_t hook_threads_[kMaxHooks] = {};  // threads that run hooks right now

  OutOfMemoryReport report_{};
  std::atomic<const char*> check_failure_{nullptr};
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_POOL_H_
