// Implements the part of Pools that follows the lifetime of contexts, streams and captures.
#include <time.h>

#include "base/keep_errno.h"
#include "interpose/core/pools/live_streams.h"
#include "interpose/core/pools/pool_trace.h"
#include "interpose/core/pools/pools.h"
#include "interpose/core/record/trace.h"
#include "interpose/core/runtime/contexts.h"
#include "interpose/core/runtime/driver.h"
#include "interpose/core/runtime/log.h"
#include "interpose/core/runtime/process.h"
#include "interpose/core/runtime/settings.h"
#include "interpose/core/runtime/this_thread.h"
#include "interpose/core/runtime/unseen_contexts.h"

namespace vramstow {
namespace {

// Returns a number for the stream that is captured. The handle of a thread's own default stream is
// the same in all threads, so an address of the thread takes its place.
uint64_t NameOfCaptured(CUstream stream) {
  return stream == CU_STREAM_PER_THREAD ? reinterpret_cast<uint64_t>(ThisThread()) | 1
                                        : reinterpret_cast<uint64_t>(stream);
}

}  // namespace

// --- Contexts -----------------------------------------------------------------------------------

void Pools::NotePrimary(CUcontext context, int device) {
  if (device < 0 || device >= kMaxDevices) return;
  primaries_[device].store(context, std::memory_order_release);
}

// Closes a pool and releases its memory, which outlives the context and which no work can use now.
void Pools::Close(Slot* slot) {
  KeepErrno keep_errno;
  if (slot->state.load() == State::kPlain) {
    slot->context.store(nullptr, std::memory_order_release);
    slot->state.store(State::kEmpty, std::memory_order_release);
    return;
  }
  slot->state.store(State::kClosing, std::memory_order_seq_cst);
  constexpr int kMaxWaits = 2000;
  for (int i = 0; i < kMaxWaits && slot->users.load(std::memory_order_seq_cst) != 0; ++i) {
    const timespec wait = {0, 1000000};
    nanosleep(&wait, nullptr);
  }
  slot->context.store(nullptr, std::memory_order_release);
  if (slot->users.load(std::memory_order_seq_cst) != 0) {
    // Another thread still uses the pool, perhaps for ever. So the pool's memory is not released
    // until the process ends.
    slot->state.store(State::kLost, std::memory_order_release);
    Log("a context was destroyed while another thread was allocating in it; its memory stays "
        "reserved until the process ends.");
    return;
  }
  ScopedCallContext call;
  ForgetContext(slot->driver);
  if (slot->offloader != nullptr && !slot->pool->segments()) slot->offloader->Close(true);
  slot->pool->Close(PoolEnd::kContextGone);
  slot->state.store(State::kEmpty, std::memory_order_release);
}

bool Pools::HasEnded(const Slot& slot) const {
  const State state = slot.state.load(std::memory_order_acquire);
  const CUcontext context = slot.context.load(std::memory_order_acquire);
  if ((state != State::kOpen && state != State::kPlain) || context == nullptr) return false;
  return !links_.unseen_contexts.Lives(context,
                                       slot.context_number.load(std::memory_order_relaxed));
}

void Pools::CloseEnded() {
  if (!links_.unseen_contexts.any()) [[likely]] {
    return;
  }
  for (int i = 0; i < count(); ++i) {
    if (!HasEnded(slots_[i])) continue;
    links_.on_unseen_end();
    MutexLock lock(&mutex_);
    // Another thread may have closed that pool and opened another one here, so check again.
    if (HasEnded(slots_[i])) End(slots_[i].context.load(std::memory_order_relaxed));
  }
}

void Pools::ContextGone(CUcontext context) {
  if (context == nullptr) return;
  MutexLock lock(&mutex_);
  End(context);
}

void Pools::End(CUcontext context) {
  links_.live_streams.ContextGone(context);
  const int captures = captures_.EndAll(context);
  for (int i = 0; i < kMaxPools; ++i) {
    Use use = At(i);
    if (!use) continue;
    for (int ended = 0; ended < captures; ++ended) use->CaptureEnds();
  }
  int kept = 0;
  for (int i = 0; i < stream_count_; ++i) {
    if (streams_[i].context != context) streams_[kept++] = streams_[i];
  }
  stream_count_ = kept;
  Slot* slot = FindSlot(context);
  if (slot != nullptr) Close(slot);
}

void Pools::PrimaryContextGone(int device) {
  if (device < 0 || device >= kMaxDevices) return;
  ContextGone(primaries_[device].exchange(nullptr, std::memory_order_acq_rel));
}

void Pools::PeerEnabled(CUcontext peer, int by_device) {
  const int owner = DeviceOf(peer);
  if (owner < 0 || owner >= kMaxDevices || by_device < 0 || by_device >= kMaxDevices) return;
  KeepErrno keep_errno;
  MutexLock lock(&mutex_);
  GiveAccess(owner, by_device);
}

void Pools::DeviceUsed(int device) {
  if (!reach_.NoteUsed(device)) return;
  KeepErrno keep_errno;
  MutexLock lock(&mutex_);
  IntroduceDevices();
}

// Gives the devices that the program uses access to the pools of the devices that they can reach. A
// device without a context gets none, so it pays nothing for the pool's mappings. If contexts may
// appear without a hooked call, every device may have one.
void Pools::IntroduceDevices() {
  const uint64_t devices = reach_.UsedDevices(links_.unseen_contexts.any());
  for (int i = 0; i < kMaxPools; ++i) {
    Use use = At(i);
    if (!use) continue;
    const int owner = use.device();
    use.Drop();
    for (int device = 0; device < kMaxDevices; ++device) {
      const uint64_t given = peers_[owner] | uint64_t{1} << owner;
      if (((devices & ~given) >> device & 1) == 0) continue;
      if (reach_.CanAccess(device, owner)) GiveAccess(owner, device);
    }
  }
}

void Pools::GiveAccess(int owner, int by_device) {
  if ((peers_[owner] >> by_device & 1) != 0) return;
  peers_[owner] |= uint64_t{1} << by_device;
  for (int i = 0; i < kMaxPools; ++i) {
    Use use = At(i);
    if (!use || use.device() != owner) continue;
    AddPeer(slots_[i].driver, by_device);
    if (use->RenewAccess() != kDriverSuccess) {
      Log("device %d did not get access to the pool of device %d.", by_device, owner);
    }
  }
}

// --- Streams ------------------------------------------------------------------------------------

// The stream has just been made, so it is safe to ask the driver about it.
void Pools::StreamCreated(CUstream stream) {
  if (!WantsPool(links_.process.options())) return;
  KeepErrno keep_errno;
  auto* context_of = links_.driver.cuStreamGetCtx();
  CUcontext context = nullptr;
  if (context_of == nullptr || context_of(stream, &context) != CUDA_SUCCESS) context = nullptr;
  links_.live_streams.Made(reinterpret_cast<uint64_t>(stream), context);
  AnnounceStream(stream);
}

void Pools::StreamDestroyFailed(CUstream stream) {
  KeepErrno keep_errno;
  links_.live_streams.Stays(reinterpret_cast<uint64_t>(stream));
  AnnounceStream(stream);
}

void Pools::AnnounceStream(CUstream stream) {
  const Driver& driver = links_.driver;
  for (int i = 0; i < kMaxPools; ++i) {
    Use use = At(i);
    if (use) use->StreamCreated(reinterpret_cast<uint64_t>(stream));
  }
  // If the driver can record one event for the whole context, the pools need no list of streams.
  if (driver.cuCtxRecordEvent() != nullptr || driver.cuCtxGetCurrent() == nullptr) return;
  CUcontext context = nullptr;
  if (driver.cuCtxGetCurrent()(&context) != CUDA_SUCCESS) return;
  MutexLock lock(&mutex_);
  if (stream_count_ < kMaxStreams) streams_[stream_count_++] = {stream, context};
  for (int i = 0; i < kMaxPools; ++i) {
    Use use = At(i);
    if (use && use.context() == context) use->NoteStream(reinterpret_cast<uint64_t>(stream));
  }
}

void Pools::StreamDestroyed(CUstream stream) {
  CaptureEnded(stream);
  KeepErrno keep_errno;
  // The pools record the stream's last event while live_streams still counts the stream as alive.
  {
    MutexLock lock(&mutex_);
    for (int i = 0; i < stream_count_; ++i) {
      if (streams_[i].stream == stream) streams_[i] = streams_[--stream_count_];
    }
  }
  for (int i = 0; i < kMaxPools; ++i) {
    Use use = At(i);
    if (use) use->StreamDestroyed(reinterpret_cast<uint64_t>(stream));
  }
  links_.live_streams.Ends(reinterpret_cast<uint64_t>(stream));
}

void Pools::CaptureBegins(CUstream stream) {
  KeepErrno keep_errno;
  // The analysis decides by this fact whether memory may belong to captured graphs.
  if (!has_captured_.exchange(true, std::memory_order_relaxed)) {
    links_.trace.Describe("capture.streams", "1");
  }
  const CUcontext context = links_.driver.CurrentContext();
  MutexLock lock(&mutex_);
  if (!captures_.Begin(NameOfCaptured(stream), context)) return;
  for (int i = 0; i < kMaxPools; ++i) {
    Use use = At(i);
    if (use) use->CaptureBegins();
  }
}

void Pools::CaptureEnded(CUstream stream) {
  if (captures_.count() == 0) return;
  MutexLock lock(&mutex_);
  if (!captures_.End(NameOfCaptured(stream))) return;
  for (int i = 0; i < kMaxPools; ++i) {
    Use use = At(i);
    if (use) use->CaptureEnds();
  }
}

// --- Forks --------------------------------------------------------------------------------------

// Async-signal-safe. Forgets the pools, and neither uses nor releases what belongs to the parent.
void Pools::AbandonAfterFork() {
  mutex_.Reset();
  for (Slot& slot : slots_) {
    slot.state.store(State::kEmpty, std::memory_order_relaxed);
    slot.context.store(nullptr, std::memory_order_relaxed);
    slot.users.store(0, std::memory_order_relaxed);
    slot.pool = nullptr;
    slot.offloader = nullptr;
    slot.driver = PoolDriver();
  }
  for (std::atomic<CUcontext>& primary : primaries_) primary.store(nullptr);
  for (uint64_t& peers : peers_) peers = 0;
  reach_.AbandonAfterFork();
  captures_.Clear();
  has_captured_.store(false, std::memory_order_relaxed);
  links_.live_streams.Clear();
  stream_count_ = 0;
  shared_memory_.store(false, std::memory_order_relaxed);
}

}  // namespace vramstow
