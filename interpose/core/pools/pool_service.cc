#include "interpose/core/pools/pool_service.h"

#include <cstring>

#include "base/keep_errno.h"
#include "base/rounding.h"
#include "base/typed_event.h"
#include "interpose/core/pools/exports.h"
#include "interpose/core/pools/imports.h"
#include "interpose/core/pools/out_of_memory.h"
#include "interpose/core/pools/pool_settings.h"
#include "interpose/core/pools/pool_trace.h"
#include "interpose/core/pools/pools.h"
#include "interpose/core/pools/regions.h"
#include "interpose/core/record/free_bytes.h"
#include "interpose/core/record/launches.h"
#include "interpose/core/record/trace.h"
#include "interpose/core/runtime/driver.h"
#include "interpose/core/runtime/handle_kinds.h"
#include "interpose/core/runtime/kernel_arguments.h"
#include "interpose/core/runtime/process.h"
#include "tracer/capture/caller.h"

namespace vramstow {
namespace {

// Largest sizes of a two-dimensional allocation that the pool serves. Rows begin at multiples of
// the block granule, which equals the pitch alignment of GPUs. Larger requests go to the driver,
// which reports the error.
constexpr uint64_t kMaxPitch = (uint64_t{1} << 31) - kBlockBytes;
constexpr uint64_t kMaxRows = uint64_t{1} << 31;

template <typename T>
void Put(void* data, T value) {
  std::memcpy(data, &value, sizeof(T));  // NOLINT(bugprone-sizeof-expression): of pointers, too
}

// True for the errors that work on the GPU leaves in its context. Other errors of a wait say only
// that it was not possible.
bool IsFaultOfWork(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
      return true;
    default:
      return false;
  }
}

}  // namespace

uint64_t PoolService::Record(const CallSite& site, const Event& event) const {
  return links_.trace.RecordCall(site, event);
}

bool PoolService::WantsPlainDriver(const CallSite& site) const {
  const char* list = links_.process.options().plain;
  if (*list == '\0') return false;
  const CallerObject* caller = links_.callers.FindCaller(site.return_address);
  return caller != nullptr && IsListed(list, caller->path);
}

void PoolService::RecordRefusedFree(const CallSite& site, CUdeviceptr address) const {
  Event event;
  event.kind = EventKind::kFree;
  event.memory = MemoryKind::kDevice;
  event.address = address;
  const uint64_t sequence = Record(site, event);
  if (sequence == 0) return;
  Record(site, RefusalOf(event, sequence, CUDA_ERROR_INVALID_VALUE));
}

void PoolService::RecordOverLimit(const CallSite& site, const PooledRequest& request,
                                  int16_t device) const {
  Event event;
  event.kind = EventKind::kAllocate;
  event.memory = request.memory;
  event.device = device;
  event.size = request.size;
  event.requested = request.requested != 0 ? request.requested : request.size;
  event.result = CUDA_ERROR_OUT_OF_MEMORY;
  Record(site, event);
}

bool PoolService::FreeBlock(const CallSite& site, CUdeviceptr address, bool may_wait,
                            CUresult* result) const {
  if (address == 0) return false;
  links_.pools.CloseEnded();
  Pools::Use use = links_.pools.Owning(address);
  if (!use) return false;
  KeepErrno keep_errno;
  ScopedCallContext call(links_.trace, site);
  if (use->Free(address) != PoolError::kOk) {
    RecordRefusedFree(site, address);
    *result = CUDA_ERROR_INVALID_VALUE;
    return true;
  }
  *result = CUDA_SUCCESS;
  if (!may_wait || !links_.pools.FreesWait(use)) return true;
  // The driver's cuMemFree reports errors of the work that it waits for, too.
  const auto waited = static_cast<CUresult>(use->Synchronize());
  if (IsFaultOfWork(waited)) *result = waited;
  return true;
}

