// Offloader: evicts live memory that was not touched for a long time to host memory, at the same
// address, and restores it.
//
// Idea: the pool asks for memory when its pressure ladder has no other step left
// (PoolConfig::reclaim_callback). Pages with live blocks are ranked by when their blocks were seen
// in the arguments of submitted work; the policy chooses the pages to evict (policy.h). A page in
// host memory stays accessible: work that touches it is slower but correct, so observed touches
// affect speed only. When the device has memory again, pages that were touched since they left are
// restored. If it has none, pages that work touches again and again in host memory are exchanged
// with pages that it did not touch in the same time.
//
// In addition, callers with more knowledge can make requests (requests.cc): blocks that were
// allocated under a tag (BlockRequest::tag) are offloaded, paused or resumed together. Paused
// memory is removed from the device as well, and nothing may touch it until it is resumed; it needs
// no mapping of host memory.
//
// The offloader never moves pages of private pools (captured graphs write to them) or pages that a
// graph may use. It moves nothing while a stream is captured, or if work does not finish within
// `work_wait_ns` (kernels that never end).
//
// Ownership: the offloader owns its records; pool and gate belong to the caller and outlive it.
// Threads: any; locks: the pool's device lock, and one heap's lock under it. Errors: memory that
// could not be moved is as before, and the numbers count it. No exceptions, no heap of the process.
// Units: bytes, nanoseconds.
#ifndef VRAMSTOW_ALLOCATOR_OFFLOAD_OFFLOADER_H_
#define VRAMSTOW_ALLOCATOR_OFFLOAD_OFFLOADER_H_

#include <atomic>
#include <cstdint>

#include "allocator/core/device_lock.h"

#include "allocator/offload/gate.h"
#include "allocator/offload/host_stock.h"
#include "allocator/offload/mover.h"
#include "allocator/offload/page_list.h"
#include "allocator/offload/pause_slices.h"
#include "allocator/offload/policy.h"
#include "allocator/offload/quiet_moves.h"
#include "allocator/offload/standstill.h"
#include "allocator/offload/use_count.h"
#include "allocator/pool/pool_pages.h"

namespace vramstow {

struct OffloadConfig : HostLimits, StandstillLimits {
  // The submission gate is closed for about this long at a time.
  uint64_t slice_ns = 5'000'000;
  // No page is restored within this time after an eviction. No page is restored, either, if less
  // than `keep_free_bytes` of the device would then be free.
  uint64_t calm_ns = 50'000'000;
  uint64_t keep_free_bytes = 64 * kMiB;
  OffloadPolicy policy = {RankColdest};
  // If set, Open tests whether host memory can be mapped, whatever the device reports about itself.
  bool tries_host = false;
  // If set, every touch that changes a page's record is recorded in the trace (EventKind::kTouch).
  bool records_touches = false;
};

struct OffloadStats {
  uint64_t out_bytes;  // bytes evicted so far
  uint64_t in_bytes;
  uint64_t offloaded_bytes;      // in host memory now, paused or not
  uint64_t paused_bytes;         // paused now, including discarded contents
  uint64_t host_bytes;           // host memory held now
  uint64_t lacking_bytes;        // device memory that the last Resume lacked
  uint64_t released_host_bytes;  // returned to the host so far
  uint64_t gate_closed;          // how often the gate was closed
  uint64_t gate_ns;              // how long it was closed in total
  uint64_t longest_gate_ns;
  uint64_t refused;             // moves refused because the gate or work did not stop in time
  uint64_t refused_in_capture;  // moves refused because a stream was being captured
  uint64_t failed;              // moves in which a driver call failed
  bool mappings_used_up;        // a larger host_mappings would have moved more
};

enum class OffloadResult : uint8_t {
  kDone,
  kNoRoom,     // host memory (for Resume, device memory) is too small
  kBusy,       // work does not finish in time
  kCapturing,  // a stream is being captured
  kOfGraph,    // a captured graph may use the rest
  kHeld,       // another process or device uses the rest
  kFailed,     // the driver refused
  kNotThere,   // the device does not support it
};

struct PauseOptions {
  bool keep;            // keeps the contents on the host; otherwise they are discarded
  bool graphs = false;  // also pauses memory that captured graphs may use or that they cached
  uint64_t most_bytes = ~uint64_t{0};  // rounded up to pages
  uint64_t MostPages(uint64_t page) const { return most_bytes / page + (most_bytes % page != 0); }
};

class Offloader {
 public:
  Offloader() = default;
  Offloader(const Offloader&) = delete;
  Offloader& operator=(const Offloader&) = delete;

