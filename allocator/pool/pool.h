// Pool: the caching allocator of one device, on the driver's virtual memory.
//
// Idea: each stream has a heap that serves requests from cached memory under a lock of its own. A
// request that needs the driver climbs the pressure ladder under the device's lock
// (PressureLadder). Physical memory is fungible: chunks move between heaps and addresses, so free
// memory in pieces is as good as free memory in one piece. docs/pool.md explains the design.
//
// Ownership: the pool owns its arenas, chunks and events until Close; the driver table belongs to
// the caller. A Pool is large: give it static storage or pages of its own. Threads: every function
// but Open and Close may be called from any thread; hooks run without any lock of the pool and may
// call it. Errors: PoolError; after an error nothing has changed that the caller can see. No
// exceptions, no heap of the process. Units: bytes; nanoseconds; streams as the driver's handles.
//
// Locks, in order: the device's; the credit's (PeakTracker); one heap's, or two if the device's is
// held. The list of hooks has a lock of its own, under which no other lock is taken.
#ifndef VRAMSTOW_ALLOCATOR_POOL_POOL_H_
#define VRAMSTOW_ALLOCATOR_POOL_POOL_H_

#include <atomic>
#include <cstdint>

#include "allocator/core/config.h"
#include "allocator/core/driver.h"
#include "allocator/pool/chunk_backing.h"
#include "allocator/pool/hook_list.h"
#include "allocator/pool/parts.h"
#include "allocator/pool/pool_pages.h"
#include "allocator/pool/pressure_ladder.h"
#include "allocator/pool/report.h"
#include "allocator/pool/segment_backing.h"
#include "allocator/pool/statistics.h"
#include "allocator/pool/trimmer.h"
#include "allocator/pool/types.h"

namespace vramstow {

class Pool {
 public:
  static constexpr uint32_t kMaxHeaps = HeapTable::kMaxHeaps;
  static constexpr int kMaxHooks = HookList::kMaxHooks;

  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Opens the pool. Returns kUnavailable, and allocates nothing, if the plain driver should serve
  // instead.
  PoolError Open(const DriverTable* driver, const PoolConfig& config);
  void Close(PoolEnd end);

  PoolError Allocate(const BlockRequest& request, Block* block);
  // Frees a block and, if `freed` is not null, describes it there. If `framework_only` is true,
  // only blocks that a framework allocated are freed; for other blocks the result is kNotOurs.
  PoolError Free(uint64_t address, BlockInfo* freed = nullptr, bool framework_only = false);
  // Notes that work of `stream` touches the block, so that Free also waits for that work.
  PoolError RecordUse(uint64_t address, uint64_t stream);

  // True if the address lies in one of the pool's arenas, whether in a block or not.
  bool Owns(uint64_t address) const { return parts_.space.Owns(address); }
  // Finds the live block that contains the address.
  PoolError Find(uint64_t address, BlockInfo* info);
  // Finds memory of the framework that contains the address: a live block with the bytes that
  // rounding added, or a run of cached memory that the framework has freed and may get again.
  // Returns kInvalid if nothing is mapped there or if it is not the framework's.
  PoolError FindOfFramework(uint64_t address, BlockInfo* info);

  // Writes the handles of the chunks under the live block with this address and id to `handles`,
  // for sharing between processes. It writes at most `most` handles, from chunk number `first` on.
  // The chunks stay at their pages while the block lives. Returns the number of handles; 0 if there
  // is no such block.
  uint32_t ChunksOf(uint64_t address, uint64_t id, uint64_t first, uint64_t* handles,
                    uint32_t most);

  // Notes that the physical memory of live blocks was registered with a user that retains it, for
  // instance a network card. The chunks of these blocks stay at their addresses until the pool is
  // closed, even after the blocks are freed.
  void RegisterChunks(uint64_t address, uint64_t size);
  // Holds the chunks of the range at their addresses until ReleaseChunks is called for the same
  // range. Ranges may overlap and are counted. Returns how many bytes from the address on are held,
  // up to the first page without memory; the caller must release that many. If the memory is on the
  // host, it is held there (Offloader::ReturnHeld restores it).
  uint64_t HoldChunks(uint64_t address, uint64_t size);
  void ReleaseChunks(uint64_t address, uint64_t size);

  // Notes that a framework allocates from this pool. A framework assumes that its allocator caches
  // the memory that it frees.
  void ServeFramework() { parts_.serves_framework.store(true, std::memory_order_relaxed); }
  bool serves_framework() const { return parts_.serves_framework.load(std::memory_order_relaxed); }

  // --- Private pools (BlockRequest::pool) -------------------------------------------------------
  // Retains the cached memory of a private pool at its addresses, because graphs may write to it,
  // until KeepPrivate is called with `keep` false. If a number is reused for another pool, call
  // this again.
  void KeepPrivate(uint64_t pool, bool keep);
  // Allocates a block at an address where the request's heap has cached memory; returns kInvalid if
  // it has none there.
  PoolError AllocateAt(uint64_t address, const BlockRequest& request, Block* block);
  // Returns the mapped bytes of a private pool, or for pool 0 those of all heaps that have a
  // stream.
  MappedBytes Mapped(uint64_t pool) const;
  // Returns the bytes that are mapped for callers without a stream.
  uint64_t MappedWithoutStream() const;
  // Calls the visitor for every mapped span, in order of address within each heap. The visitor runs
  // under locks of the pool and must not call it.
  void VisitSpans(SpanVisitor visitor, void* context);