PoolAnswer PoolService::Allocate(const CallSite& site, const PooledRequest& request,
                                 CUdeviceptr* address) const {
  if (address == nullptr || request.size == 0 || WantsPlainDriver(site)) {
    return PoolAnswer::kAskDriver;
  }
  Pools::Use use = links_.pools.ForCurrentContext();
  if (!use) return PoolAnswer::kAskDriver;
  KeepErrno keep_errno;
  links_.free_bytes.Describe(use.device());
  ScopedCallContext call(links_.trace, site, request.memory, request.requested);
  Block block;
  const PoolError error = use->Allocate({.size = request.size, .tag = Regions::Current()}, &block);
  if (error == PoolError::kOk) {
    *address = block.address;
    if (block.served != Served::kHit) {
      LogFailedCheck(use.get());
      links_.free_bytes.Sample(use.device());
    }
    return PoolAnswer::kServed;
  }
  LogFailedCheck(use.get());
  if (error != PoolError::kOutOfMemory) return PoolAnswer::kAskDriver;
  LogOutOfMemory(links_.trace, use);
  if (use->limit() != 0 || use->HasRoomLimit()) {
    // The driver might have memory, but it must not serve the request: the request exceeds the
    // pool's limit, or the memory belongs to processes that share the GPU (--share), and what the
    // driver serves cannot leave again.
    RecordOverLimit(site, request, use.device());
    return PoolAnswer::kOutOfMemory;
  }
  // The driver makes the last attempt to serve the request. If it fails, all pools of the device
  // release what they cache (ReleaseCached), also those of other contexts.
  use->Trim({});
  return PoolAnswer::kAskDriver;
}

bool PoolService::ReleaseCached(int16_t device, uint64_t wait_ns) const {
  KeepErrno keep_errno;
  if (device == kNoDevice) device = links_.driver.CurrentDevice();
  ScopedCallContext call;
  bool has_released = false;
  for (int i = 0; i < links_.pools.count(); ++i) {
    Pools::Use use = links_.pools.At(i);
    if (!use || (device != kEveryDevice && use.device() != device)) continue;
    has_released |= use->Trim({.wait_ns = wait_ns}).released_bytes != 0;
  }
  return has_released;
}

PoolAnswer PoolService::AllocatePitched(const CallSite& site, CUdeviceptr* address, size_t* pitch,
                                        const PitchedRequest& request) const {
  const bool known =
      request.element_size == 4 || request.element_size == 8 || request.element_size == 16;
  if (pitch == nullptr || !known || request.width == 0 || request.width > kMaxPitch ||
      request.height == 0 || request.height > kMaxRows) {
    return PoolAnswer::kAskDriver;
  }
  const uint64_t row = RoundUp(request.width, kBlockBytes);
  PooledRequest rows;
  rows.size = row * request.height;
  rows.requested = request.width * request.height;
  rows.memory = MemoryKind::kDevicePitched;
  const PoolAnswer answer = Allocate(site, rows, address);
  if (answer == PoolAnswer::kServed) *pitch = row;
  return answer;
}

bool PoolService::Free(const CallSite& site, CUdeviceptr address, CUresult* result) const {
  return FreeBlock(site, address, true, result);
}

bool PoolService::FreeAsync(const CallSite& site, CUdeviceptr address, CUresult* result) const {
  return FreeBlock(site, address, false, result);
}

void PoolService::AdjustMemoryInfo(uint64_t* free_bytes, uint64_t* total_bytes) const {
  KeepErrno keep_errno;
  Pools::Use use = links_.pools.ForCurrentContext();
  if (!use) return;
  // The pools of the device's other contexts release what they cache before the driver lacks
  // memory.
  for (int i = 0; i < links_.pools.count(); ++i) {
    Pools::Use other = links_.pools.At(i);
    if (!other || other.get() == use.get() || other.device() != use.device()) continue;
    *free_bytes += other->CachedBytes();
  }
  use->AdjustMemoryInfo(free_bytes, total_bytes);
}

bool PoolService::Owns(CUdeviceptr address) const {
  return static_cast<bool>(links_.pools.Owning(address));
}

bool PoolService::Find(CUdeviceptr address, PooledBlock* block) const {
  links_.pools.CloseEnded();
  Pools::Use use = links_.pools.Owning(address);
  if (!use) return false;
  KeepErrno keep_errno;
  BlockInfo info;
  *block = PooledBlock();
  if (use->Find(address, &info) != PoolError::kOk) return true;
  const bool can_share = links_.exports.reachable() && !use->segments();
  const uint64_t chunk = use->segments() ? 0 : use->chunk_bytes();
  *block = {info.address, info.requested, info.id, use.context(), use.device(), can_share, chunk};
  // The address lies behind the bytes that the program requested, in bytes that only rounding
  // added. With cuMemAlloc the driver would not know such an address either.
  if (address - info.address >= info.requested) *block = PooledBlock();
  return true;
}

