#include "interpose/core/pools/pools.h"

#include <new>

#include "allocator/core/host_memory.h"
#include "base/keep_errno.h"
#include "interpose/core/pools/application.h"
#include "interpose/core/pools/offloaders.h"
#include "interpose/core/pools/pool_settings.h"
#include "interpose/core/pools/pool_trace.h"
#include "interpose/core/pools/room_request.h"
#include "interpose/core/record/trace.h"
#include "interpose/core/runtime/contexts.h"
#include "interpose/core/runtime/driver.h"
#include "interpose/core/runtime/log.h"
#include "interpose/core/runtime/process.h"
#include "interpose/core/runtime/settings.h"
#include "interpose/core/runtime/unseen_contexts.h"

namespace vramstow {
namespace {

// True if work on the device may access any memory of the host.
bool ReachesHost(const Driver& driver, int device) {
  auto* const ask = driver.cuDeviceGetAttribute();
  int reaches = 0;
  return ask != nullptr &&
         ask(&reaches, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, device) == CUDA_SUCCESS &&
         reaches != 0;
}

}  // namespace

// --- Finding a pool -----------------------------------------------------------------------------

// Enter counts the user before it reads the state; Close sets the state before it reads the count.
bool Pools::Enter(Slot* slot) {
  slot->users.fetch_add(1, std::memory_order_seq_cst);
  if (slot->state.load(std::memory_order_seq_cst) == State::kOpen) return true;
  slot->users.fetch_sub(1, std::memory_order_release);
  return false;
}

Pools::Slot* Pools::FindSlot(CUcontext context) {
  const int count = count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    Slot& slot = slots_[i];
    if (slot.context.load(std::memory_order_acquire) != context) continue;
    const State state = slot.state.load(std::memory_order_acquire);
    if (state == State::kOpen || state == State::kPlain) return &slot;
  }
  return nullptr;
}

Pools::Use Pools::ForCurrentContext() {
  if (!WantsPool(links_.process.options())) return Use();
  KeepErrno keep_errno;
  const CUcontext context = links_.driver.CurrentContext();
  if (context == nullptr) return Use();
  CloseEnded();
  Slot* slot = FindSlot(context);
  if (slot == nullptr) {
    Open(context);
    slot = FindSlot(context);
  }
  if (slot == nullptr || !Enter(slot)) return Use();
  // The slot may have been given to another context between the two loads.
  Use use(slot);
  if (slot->context.load(std::memory_order_acquire) != context) use.Drop();
  return use;
}

Pools::Use Pools::Owning(uint64_t address) {
  const int count = count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    Slot& slot = slots_[i];
    if (slot.state.load(std::memory_order_acquire) != State::kOpen || !Enter(&slot)) continue;
    Use use(&slot);
    if (use->Owns(address)) return use;
  }
  return Use();
}

Pools::Use Pools::At(int number) {
  if (number < 0 || number >= count_.load(std::memory_order_acquire)) return Use();
  Slot& slot = slots_[number];
  return Enter(&slot) ? Use(&slot) : Use();
}

// A program can notice in many ways whether cuMemFree has waited: it reads memory that work wrote
// to, asks an event or a stream about its work, or uses what a function on the host has done. A
// framework that allocates from the pool frees its tensors by other calls, and the few calls of
// cuMemFree in its process come from libraries that do not count on the wait. So there a free waits
// only if the process has memory that the host can read directly.
bool Pools::FreesWait(const Use& use) const {
  switch (FreeWaitsOf(links_.process.options())) {
    case FreeWaits::kAlways:
      return true;
    case FreeWaits::kNever:
      return false;
    case FreeWaits::kAuto:
      break;
  }
  return !use->serves_framework() || shared_memory_.load(std::memory_order_relaxed);
}

// --- Opening a pool -----------------------------------------------------------------------------

const char* Pools::WhyNothingWasServed() const {
  if (served_.load(std::memory_order_relaxed)) return nullptr;
  const char* why = why_not_.load(std::memory_order_relaxed);
  return why != nullptr ? why : "the program requested no memory that a pool can serve";
}

void Pools::LogOnce(const char* why) {
  why_not_.store(why, std::memory_order_relaxed);
  if (logged_.exchange(true, std::memory_order_relaxed)) return;
  Log("cuMemAlloc is served by the driver, not by the pool: %s.", why);
}