  // Opens the offloader for an open pool, whose configuration may name this object already. Returns
  // false if the device cannot map host memory; memory can then be paused, but not offloaded.
  bool Open(PoolPages* pool, SubmissionGate* gate, const OffloadConfig& config);
  // Called before the pool is closed; the pool then releases the memory that is on the host.
  void Close(bool alive);

  // PoolConfig::reclaim_callback: evicts at least `bytes` if possible. The caller holds no lock of
  // the pool. Returns the bytes of device memory that were freed.
  static uint64_t Reclaim(void* self, uint64_t bytes);
  uint64_t MoveOut(uint64_t bytes, OffloadReason reason);
  // Restores offloaded pages that were touched since they left, if there is room; or exchanges.
  uint64_t BringBack(uint64_t most_bytes);
  // Notes that the process ends: BringBack moves nothing from now on, and a running call that waits
  // for work gives up within Standstill::kHearingNs. May be called from any thread, without a lock.
  void StopBringingBack() { standstill_.Stop(); }

  // Releases host memory if nothing moved for the last `unused_ns`. Returns the released bytes.
  uint64_t ReleaseHost(uint64_t unused_ns) { return host_.Release(unused_ns); }
  // Releases idle host memory after the configured time; call it regularly.
  uint64_t DecayHost() { return host_.Decay(); }

  // --- Requests ---------------------------------------------------------------------------------
  // Each request sets *bytes to the bytes that moved. Offload and Pause then release as many bytes.
  static constexpr uint32_t kAnyTag = PoolPages::kAnyTag;
  OffloadResult Offload(uint32_t tag, uint64_t* bytes);
  // Evicts up to `most_bytes` of memory not touched since Mark returned `before`, oldest first.
  OffloadResult OffloadIdle(uint64_t most_bytes, uint32_t before, uint64_t* bytes);
  // Observes touches from now on, for at least `watch_ns`. Returns `before` for OffloadIdle.
  uint32_t Mark(uint64_t watch_ns);
  // Removes the device memory of a tag's blocks; nothing may touch them until Resume. Blocks that
  // are allocated under the tag later are not affected. After a pause with graphs no graph may be
  // launched until Resume (refuses_graphs).
  OffloadResult Pause(uint32_t tag, const PauseOptions& options, uint64_t* bytes);
  // Restores all memory of the tag, growing as far as the limit and the device allow it. Paused
  // memory is restored as a whole, or not at all if the device lacks memory for it; a later Resume
  // can then finish. After an error of the driver a part may be restored.
  OffloadResult Resume(uint32_t tag, uint64_t most_bytes, uint64_t* bytes);

  // --- Touches ----------------------------------------------------------------------------------
  // True if touches must be reported: while memory is short, or pages are on the host.
  bool tracks_touches() const { return tracks_touches_.load(std::memory_order_relaxed); }
  // Counts a submission of work: touches after this call count as later than touches before it.
  void Tick() {
    submissions_.fetch_add(1, std::memory_order_relaxed);
    if (tracks_touches()) pool_->SetClock(Clock());
  }
  // Notes that submitted work may use this address. Addresses outside of the pool are ignored.
  void Touch(uint64_t address) {
    const uint32_t clock = Clock();
    const bool changed = pool_->Touch(address, clock);
    if (changed && config_.records_touches) pool_->events().Touched(address, clock);
  }
  // Notes that work may now use this block without naming it, so that it does not become idle.
  void Expose(uint64_t address) { pool_->Expose(address, Clock()); }
  // Prevents moves of the page at this address while its blocks live, because a graph may use it.
  void Pin(uint64_t address) { pool_->Touch(address, AddressSpace::kPinned); }

  // The driver's result from which Open concluded that the device cannot map host memory.
  DriverResult host_refusal() const { return host_refusal_; }

  // True if memory that a captured graph may use is paused, so that launching a graph is an error.
  // It is called by threads inside the submission gate.
  bool refuses_graphs() const {
    const ChunkExchange& chunks = pool_->exchange();
    return graphs_away_.load(std::memory_order_relaxed) &&
           chunks.paused_bytes() != chunks.parked_bytes();
  }

  // Restores the parts of held memory (Pool::HoldChunks) that are on the host; with automatic
  // offload, other memory is evicted to make room for them. Returns kHeld if a part is paused.
  OffloadResult ReturnHeld(uint64_t address, uint64_t size);

