// Offloader: moves live memory that nobody has touched for long to the host, at the same address,
// and back.
//
// Idea: the pool asks for room when its ladder has no other step left (PoolConfig::relief). Pages
// that hold live blocks are ranked by when their blocks were seen in the arguments of submitted
// work; what leaves first is the policy's choice (policy.h). A page in host memory stays
// accessible: work that touches it is slower, never wrong, so what is seen of touches steers speed
// only. When there is room again, pages that were touched since they left come back.
//
// Beside that, whoever knows more may ask (requests.cc): blocks that were allocated under a tag
// (BlockRequest::tag) are offloaded, paused or resumed together. Paused memory is gone from the
// device as well, and nothing may touch it until it is resumed; it needs no mapping of host memory.
//
// Not moved: pages of private pools (captured graphs write to them), pages that a graph may use,
// and anything at all while a stream is captured, or while work does not end within `work_wait_ns`
// (kernels that never end).
//
// Ownership: the offloader's own records; pool and gate belong to the caller and outlive it.
// Threads: any; locks: the pool's device lock, one heap's under it. Errors: what could not be moved
// is as before, and the numbers say so. No exceptions, no heap of the process. Units: bytes,
// nanoseconds.
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
#include "allocator/pool/pool_pages.h"

namespace vramstow {

struct OffloadConfig : HostLimits, StandstillLimits {
  // The gate is closed for about this long at a time.
  uint64_t slice_ns = 5'000'000;
  // No page comes back so soon after one had to leave, or where less than `keep_free_bytes` of the
  // device would then be free.
  uint64_t calm_ns = 50'000'000;
  uint64_t keep_free_bytes = 64 * kMiB;
  OffloadPolicy policy = {RankColdest};
  // Whether host memory can be mapped is tried at once, whatever the device says of itself.
  bool tries_host = false;
  // Every touch that is news is told (EventKind::kTouch), from now on.
  bool tells_touches = false;
};

struct OffloadStats {
  uint64_t out_bytes;  // ever
  uint64_t in_bytes;
  uint64_t offloaded_bytes;      // in host memory now, paused or not
  uint64_t paused_bytes;         // now; with what was given up
  uint64_t host_bytes;           // held now
  uint64_t lacking_bytes;        // of the device, for what the last Resume left paused
  uint64_t released_host_bytes;  // given back to the host, ever
  uint64_t gate_closed;          // how often
  uint64_t gate_ns;              // in all
  uint64_t longest_gate_ns;
  uint64_t refused;       // the gate or the work did not let memory move
  uint64_t failed;        // a driver call did
  bool mappings_used_up;  // more would have moved, were host_mappings larger
};

enum class OffloadResult : uint8_t {
  kDone,
  kNoRoom,     // host memory (or, to come back, device memory) lacks for the rest
  kBusy,       // work does not end
  kCapturing,  // a stream is being captured
  kOfGraph,    // a captured graph may use the rest
  kHeld,       // another process or a device has the rest
  kFailed,     // the driver refused
  kNotThere,   // the device cannot do that
};

class Offloader {
 public:
  Offloader() = default;
  Offloader(const Offloader&) = delete;
  Offloader& operator=(const Offloader&) = delete;

  // False: the device cannot map host memory: memory can be paused, not offloaded. The pool is
  // open; its configuration's relief may name this object before.
  bool Open(PoolPages* pool, SubmissionGate* gate, const OffloadConfig& config);
  // Before the pool is closed. The pool releases what lies on the host.
  void Close(bool alive);

  // PoolConfig::relief: moves out what is needed. No lock of the pool is held. Gives the bytes of
  // device memory that are free now.
  static uint64_t Relieve(void* self, uint64_t bytes);
  uint64_t MoveOut(uint64_t bytes, OffloadReason reason);
  // Moves back offloaded pages that were touched since they left, as long as there is room.
  uint64_t BringBack(uint64_t most_bytes);
  // The process ends: from now on BringBack moves nothing, and one that waits for work gives up
  // within Standstill::kHearingNs. From any thread, without a lock.
  void StopBringingBack() { standstill_.Stop(); }

  // Gives host memory back that holds nothing, if nothing was moved for the last `unused_ns`.
  // Returns how many bytes the host has back.
  uint64_t ReleaseHost(uint64_t unused_ns) { return host_.Release(unused_ns); }
  // The same, by itself: to be called now and then.
  uint64_t DecayHost() { return host_.Decay(); }

  // --- Requests ---------------------------------------------------------------------------------
  // *bytes: what moved, also where that is not all. Afterwards as much device memory is the
  // device's again.
  static constexpr uint32_t kAnyTag = PoolPages::kAnyTag;
  OffloadResult Offload(uint32_t tag, uint64_t* bytes);
  // Up to `most_bytes`, the coldest first, of what was not touched since Mark gave `before`.
  OffloadResult OffloadIdle(uint64_t most_bytes, uint32_t before, uint64_t* bytes);
  // From now on, for at least `watch_ns`, touches are seen. What OffloadIdle wants to know.
  uint32_t Mark(uint64_t watch_ns);
  // Takes the memory of a tag's blocks away; nothing may touch them until Resume. What is allocated
  // under the tag meanwhile does not belong to it. Not `keep`: what they hold is given up. With
  // `graphs`, what captured graphs may use goes as well, also what is cached for them: no graph may
  // be launched until Resume (refuses_graphs).
  OffloadResult Pause(uint32_t tag, bool keep, uint64_t* bytes, bool graphs = false);
  // Brings everything of the tag back, growing where the limit and the device allow it. What is
  // paused comes back whole or, where there is no room for all of it, not at all: the room stays
  // free for others, and a later Resume can finish. After an error of the driver a part may be
  // back.
  OffloadResult Resume(uint32_t tag, uint64_t most_bytes, uint64_t* bytes);

