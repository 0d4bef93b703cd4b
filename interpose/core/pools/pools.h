// Pools: the pools of this process, one for each context in which the program allocates.
//
// Idea: a pool is opened at the first allocation in its context, and closed when the context is
// gone. A caller holds a pool open by a Use while it works with it; closing waits for all Uses to
// end. The pool of an address is found by looking through the pools, of which there are as many as
// contexts.
//
// Ownership: static storage; pools lie in pages of their own that are kept for the next context.
// Threads: any. A Use costs two atomic additions. Pools are opened and closed under a lock, which
// is never held while a pool waits for work. Errors: an empty Use: then the plain driver serves.
// Why a pool could not be opened is logged once. Units: bytes.
//
// Lock: mutex_. Taken to open, to close, and to pass something on to all pools. Under it a pool's
// own locks are taken and the driver is called.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_POOLS_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_POOLS_H_

#include <atomic>
#include <cstdint>

#include "allocator/offload/offloader.h"
#include "allocator/pool/pool.h"
#include "base/thread_annotations.h"
#include "interpose/core/pools/captures.h"
#include "interpose/core/pools/pool_driver.h"
#include "interpose/core/runtime/core.h"
#include "interpose/core/runtime/cuda_abi.h"

namespace vramstow {

class LiveStreams;

class Pools {
  struct Slot;

 public:
  static constexpr int kMaxPools = 64;
  static constexpr int kMaxDevices = 64;

  // What the pools need of others. `on_opened` is called, without a lock, after a pool was opened.
  struct Links {
    const Process& process;
    const Driver& driver;
    const Contexts& contexts;
    UnseenContexts& unseen_contexts;
    LiveStreams& live_streams;
    Trace& trace;
    PoolTrace& pool_trace;
    Offloaders& offloaders;
    ApplicationHooks& hooks;
    void (*on_opened)();
    void (*on_unseen_end)();  // a context ended, and no hooked call said so
    Collection collection;
  };

  constexpr explicit Pools(const Links& links) : links_(links) {}
  Pools(const Pools&) = delete;
  Pools& operator=(const Pools&) = delete;

  // A pool that is held open.
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
    // What moves its memory to the host; null: nothing does, or what the pool holds cannot move.
    Offloader* offloader() const { return slot_->pool->segments() ? nullptr : slot_->offloader; }
    // Gives host memory back that held paused or offloaded memory. Returns how many bytes went.
    uint64_t ReleaseHost() const {
      return offloader() == nullptr ? 0 : offloader()->ReleaseHost(0);
    }
    // The same of what was of no use for the time of --decay.
    void DecayHost() const {
      if (offloader() != nullptr) offloader()->DecayHost();
    }
    int16_t device() const { return slot_->device; }
    // Which of the pools of this process, in the order of their opening.
    uint32_t opening() const { return slot_->opening; }
    CUcontext context() const { return slot_->context.load(std::memory_order_relaxed); }

   private:
    friend class Pools;
    Slot* slot_ = nullptr;
  };

  // The pool of the thread's current context, opened now if need be.
  Use ForCurrentContext();
  // The pool that an address belongs to, in a block or not. For addresses of the driver's own this
  // is a few comparisons.
  Use Owning(uint64_t address);
  // Pool number 0, 1, … < count(), for callers that visit all pools.
  Use At(int number);
  int count() const { return count_.load(std::memory_order_acquire); }
  int NumberOf(const Use& use) const { return static_cast<int>(use.slot_ - slots_); }

  // --- What the pools have to know ---------------------------------------------------------------
  void NotePrimary(CUcontext context, int device);
  // The driver has destroyed the context, or the device's primary one.
  void ContextGone(CUcontext context);
  void PrimaryContextGone(int device);
  // Closes the pools whose contexts ended past every hook. Costs a load unless contexts come and go
  // so; then a question to the driver for each pool.
  void CloseEnded();
  // The current context's device may reach memory of the context `peer`.
  void PeerEnabled(CUcontext peer, int by_device);

  // Whether some card of the machine cannot reach the memory of some pool; and whether these two
  // cards cannot reach one another.
  bool has_unreachable_peers() const {
    return has_unreachable_peers_.load(std::memory_order_relaxed);
  }
  bool CannotReach(int device, int other) const;

  void StreamCreated(CUstream stream);
  // Before the driver is asked to; afterwards StreamDestroyFailed if it did not.
  void StreamDestroyed(CUstream stream);
  void StreamDestroyFailed(CUstream stream);
  // Called before the driver begins a capture; if it does not begin, CaptureEnded follows.
  void CaptureBegins(CUstream stream);
  void CaptureEnded(CUstream stream);
  bool AnyCapture() const { return captures_.count() != 0; }

  // The process has, or had, memory that host and device both reach.
  void NoteSharedMemory() { shared_memory_.store(true, std::memory_order_relaxed); }
  // Why no pool was ever opened, in words that follow "the pool served nothing: "; null: one was.
  const char* WhyNothingWasServed() const;
  // Whether a free has to wait, as the driver's does.
  bool FreesWait() const;

  // In a forked child, whose only thread this is: pools, addresses and captures are the parent's.
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
    int16_t device = 0;
    uint32_t opening = 0;
  };

  Slot* FindSlot(CUcontext context);
  static bool Enter(Slot* slot);
  void TellStreamBegins(CUstream stream);
  void Open(CUcontext context);
  int DeviceOf(CUcontext context);
  bool HasEnded(const Slot& slot) const;
  void End(CUcontext context) VRAMSTOW_REQUIRES(mutex_);
  void OpenSlot(CUcontext context, int device, bool* opened) VRAMSTOW_EXCLUDES(mutex_);
  bool OpenPool(Slot* slot, CUcontext context, int device) VRAMSTOW_REQUIRES(mutex_);
  bool PrepareSlot(Slot* slot, CUcontext context, int device) VRAMSTOW_REQUIRES(mutex_);
  void BringUpToDate(Slot* slot, CUcontext context) VRAMSTOW_REQUIRES(mutex_);
  void GiveAccess(int owner, int by_device) VRAMSTOW_REQUIRES(mutex_);
  void IntroducePeers(int device) VRAMSTOW_REQUIRES(mutex_);
  void LookForApart(int device);
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
  std::atomic<bool> has_captured_{false};  // at least once; the trace has it as a fact
  // The streams that exist, for drivers that have no event for a whole context.
  static constexpr int kMaxStreams = 512;
  struct LiveStream {
    CUstream stream;
    CUcontext context;
  };
  LiveStream streams_[kMaxStreams] VRAMSTOW_GUARDED_BY(mutex_) = {};
  int stream_count_ VRAMSTOW_GUARDED_BY(mutex_) = 0;
  uint32_t opened_ VRAMSTOW_GUARDED_BY(mutex_) = 0;  // pools, ever
  std::atomic<CUcontext> primaries_[kMaxDevices] = {};
  uint64_t peers_[kMaxDevices] VRAMSTOW_GUARDED_BY(
      mutex_) = {};  // of each device's memory: one bit for each device
  // By device: one bit for each device that it cannot reach.
  std::atomic<uint64_t> apart_[kMaxDevices] = {};
  std::atomic<bool> has_unreachable_peers_{false};
  std::atomic<bool> shared_memory_{false};
  std::atomic<bool> served_{false};  // a pool was opened, ever
  std::atomic<const char*> why_not_{nullptr};
  std::atomic<bool> logged_{false};
  std::atomic<bool> logged_version_{false};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_POOLS_H_
