// Pools owns the pools of this process, one for each context in which the program allocates.
//
// Idea: a pool is opened at the first allocation in its context, and closed when the context has
// ended. A Use keeps a pool open while a caller works with it; closing waits until no Use exists.
// The pool of an address is found by a search through the pools, of which there are as many as
// contexts.
//
// Ownership: static storage; pools lie in separate pages that are retained for the next context.
// Threads: any. A Use costs two atomic additions. Pools are opened and closed under a lock, which
// is never held while a pool waits for work. Errors: an empty Use, after which the plain driver
// serves the call. The reason why a pool could not be opened is logged once. Units: bytes.
//
// Lock: mutex_. It is held to open a pool, to close one, and to notify all pools. While it is held,
// a pool's own locks are taken and the driver is called.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_POOLS_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_POOLS_H_

#include <atomic>
#include <cstdint>

#include "allocator/offload/offloader.h"
#include "allocator/pool/pool.h"
#include "base/thread_annotations.h"
#include "interpose/core/pools/captures.h"
#include "interpose/core/pools/device_reach.h"
#include "interpose/core/pools/pool_driver.h"
#include "interpose/core/pools/reclaim_source.h"
#include "interpose/core/runtime/core.h"
#include "interpose/core/runtime/cuda_abi.h"

namespace vramstow {

class LiveStreams;

class Pools {
  struct Slot;

 public:
  static constexpr int kMaxPools = 64;
  static constexpr int kMaxDevices = DeviceReach::kMaxDevices;

  // The parts that the pools need. `on_opened` is called without a lock, after a pool was opened.
  struct Links {
    const Process& process;
    const Driver& driver;
    const Contexts& contexts;
    UnseenContexts& unseen_contexts;
    LiveStreams& live_streams;
    Trace& trace;
    PoolTrace& pool_trace;
    Offloaders& offloaders;
    RoomRequests& room_requests;
    ApplicationHooks& hooks;
    void (*on_opened)();
    void (*on_unseen_end)();  // a context ended past every hook
    Collection collection;
  };

  constexpr explicit Pools(const Links& links) : links_(links) {}
  Pools(const Pools&) = delete;
  Pools& operator=(const Pools&) = delete;
  // Keeps a pool open while the object exists.
  class Use {
   public:
    Use() = default;
    explicit Use(Slot* slot) : slot_(slot) {}
    Use(Use&& other) noexcept : slot_(other.slot_) { other.slot_ = nullptr; }
    Use& operator=(Use&&) = delete;
    ~Use() { Drop(); }
    void Drop() {
      if (slot_ != nullptr) slot_->users.fetch_sub(1, std::memory_order_release);
      slot_ = nullptr;
    }
    explicit operator bool() const { return slot_ != nullptr; }
    Pool* operator->() const { return slot_->pool; }
    Pool* get() const { return slot_->pool; }
    // Returns the pool's offloader; null if there is none, or if the pool's memory cannot move.
    Offloader* offloader() const { return slot_->pool->segments() ? nullptr : slot_->offloader; }
    // Returns idle memory of the offloader to the host, and the number of these bytes.
    uint64_t ReleaseHost() const {
      return offloader() == nullptr ? 0 : offloader()->ReleaseHost(0);
    }
    // Returns memory of the offloader to the host that was idle for the time of --decay.
    void DecayHost() const {
      if (offloader() != nullptr) offloader()->DecayHost();
    }
    int16_t device() const { return slot_->device; }
    // Returns the number of this pool in the order in which the process opened its pools.
    uint32_t opening() const { return slot_->opening; }
    CUcontext context() const { return slot_->context.load(std::memory_order_relaxed); }

   private:
    friend class Pools;
    Slot* slot_ = nullptr;
  };

  // Returns the pool of the thread's current context, and opens it first if needed.
  Use ForCurrentContext();
  // Returns the pool that owns an address; empty for an address of the driver's own memory.
  Use Owning(uint64_t address);
  // Returns the pool with this number (0 ≤ number < count()), for callers that visit all pools.
  Use At(int number);
  int count() const { return count_.load(std::memory_order_acquire); }
  int NumberOf(const Use& use) const { return static_cast<int>(use.slot_ - slots_); }

  // --- Notifications -----------------------------------------------------------------------------
  void NotePrimary(CUcontext context, int device);
  // Called when the program has a context of the device. The device gets access to the pools of all
  // devices that it can reach.
  void DeviceUsed(int device);
  // Called after the driver has destroyed the context, or the device's primary context.
  void ContextGone(CUcontext context);
  void PrimaryContextGone(int device);
  // Returns the device's primary context, as far as the program's calls show it, or null.
  CUcontext PrimaryOf(int device) const {
    const bool known = device >= 0 && device < kMaxDevices;
    return known ? primaries_[device].load(std::memory_order_acquire) : nullptr;
  }
  // Closes the pools of contexts that ended without a hooked call. This costs one load, and a
  // driver call for each pool if the program has contexts that no hooked call made.
  void CloseEnded();
  // Notes that the current context's device may access memory of the context `peer`.
  void PeerEnabled(CUcontext peer, int by_device);