bool PoolService::FindMapped(CUdeviceptr address, PooledBlock* block) const {
  if (!Find(address, block)) {
    ImportedBlock import;
    if (!links_.imports.FindBlock(address, &import)) return false;
    *block = {import.address, import.size, import.id, import.context, import.device};
    return true;
  }
  if (block->size != 0) return true;
  Pools::Use use = links_.pools.Owning(address);
  KeepErrno keep_errno;
  BlockInfo info;
  if (use && use->FindOfFramework(address, &info) == PoolError::kOk) {
    *block = {info.address, info.size, info.id, use.context(), use.device()};
  }
  return true;
}

bool PoolService::CanShare(const PooledBlock& block) const {
  if (!block.can_share) return false;
  Pools::Use use = links_.pools.Owning(block.address);
  return use && !use->HasLargeChunk(block.address, block.size);
}

// Answers as the driver does for memory of cuMemAlloc, wherever the bytes are. The driver itself
// might report a block on the host as host memory. The caller might then read the block on the host
// or refuse it.
bool PoolService::Attribute(const PooledBlock& block, CUdeviceptr address,
                            CUpointer_attribute attribute, void* data) const {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      Put(data, block.context);
      return true;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      Put<unsigned>(data, CU_MEMORYTYPE_DEVICE);
      return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      Put<CUdeviceptr>(data, address);
      return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      Put<int>(data, block.device);
      return true;
    case CU_POINTER_ATTRIBUTE_MAPPED:
      Put<unsigned>(data, 1);
      return true;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      Put<unsigned>(data, 0);
      return true;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      Put<unsigned long long>(data, block.id);
      return true;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      Put<CUdeviceptr>(data, block.address);
      return true;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      Put<size_t>(data, block.size);
      return true;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      // No handle types are allowed, as for memory of cuMemAlloc. A handle of a chunk would also
      // expose other blocks.
      Put<unsigned long long>(data, 0);
      return true;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      Put<unsigned>(data, CanShare(block) ? 1 : 0);
      return true;
    default:
      return false;
  }
}

// Finds the context and the device of the source or the destination of a copy. Returns false if the
// address is not in device memory.
bool PoolService::FindEnd(CUdeviceptr address, CopyEnd* end) const {
  if (address == 0) {
    *end = {links_.driver.CurrentContext(), links_.driver.CurrentDevice(), false};
    return end->context != nullptr;
  }
  if (Pools::Use use = links_.pools.Owning(address)) {
    *end = {use.context(), use.device(), !use->segments()};
    return true;
  }
  const auto ask = reinterpret_cast<decltype(&cuPointerGetAttribute)>(
      links_.driver.real(Hook::kcuPointerGetAttribute));
  if (ask == nullptr) return false;
  unsigned int type = 0;
  return ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) == CUDA_SUCCESS &&
         type == CU_MEMORYTYPE_DEVICE &&
         ask(&end->context, CU_POINTER_ATTRIBUTE_CONTEXT, address) == CUDA_SUCCESS &&
         ask(&end->device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) == CUDA_SUCCESS &&
         end->context != nullptr;
}

bool PoolService::SomeCardsApart() const { return links_.pools.reach().has_unreachable_peers(); }

bool PoolService::CopyNeedsContexts(CUdeviceptr to, CUdeviceptr from, CopyEnds* ends) const {
  if (!links_.pools.reach().has_unreachable_peers()) return false;
  KeepErrno keep_errno;
  CopyEnd first;
  CopyEnd second;
  if (!FindEnd(to, &first) || !FindEnd(from, &second)) return false;
  if (!first.pooled && !second.pooled) return false;
  if (!links_.pools.reach().CannotReach(first.device, second.device)) return false;
  *ends = {first.context, second.context};
  return true;
}

bool PoolService::IsOutOfReach(CUdeviceptr address, CUstream stream, OutOfReach* block) const {
  if (address == 0 || !links_.pools.reach().has_unreachable_peers()) return false;
  Pools::Use use = links_.pools.Owning(address);
  if (!use || use->segments()) return false;
  const KeepErrno keep_errno;
  const CUcontext current = links_.driver.CurrentContext();
  CUcontext callers = current;
  const bool is_default =
      stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
  auto* const context_of = links_.driver.cuStreamGetCtx();
  if (!is_default && (context_of == nullptr || context_of(stream, &callers) != CUDA_SUCCESS)) {
    return false;
  }
  if (callers == nullptr) return false;
  *block = {use.context(), callers};
  const int device =
      callers == current ? links_.driver.CurrentDevice() : links_.pools.KnownDeviceOf(callers);
  return links_.pools.reach().CannotReach(device, use.device());
}