  // --- Quiet times ------------------------------------------------------------------------------
  // Notes that no work uses the given blocks until EndQuiet. Some of these quiet blocks are evicted
  // while work runs: as many bytes as the previous iteration lacked. They are restored when device
  // memory is free. The blocks of an earlier call are not quiet any more.
  void BeginQuiet(const QuietRange* ranges, uint64_t count);
  // Ends the quiet time: the blocks may be used again. May be called inside the submission gate.
  void EndQuiet();
  // True if Need must be called before work uses this address. Called inside the submission gate.
  bool IsAway(uint64_t address) const { return quiet_.IsAway(address); }
  bool has_away() const { return quiet_.has_away(); }
  // True if a thread that is about to submit work, and holds no lock, should call AdvanceQuiet.
  bool wants_to_advance() const {
    return quiet_.wants_to_advance(submissions_.load(std::memory_order_relaxed));
  }
  // Restores the block at this address before work uses it; also called inside the gate.
  void Need(uint64_t address);
  // Begins to copy as much quiet memory to the host as will be lacking, or restores what fits.
  void AdvanceQuiet();

  OffloadStats Stats() const;
  Standstill& standstill() { return standstill_; }

 private:
  enum class Motion : uint8_t { kOut, kBack, kPause, kDiscard };

  static constexpr uint64_t kClockStep = 16;
  // The clock of touches, never 0. It counts sixteen submissions as one, so 32 bits last for days.
  uint32_t Clock() const {
    return static_cast<uint32_t>(submissions_.load(std::memory_order_relaxed) / kClockStep) + 1;
  }
  void StartClockAnew() VRAMSTOW_REQUIRES(kDeviceLock);
  // Exchanges up to `most` offloaded pages that were used often with resident pages that were not
  // used in the same time. Returns how many pages were restored.
  uint64_t ExchangePages(uint64_t most) VRAMSTOW_REQUIRES(kDeviceLock);
  void BringBackOthers() VRAMSTOW_REQUIRES(kDeviceLock);
  void Watch(bool wanted);
  // Lists, in no order, all pages that are in the state `which` and have blocks with this tag.
  // Returns how many.
  uint64_t ListPages(PagesThatAre which, uint32_t tag, bool graphs = false)
      VRAMSTOW_REQUIRES(kDeviceLock) {
    return pages_.Fill(which, tag, kColdest, Clock(), graphs);
  }
  DriverResult TryHost() VRAMSTOW_REQUIRES(kDeviceLock);
  uint32_t MoveSlice(uint64_t* slice, uint32_t count, Motion motion, DriverResult* result)
      VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t MoveSlices(uint64_t count, Motion motion, OffloadReason reason, OffloadResult* outcome)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // Finishes an eviction of which `spare_pages` were not needed.
  void EndMoveOut(uint64_t spare_pages = 0) VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t Room() VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t EnsureDeviceChunks(uint64_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  OffloadResult MoveOutCold(uint64_t bytes, uint32_t before, OffloadReason reason,
                            uint64_t* moved_bytes);
  OffloadResult MoveTag(uint32_t tag, Motion motion, const PauseOptions& options, uint64_t* bytes);
  void NoteGraphs() VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t ReturnRegion(uint32_t tag, uint64_t most, OffloadResult* outcome)
      VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t ReturnPaused(uint32_t tag, uint64_t most, OffloadResult* outcome)
      VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t EndReturn(Mover::Return* coming, DriverResult* result) VRAMSTOW_REQUIRES(kDeviceLock);
  template <typename List>
  uint64_t ReturnOffloaded(List list, uint64_t most, OffloadResult* outcome)
      VRAMSTOW_REQUIRES(kDeviceLock);

  PoolPages* pool_ = nullptr;
  Standstill standstill_;
  OffloadConfig config_;
  Mover mover_;
  PauseSlices pausing_;
  HostStock host_;
  bool maps_host_ = false;
  DriverResult host_refusal_ = kDriverSuccess;
  static constexpr uint32_t kFirstSlicePages = 16;
  uint32_t slice_pages_ = kFirstSlicePages;
  uint64_t last_out_ns_ = 0;
  // A touch with this clock number, or a later one, happened after the pages were evicted.
  uint32_t wanted_from_clock_ = 0;
  uint64_t watch_until_ns_ = 0;
  PageList pages_;
  UseCount uses_;
  QuietMoves quiet_;
  std::atomic<bool> tracks_touches_{false};
  std::atomic<bool> graphs_away_{false};
  std::atomic<uint64_t> submissions_{0};
  std::atomic<uint64_t> lacking_{0};
  MoveRecord record_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_OFFLOADER_H_