  const DeviceReach& reach() const { return reach_; }
  // Returns the device of a context that a hooked call made, else kNoDevice. Takes no lock.
  int KnownDeviceOf(CUcontext context) const;
  void StreamCreated(CUstream stream);
  // Called before the driver destroys the stream. StreamDestroyFailed is called if it fails.
  void StreamDestroyed(CUstream stream);
  void StreamDestroyFailed(CUstream stream);
  // Called before the driver begins a capture. CaptureEnded is called if it fails, or at the end.
  void CaptureBegins(CUstream stream);
  void CaptureEnded(CUstream stream);
  bool AnyCapture() const { return captures_.count() != 0; }

  // Notes that the process has, or had, memory that both host and device can access.
  void NoteSharedMemory() { shared_memory_.store(true, std::memory_order_relaxed); }
  // Returns why no pool was ever opened, as the end of a sentence; null if one was opened.
  const char* WhyNothingWasServed() const;
  // True if a free of this pool's memory has to wait for submitted work, as cuMemFree of the driver
  // does.
  bool FreesWait(const Use& use) const;
  // Forgets what belongs to the parent. Called by the only thread of a forked child.
  void AbandonAfterFork() VRAMSTOW_NO_LOCK_ANALYSIS;

 private:
  enum class State : uint8_t { kEmpty, kOpen, kClosing, kPlain, kLost };

  struct Slot {
    std::atomic<State> state{State::kEmpty};
    std::atomic<CUcontext> context{nullptr};
    std::atomic<uint32_t> users{0};
    std::atomic<uint64_t> context_number{0};  // UnseenContexts::NumberOf
    Pool* pool = nullptr;
    Offloader* offloader = nullptr;
    PoolDriver driver;
    ReclaimSource reclaim;
    int16_t device = 0;
    uint32_t opening = 0;
  };

  Slot* FindSlot(CUcontext context);
  static bool Enter(Slot* slot);
  void AnnounceStream(CUstream stream);
  void Open(CUcontext context);
  int DeviceOf(CUcontext context);
  bool HasEnded(const Slot& slot) const;
  bool IsDead(CUcontext context) const;
  void End(CUcontext context) VRAMSTOW_REQUIRES(mutex_);
  void OpenSlot(CUcontext context, int device, bool* opened) VRAMSTOW_EXCLUDES(mutex_);
  bool OpenPool(Slot* slot, CUcontext context, int device) VRAMSTOW_REQUIRES(mutex_);
  bool PrepareSlot(Slot* slot, CUcontext context, int device) VRAMSTOW_REQUIRES(mutex_);
  void BringUpToDate(Slot* slot, CUcontext context) VRAMSTOW_REQUIRES(mutex_);
  void GiveAccess(int owner, int by_device) VRAMSTOW_REQUIRES(mutex_);
  void IntroduceDevices() VRAMSTOW_REQUIRES(mutex_);
  void Close(Slot* slot) VRAMSTOW_REQUIRES(mutex_);
  void LogOnce(const char* why);
  void LogSegmentsOnce(bool asked_for);
  bool MovesByItself();
  static void OnRefusal(void* self, int32_t result);

  const Links links_;
  std::atomic<int> count_{0};  // slots that were ever used
  Slot slots_[kMaxPools] = {};
  FastMutex mutex_;
  Captures captures_;
  std::atomic<bool> has_captured_{false};  // true after the first capture; recorded as a fact
  // The streams that exist; used if the driver cannot record one event for a whole context.
  static constexpr int kMaxStreams = 512;
  struct LiveStream {
    CUstream stream;
    CUcontext context;
  };
  LiveStream streams_[kMaxStreams] VRAMSTOW_GUARDED_BY(mutex_) = {};
  int stream_count_ VRAMSTOW_GUARDED_BY(mutex_) = 0;
  uint32_t opened_ VRAMSTOW_GUARDED_BY(mutex_) = 0;  // pools opened so far
  std::atomic<CUcontext> primaries_[kMaxDevices] = {};
  uint64_t peers_[kMaxDevices] VRAMSTOW_GUARDED_BY(
      mutex_) = {};  // of each device's memory: one bit for each device
  DeviceReach reach_{links_.driver};
  std::atomic<bool> shared_memory_{false};
  std::atomic<bool> served_{false};  // a pool was opened at least once
  std::atomic<const char*> why_not_{nullptr};
  std::atomic<bool> logged_{false};
  std::atomic<bool> logged_version_{false};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_POOLS_H_