bool PoolService::HoldInPlace(CUdeviceptr address, uint64_t size) const {
  Pools::Use use = links_.pools.Owning(address);
  if (!use || use.offloader() == nullptr) return true;
  KeepErrno keep_errno;
  return use->pages()->PinInPlace(address, size);
}

void PoolService::KeepChunks(CUdeviceptr address, uint64_t size) const {
  Pools::Use use = links_.pools.Owning(address);
  if (!use) return;
  KeepErrno keep_errno;
  use->RegisterChunks(address, size);
}

CUresult PoolService::Export(CUdeviceptr address, CUipcMemHandle* handle) const {
  KeepErrno keep_errno;
  ScopedCallContext call;
  return links_.exports.MakeHandle(address, handle);
}

CUresult PoolService::OpenHandle(const CallSite& site, CUdeviceptr* address,
                                 const CUipcMemHandle& handle, unsigned int flags) const {
  KeepErrno keep_errno;
  ScopedCallContext call(links_.trace, site);
  Event event;
  event.kind = EventKind::kImport;
  event.memory = MemoryKind::kDevice;
  event.result = (flags & ~unsigned{CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS}) == 0
                     ? links_.imports.Open(handle, address, &event.size)
                     : CUDA_ERROR_INVALID_VALUE;
  if (event.result == CUDA_SUCCESS) {
    event.address = *address;
    event.device = links_.driver.CurrentDevice();
  }
  Record(site, event);
  return static_cast<CUresult>(event.result);
}

bool PoolService::CloseHandle(const CallSite& site, CUdeviceptr address, CUresult* result) const {
  KeepErrno keep_errno;
  ScopedCallContext call(links_.trace, site);
  if (!links_.imports.Close(address, result)) return false;
  if (*result != CUDA_SUCCESS) return true;
  Event event;
  event.kind = EventKind::kCloseImport;
  event.memory = MemoryKind::kDevice;
  event.address = address;
  Record(site, event);
  return true;
}

// --- Notifications for the pools ----------------------------------------------------------------

void PoolService::CloseEnded() const { links_.pools.CloseEnded(); }

void PoolService::PrimaryRetained(CUcontext context, int device) const {
  links_.pools.NotePrimary(context, device);
}

void PoolService::DeviceUsed(int device) const { links_.pools.DeviceUsed(device); }

void PoolService::ContextGone(CUcontext context) const {
  FunctionsGone();
  links_.handle_kinds.ForgetFunctions();
  links_.pools.ContextGone(context);
  links_.imports.ContextGone(context);
}

void PoolService::PrimaryContextGone(int device) const {
  FunctionsGone();
  links_.handle_kinds.ForgetFunctions();
  const CUcontext context = links_.pools.PrimaryOf(device);
  links_.pools.PrimaryContextGone(device);
  links_.imports.ContextGone(context);
}

CUcontext PoolService::PrimaryOf(int device) const { return links_.pools.PrimaryOf(device); }

void PoolService::PeerEnabled(CUcontext peer, int by_device) const {
  links_.pools.PeerEnabled(peer, by_device);
}

void PoolService::StreamCreated(CUstream stream) const { links_.pools.StreamCreated(stream); }
void PoolService::StreamDestroyed(CUstream stream) const { links_.pools.StreamDestroyed(stream); }
void PoolService::StreamDestroyFailed(CUstream stream) const {
  links_.pools.StreamDestroyFailed(stream);
}
void PoolService::CaptureBegins(CUstream stream) const {
  links_.offloading.PrepareCapture();
  // No capture begins while memory of this process is on the host for others (--share). The pool
  // counts the capture before this thread looks at the gate, and the thread that closes the gate
  // looks at the count afterwards, so one of the two threads sees what the other one did.
  TurnGate& turns = links_.offloaders.turns();
  for (;;) {
    if (turns.is_closed()) turns.Wait();
    links_.pools.CaptureBegins(stream);
    if (!turns.is_closed()) break;
    links_.pools.CaptureEnded(stream);
  }
}
void PoolService::CaptureEnded(CUstream stream) const { links_.pools.CaptureEnded(stream); }
void PoolService::SharedMemoryMade() const { links_.pools.NoteSharedMemory(); }
void PoolService::FunctionsGone() const {
  links_.kernel_arguments.Forget();
  links_.launches.ForgetFunctions();
}

}  // namespace vramstow