  // --- Touches ----------------------------------------------------------------------------------
  // Whether anybody wants to know: while memory is short, or pages lie on the host.
  bool tracks_touches() const { return tracks_touches_.load(std::memory_order_relaxed); }
  // One more submission: touches from here on are later than those before.
  void Tick() {
    submissions_.fetch_add(1, std::memory_order_relaxed);
    if (tracks_touches()) pool_->SetClock(Clock());
  }
  // Work is submitted that may use this address; no address of the pool's: nothing happens.
  void Touch(uint64_t address) {
    const uint32_t clock = Clock();
    const bool news = pool_->Touch(address, clock);
    if (news && config_.tells_touches) pool_->events().Touched(address, clock);
  }
  // From now on work may use the block at this address without naming it, so that the block does
  // not become idle in this iteration.
  void Expose(uint64_t address) { pool_->Expose(address, Clock()); }
  // The page at this address stays where it is as long as its blocks live: a graph may use it.
  void Pin(uint64_t address) { pool_->Touch(address, AddressSpace::kPinned); }

  // Why Open said that the device cannot map host memory: the driver's number.
  DriverResult host_refusal() const { return host_refusal_; }

  // Whether memory is paused that a captured graph may use: launching one is an error then. For
  // who has passed the gate.
  bool refuses_graphs() const {
    const ChunkExchange& chunks = pool_->exchange();
    return graphs_away_.load(std::memory_order_relaxed) &&
           chunks.paused_bytes() != chunks.parked_bytes();
  }

  // Brings back what lies on the host of memory that is held (Pool::HoldChunks); where memory moves
  // by itself, other memory makes room for it. kHeld: a part is paused.
  OffloadResult ReturnHeld(uint64_t address, uint64_t size);

  // --- Quiet times ------------------------------------------------------------------------------
  // Nobody uses these blocks until EndQuiet: what has to leave meanwhile leaves beside the work, as
  // much as in the time before, and comes back when there is room. What was told before is over.
  void BeginQuiet(const QuietRange* ranges, uint64_t count);
  // They may be used again: on the device or, without room, on the host. Works inside the gate.
  void EndQuiet();
  // Whether work that uses this address must call Need before. For who has passed the gate.
  bool IsAway(uint64_t address) const { return quiet_.IsAway(address); }
  bool has_away() const { return quiet_.has_away(); }
  // Whether AdvanceQuiet is to be called, by whoever is about to submit work and holds no lock.
  bool wants_to_advance() const {
    return quiet_.wants_to_advance(submissions_.load(std::memory_order_relaxed));
  }
  // Work may use this address: its block is back. Works inside the gate.
  void Need(uint64_t address);
  // Begins to copy quiet memory: out, as much as will have to leave, or back, if there is room.
  void AdvanceQuiet();

  OffloadStats Stats() const;

 private:
  // For lists in which the order does not matter, or is by age.
  static constexpr OffloadPolicy kByAge = {RankColdest};
  enum class Motion : uint8_t { kOut, kBack, kPause, kDiscard };

  static constexpr uint64_t kClockStep = 16;
  // Never 0. Sixteen submissions share a number, so that it lasts for days.
  uint32_t Clock() const {
    return static_cast<uint32_t>(submissions_.load(std::memory_order_relaxed) / kClockStep) + 1;
  }
  void StartClockAnew() VRAMSTOW_REQUIRES(kDeviceLock);
  void BringBackOthers() VRAMSTOW_REQUIRES(kDeviceLock);
  void Watch(bool wanted);
  // All pages of blocks with this tag that are so, in no order. Returns how many.
  uint64_t ListPages(PagesThatAre which, uint32_t tag, bool graphs = false)
      VRAMSTOW_REQUIRES(kDeviceLock) {
    return pages_.Fill(which, tag, kByAge, Clock(), graphs);
  }
  DriverResult TryHost() VRAMSTOW_REQUIRES(kDeviceLock);
  uint32_t MoveSlice(uint64_t* slice, uint32_t count, Motion motion, DriverResult* result)
      VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t MoveSlices(uint64_t count, Motion motion, OffloadReason reason, OffloadResult* outcome)
      VRAMSTOW_REQUIRES(kDeviceLock);
  // `spare_pages` more left than were wanted.
  void EndMoveOut(uint64_t spare_pages = 0) VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t NewChunks(uint64_t if_unknown) VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t Room() VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t MappedHostBytes() const;
  uint64_t EnsureDeviceChunks(uint64_t count) VRAMSTOW_REQUIRES(kDeviceLock);
  OffloadResult MoveOutCold(uint64_t bytes, uint32_t before, OffloadReason reason,
                            uint64_t* moved_bytes);
  OffloadResult MoveTag(uint32_t tag, Motion motion, bool graphs, uint64_t* bytes);
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
  // Touches with this number of the clock, or a later one, came after the pages had left.
  uint32_t wanted_from_clock_ = 0;
  uint64_t watch_until_ns_ = 0;
  PageList pages_;
  QuietMoves quiet_;
  std::atomic<bool> tracks_touches_{false};
  std::atomic<bool> graphs_away_{false};
  std::atomic<uint64_t> submissions_{0};
  std::atomic<uint64_t> lacking_{0};
  MoveRecord record_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_OFFLOAD_OFFLOADER_H_