// Returns a context's device, also if no hooked call made the context but it is a primary one.
int Pools::DeviceOf(CUcontext context) {
  const int known = links_.contexts.DeviceOf(context);
  if (known != kNoDevice && !links_.contexts.HasEnded(context)) return known;
  const int device = links_.unseen_contexts.Recognise(context);
  if (device < 0 || device >= kMaxDevices) return kNoDevice;
  // A device has only one primary context, so an earlier one has ended without a hooked call.
  const CUcontext before = primaries_[device].exchange(context, std::memory_order_acq_rel);
  if (before != nullptr && before != context) {
    links_.on_unseen_end();
    ContextGone(before);
  }
  return device;
}

int Pools::KnownDeviceOf(CUcontext context) const { return links_.contexts.DeviceOf(context); }

// True for a context that has ended but is still current in this thread. A driver since CUDA 12.0
// tells the number of a context that lives, also if no hooked call made it.
bool Pools::IsDead(CUcontext context) const {
  const uint64_t number = links_.unseen_contexts.NumberOf(context);
  return number == 0 &&
         (links_.contexts.HasEnded(context) || !links_.unseen_contexts.Lives(context, number));
}

void Pools::Open(CUcontext context) {
  if (IsDead(context)) return;
  const int device = DeviceOf(context);
  if (device < 0 || device >= kMaxDevices) {
    LogOnce("vramstow saw no creation of this context, which is not a device's primary context");
    return;
  }
  links_.trace.Open();
  bool opened = false;
  OpenSlot(context, device, &opened);
  if (opened) links_.on_opened();
}

void Pools::OpenSlot(CUcontext context, int device, bool* opened) {
  MutexLock lock(&mutex_);
  if (FindSlot(context) != nullptr) return;
  const int count = count_.load(std::memory_order_relaxed);
  int place = 0;
  while (place < count && (slots_[place].state.load() != State::kEmpty)) ++place;
  if (place == kMaxPools) return;
  Slot& slot = slots_[place];
  slot.device = static_cast<int16_t>(device);
  const State state = OpenPool(&slot, context, device) ? State::kOpen : State::kPlain;
  *opened = state == State::kOpen;
  if (*opened) served_.store(true, std::memory_order_relaxed);
  if (*opened) reach_.LookForApart(device);
  // Work on such a device may write to any host memory, which the program may read after a free.
  if (ReachesHost(links_.driver, device)) NoteSharedMemory();
  slot.context_number.store(links_.unseen_contexts.NumberOf(context), std::memory_order_relaxed);
  slot.context.store(context, std::memory_order_release);
  slot.state.store(state, std::memory_order_seq_cst);
  if (place == count) count_.store(count + 1, std::memory_order_release);
  reach_.NoteUsed(device);
  IntroduceDevices();
}

// Logs that a feature which the user asked for is not available with the plain driver's memory.
void Pools::LogSegmentsOnce(bool asked_for) {
  const bool offload = links_.offloaders.wanted();
  if ((asked_for && !offload) || logged_.exchange(true, std::memory_order_relaxed)) return;
  Log("the pool uses memory of cuMemAlloc, which cannot be stitched%s: %s.",
      offload ? " or moved to the host" : "",
      asked_for ? "--backing=malloc was given" : "the device has no virtual memory management");
}

// True if memory may be moved without a request of the program. It is false if the driver is newer
// than the table of hooks: a function that submits work and is missing there would not wait while
// memory moves. A driver before CUDA 12.4 does not describe kernel arguments, so it is unknown
// which memory kernels use; then the result is true, and a warning is logged once.
bool Pools::MovesByItself() {
  if (!links_.offloaders.automatic()) return false;
  constexpr int kDescribesArguments = 12040;
  const int version = links_.driver.CudaVersion();
  const bool newer = version > kKnownCudaVersion;
  if (!newer && version >= kDescribesArguments) return true;
  if (logged_version_.exchange(true, std::memory_order_relaxed)) return !newer;
  if (newer) {
    Log("--offload=auto moves no memory by itself: the driver belongs to CUDA %d.%d, and this "
        "version of vramstow knows all calls that submit work only up to CUDA %d.%d. Use a newer "
        "version of vramstow, or --offload=explicit.",
        version / 1000, version % 1000 / 10, kKnownCudaVersion / 1000,
        kKnownCudaVersion % 1000 / 10);
  } else {
    Log("--offload=auto may move the wrong memory: the driver belongs to CUDA %d.%d, and drivers "
        "before CUDA 12.4 do not report which memory a kernel uses. The job runs, but memory that "
        "it needs may stay on the host. Use a newer driver, or --offload=explicit.",
        version / 1000, version % 1000 / 10);
  }
  return !newer;
}

