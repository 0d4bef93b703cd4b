// Pool: the caching allocator of one device, on the driver's virtual memory.
//
// Idea: a heap per stream serves hits under a lock of its own; all that needs the driver goes up
// the pressure ladder under the device's lock (PressureLadder). Physical memory is fungible: chunks
// move between heaps and addresses, so free memory in pieces is as good as free memory in one.
// docs/pool.md tells the whole story.
//
// Ownership: the pool owns its arenas, chunks and events until Close; the driver table belongs to
// the caller. A Pool is large: give it static storage or pages of its own. Threads: every function
// but Open and Close may be called from any thread; hooks run without any lock of the pool and may
// call it. Errors: PoolError; on an error nothing changed that the caller can see. No exceptions,
// no heap of the process. Units: bytes; nanoseconds; streams as the driver's handles.
//
// Locks, in order: device; credit (PeakTracker); one heap, or two where the device's is held. The
// list of hooks has a lock of its own, under which nothing is taken.
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

  // kUnavailable: nothing was taken; the plain driver may have the memory.
  PoolError Open(const DriverTable* driver, const PoolConfig& config);
  void Close(PoolEnd end);

  PoolError Allocate(const BlockRequest& request, Block* block);
  // *freed: what it was, if that is wanted. With `framework_only` a block that another layer asked
  // for is not the caller's to free: kNotOurs.
  PoolError Free(uint64_t address, BlockInfo* freed = nullptr, bool framework_only = false);
  // Work of `stream` touches the block: after Free it waits for that work, too.
  PoolError RecordUse(uint64_t address, uint64_t stream);

  // Whether the address lies in one of the pool's arenas, in a block or not.
  bool Owns(uint64_t address) const { return parts_.space.Owns(address); }
  // The live block that the address lies in.
  PoolError Find(uint64_t address, BlockInfo* info);
  // Where a framework's blocks are, also what it has given back and may get again: the run of
  // cached memory that the address lies in, or a block of its own with what was rounded up.
  // kInvalid: nothing is mapped there, or it is not the framework's.
  PoolError FindOfFramework(uint64_t address, BlockInfo* info);

  // For sharing: the handles of the chunks under the live block at this address with this id, from
  // chunk number `first` on, at most `most`. They stay where they are while the block lives.
  // Returns how many there are; 0: no such block.
  uint32_t ChunksOf(uint64_t address, uint64_t id, uint64_t first, uint64_t* handles,
                    uint32_t most);

  // The physical memory of live blocks is told to somebody who keeps it, as network cards do: its
  // chunks stay at these addresses until the pool is closed, also when the blocks are freed.
  void RegisterChunks(uint64_t address, uint64_t size);
  // The same until ReleaseChunks of the same range: ranges may overlap, and are counted. Returns
  // how many bytes from the address on are held so, which is what has to be released: up to the
  // first page without memory. Memory on the host is held there
  // (Offloader::ReturnHeld brings it back).
  uint64_t HoldChunks(uint64_t address, uint64_t size);
  void ReleaseChunks(uint64_t address, uint64_t size);

  // From now on a framework has blocks here, and thinks that it caches what it gives back.
  void ServeFramework() { parts_.serves_framework.store(true, std::memory_order_relaxed); }

  // --- Private pools (BlockRequest::pool) -------------------------------------------------------
  // What a private pool has cached stays mapped where it is, because graphs may write to it, until
  // it is let go (`keep` false). A number may be used again for another pool: then keep it again.
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
  uint64_t chunk_bytes() const { return parts_.config.chunk_bytes; }
  uint64_t limit() const { return parts_.limit_bytes; }
  // A lower limit that a framework has set itself, and that MemoryInfo does not tell of; 0: none.
  // It is for blocks with a stream.
  void SetShare(uint64_t bytes);
  uint64_t device_bytes() const { return parts_.device.total_bytes; }
  // Whether the pool is made of the plain driver's memory, for want of virtual memory.
  bool segments() const { return parts_.segments(); }
  // What cuMemGetInfo should say: free for this process, cached memory counted as free.
  DriverResult MemoryInfo(uint64_t* free_bytes, uint64_t* total_bytes);
  // The same, made of what the driver said.
  void AdjustMemoryInfo(uint64_t* free_bytes, uint64_t* total_bytes);

  // Waits for all work of the context; what was freed before can then be used at once.
  DriverResult Synchronize() { return parts_.fences.Synchronize(); }
  // Sets the access rights of all that is mapped once more, after the driver table has learned of
  // one more device that they are for.
  DriverResult RenewAccess();
  // Whether a large chunk backs a part of it: who maps it elsewhere would get other blocks, too.
  bool HasLargeChunk(uint64_t address, uint64_t size);

  // False: the table of hooks is full.
  bool AddHook(PressureHook hook, void* context) { return parts_.hooks.Add(hook, context); }
  void RemoveHook(PressureHook hook, void* context) { parts_.hooks.Remove(hook, context); }

  // The process uses this stream: frees without a stream wait for it, too, where the driver has no
  // event for the whole context.
  void NoteStream(uint64_t stream);
  // There is a stream of this name, perhaps that of one which was destroyed. To be called after a
  // stream was made, and after one could not be destroyed.
  void StreamCreated(uint64_t stream);
  // Before the stream is destroyed.
  void StreamDestroyed(uint64_t stream);
  // While any capture is in progress the pool makes no fence and waits for none. To be called
  // before the capture begins: waits until a fence that is just being made is done.
  void CaptureBegins() {
    DeviceLock device_lock(&parts_.mutex);
    parts_.fences.CaptureBegins();
  }
  void CaptureEnds() { parts_.fences.CaptureEnds(); }

  PoolStats Stats();
  void ResetPeaks();
  // The last out-of-memory report; number 0 if there was none.
  OutOfMemoryReport LastReport();
  // Null if all invariants hold, else a sentence.
  const char* Check();
  // What the checks of PoolConfig::check have found first; null: nothing.
  const char* check_failure() const { return parts_.check_failure.load(std::memory_order_relaxed); }

  // The pages of live blocks, for whoever moves them (allocator/offload).
  PoolPages* pages() { return &pages_; }

 private:
  // What to say of an address that lies in no heap.
  PoolError WhyNoHeap(uint64_t address) const;
  PoolError TakeParts(const DriverTable* driver, const PoolConfig& config);

  PoolParts parts_;
  Trimmer trimmer_;
  ChunkBacking chunk_backing_;
  SegmentBacking segment_backing_;
  PressureLadder ladder_;
  PoolPages pages_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_POOL_H_