  // Releases cached memory to the device, then runs the hooks with kind kTrimmed.
  TrimResult Trim(const TrimRequest& request);
  // Releases cached memory that was not used for the time of --decay, and more while the device has
  // less free memory than --keep-free; call it regularly. Returns how many bytes were released.
  uint64_t Maintain();
  // Frees pending blocks that no submitted work uses any more, so that Stats() does not count them
  // as pending. A request does this when it needs memory; call it before the numbers are shown.
  void SettleFrees() { trimmer_.SettleFrees(); }
  // Sets the most bytes that the pool may hold; 0 removes the limit. Memory above a new limit stays
  // until it is trimmed.
  void SetLimit(uint64_t bytes);
  uint64_t chunk_bytes() const { return parts_.config.chunk_bytes; }
  uint64_t limit() const { return parts_.limit_bytes; }
  // Sets a smaller limit, which a framework has chosen, for blocks that have a stream; 0 removes
  // it. MemoryInfo ignores this limit.
  void SetShare(uint64_t bytes);
  // Sets a smaller limit while other processes share the device; 0 removes it. MemoryInfo ignores
  // it.
  void SetRoom(uint64_t bytes);
  // Sets how much memory the pool can have once other processes have given up memory; 0 if that is
  // not known. MemoryInfo then reports as free what of this is not allocated.
  void SetReachable(uint64_t bytes);
  // Returns the limit that the user or the framework has set, if the pool may not hold `bytes` more
  // because of it; otherwise 0. The limit of SetRoom does not count.
  uint64_t LimitReachedBy(uint64_t bytes);
  // True if SetRoom has set a limit.
  bool HasRoomLimit();
  uint64_t device_bytes() const { return parts_.device.total_bytes; }
  // True if the pool consists of the plain driver's memory because virtual memory is not available.
  bool segments() const { return parts_.segments(); }
  // Returns what cuMemGetInfo should report to this process: cached memory counts as free, except
  // that of private pools that are kept.
  DriverResult MemoryInfo(uint64_t* free_bytes, uint64_t* total_bytes);
  // Returns the cached bytes that MemoryInfo counts as free.
  uint64_t CachedBytes();
  // Like MemoryInfo, but adjusts values that the driver has returned already.
  void AdjustMemoryInfo(uint64_t* free_bytes, uint64_t* total_bytes);

  // Waits for all work of the context. Afterwards all memory that was freed before this call can be
  // reused.
  DriverResult Synchronize() { return parts_.fences.Synchronize(); }
  // Sets the access rights of all mapped memory again, after one more device was added to the
  // driver table.
  DriverResult RenewAccess();
  // True if a large chunk backs a part of the range. Mapping such a chunk elsewhere would expose
  // other blocks, too.
  bool HasLargeChunk(uint64_t address, uint64_t size);

  // Adds a hook. Returns false if the table of hooks is full.
  bool AddHook(PressureHook hook, void* context) { return parts_.hooks.Add(hook, context); }

  // Notes that the process uses this stream. Frees without a stream then wait for it, too, if the
  // driver has no event for the whole context.
  void NoteStream(uint64_t stream);
  // Notes that a stream with this handle exists; an earlier, destroyed stream may have had the same
  // handle. Call it after a stream was created, and after the destruction of a stream failed.
  void StreamCreated(uint64_t stream);
  // Notes that the stream is about to be destroyed; call it before the destruction.
  void StreamDestroyed(uint64_t stream);
  // Begins or ends a capture. While any capture is in progress the pool records no event and waits
  // for none. Call CaptureBegins before the capture begins; it waits until an event that another
  // thread is recording is complete.
  void CaptureBegins() {
    DeviceLock device_lock(&parts_.mutex);
    parts_.fences.CaptureBegins();
  }
  void CaptureEnds() { parts_.fences.CaptureEnds(); }

  PoolStats Stats();
  void ResetPeaks();
  // Returns the last out-of-memory report; its number is 0 if there was none.
  OutOfMemoryReport LastReport();
  // Returns null if all invariants hold, else a sentence that states the violation.
  const char* Check();
  // The first violation that the checks of PoolConfig::check found, or null.
  const char* check_failure() const { return parts_.check_failure.load(std::memory_order_relaxed); }

  // Access to the pages of live blocks, for the code that moves them (allocator/offload).
  PoolPages* pages() { return &pages_; }

 private:
  // Returns the error for an address that lies in no heap.
  PoolError WhyNoHeap(uint64_t address) const;
  uint64_t RetainedCache();
  uint64_t ResidentBytes(const PoolStats& stats) const;
  uint64_t Cached(const PoolStats& stats);
  PoolError OpenParts(const DriverTable* driver, const PoolConfig& config);

  PoolParts parts_;
  Trimmer trimmer_;
  ChunkBacking chunk_backing_;
  SegmentBacking segment_backing_;
  PressureLadder ladder_;
  PoolPages pages_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_POOL_H_