// Logs once that the driver refused virtual memory. Called while a pool's lock is held.
void Pools::OnRefusal(void* self, int32_t result) {
  if (static_cast<Pools*>(self)->logged_.exchange(true, std::memory_order_relaxed)) return;
  Log("the pool uses memory of cuMemAlloc, which cannot be stitched: virtual memory management is "
      "refused (error %d).",
      result);
}

// Prepares the driver's table and the pool's memory, which all pools of the slot use in turn.
bool Pools::PrepareSlot(Slot* slot, CUcontext context, int device) {
  const char* missing = nullptr;
  const bool complete =
      slot->driver.driver == nullptr
          ? MakePoolDriver(links_.driver, device, context, &slot->driver, &missing)
          : RenewPoolDriver(links_.driver, slot->driver, device, context, &missing);
  if (!complete) {
    LogOnce(missing == nullptr ? "there is no memory for the pool's records"
                               : "the driver lacks functions that the pool needs");
    return false;
  }
  SetOtherContexts(slot->driver, &links_.contexts);
  SetStreamRecord(slot->driver, &links_.live_streams);
  for (int peer = 0; peer < kMaxDevices; ++peer) {
    if ((peers_[device] >> peer & 1) != 0) AddPeer(slot->driver, peer);
  }
  if (slot->pool == nullptr) {
    slot->pool = static_cast<Pool*>(AllocateHostMemory(sizeof(Pool)));
    if (slot->pool == nullptr) LogOnce("there is no memory for the pool's records");
  }
  return slot->pool != nullptr;
}

// Gives a new pool the state from before it was opened: the application's hook, captures, streams.
void Pools::BringUpToDate(Slot* slot, CUcontext context) {
  slot->pool->AddHook(ApplicationHooks::Call, &links_.hooks);
  for (int i = captures_.count(); i > 0; --i) slot->pool->CaptureBegins();
  for (int i = 0; i < stream_count_; ++i) {
    if (streams_[i].context == context) {
      slot->pool->NoteStream(reinterpret_cast<uint64_t>(streams_[i].stream));
    }
  }
}

bool Pools::OpenPool(Slot* slot, CUcontext context, int device) {
  if (!PrepareSlot(slot, context, device)) return false;
  new (slot->pool) Pool;
  DriverDevice about{};
  const DriverTable* table = slot->driver.table;
  const DriverResult described = table->describe(table->self, &about);
  const Options& options = links_.process.options();
  PoolConfig config = PoolConfigOf(options, about.total_bytes);
  config.sink = links_.pool_trace.Sink(options);
  const bool can_move = about.virtual_memory && config.backing != PoolBacking::kSegments;
  if (slot->offloader == nullptr && can_move) slot->offloader = links_.offloaders.Make();
  if (slot->offloader != nullptr && can_move) {
    ReclaimSource& reclaim = slot->reclaim;
    reclaim.offloader = MovesByItself() ? slot->offloader : nullptr;
    reclaim.room_request = WantsShare(options) ? links_.room_requests.OrNull(device) : nullptr;
    reclaim.Watch(slot->pool, device, &links_.trace);
    if (reclaim.any()) config.reclaim_callback = ReclaimSource::CallbackOf(&reclaim);
    config.backing = PoolBacking::kVirtual;  // only memory in chunks can be moved
  }
  config.refused = {OnRefusal, this};
  config.collection = links_.collection;
  config.id_space = slot->opening = ++opened_;
  if (described != kDriverSuccess || slot->pool->Open(table, config) != PoolError::kOk) {
    LogOnce(about.virtual_memory ? "the pool cannot work with this device"
                                 : "the device has no virtual memory management");
    return false;
  }
  if (slot->pool->segments()) LogSegmentsOnce(about.virtual_memory);
  if (slot->offloader != nullptr && can_move) {
    links_.offloaders.Open(slot->offloader, slot->pool);
  }
  BringUpToDate(slot, context);
  return true;
}

}  // namespace vramstow
