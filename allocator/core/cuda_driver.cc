#include "allocator/core/cuda_driver.h"

#include <bit>
#include <type_traits>

#include "base/monotonic_clock.h"

namespace vramstow {
namespace {

constexpr int kMaxPeers = 64;

CudaDriver* Self(void* self) { return static_cast<CudaDriver*>(self); }

bool IsGone(DriverResult result) {
  return result == CUDA_ERROR_CONTEXT_IS_DESTROYED || result == CUDA_ERROR_INVALID_CONTEXT;
}

// Removes one optional property from a memory request that the driver refused: first RDMA, then the
// exportable handle. Virtual GPUs and sandboxes support all of virtual memory except these two.
// Returns false if no optional property is left.
bool RemoveOneOptionalProperty(CUmemAllocationProp* properties) {
  if (properties->allocFlags.gpuDirectRDMACapable != 0) {
    properties->allocFlags.gpuDirectRDMACapable = 0;
    return true;
  }
  const bool exportable = properties->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE;
  properties->requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
  return exportable;
}

}  // namespace

class CudaDriver::Current {
 public:
  explicit Current(const CudaDriver* driver) : driver_(driver) {
    if (!driver_->context_gone_.load(std::memory_order_acquire)) Make(driver_->context_);
  }
  Current(const CudaDriver* driver, CUcontext context) : driver_(driver) { Make(context); }
  ~Current() {
    CUcontext popped = nullptr;
    if (pushed_) driver_->functions_.CtxPopCurrent(&popped);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

  bool ok() const { return result_ == CUDA_SUCCESS; }
  DriverResult result() const { return result_; }

 private:
  void Make(CUcontext context) {
    CUcontext now = nullptr;
    result_ = driver_->functions_.CtxGetCurrent(&now);
    if (result_ != CUDA_SUCCESS || now == context) return;
    result_ = driver_->functions_.CtxPushCurrent(context);
    pushed_ = result_ == CUDA_SUCCESS;
  }

  const CudaDriver* driver_;
  CUresult result_ = CUDA_SUCCESS;
  bool pushed_ = false;
};

bool CudaDriver::Look(Resolve resolve, void* resolve_context) {
  const auto look = [&](auto* function, const char* name, bool needed) {
    void* found = resolve(resolve_context, name);
    if (found == nullptr && needed && missing_ == nullptr) missing_ = name;
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(found);
  };
  look(&functions_.CtxGetCurrent, "cuCtxGetCurrent", true);
  look(&functions_.CtxPushCurrent, "cuCtxPushCurrent_v2", true);
  look(&functions_.CtxPopCurrent, "cuCtxPopCurrent_v2", true);
  look(&functions_.CtxSynchronize, "cuCtxSynchronize", true);
  look(&functions_.CtxRecordEvent, "cuCtxRecordEvent", false);
  look(&functions_.CtxWaitEvent, "cuCtxWaitEvent", false);
  look(&functions_.DeviceGetAttribute, "cuDeviceGetAttribute", true);
  look(&functions_.DeviceTotalMem, "cuDeviceTotalMem_v2", true);
  look(&functions_.MemGetInfo, "cuMemGetInfo_v2", true);
  look(&functions_.MemGetAllocationGranularity, "cuMemGetAllocationGranularity", false);
  look(&functions_.MemAddressReserve, "cuMemAddressReserve", false);
  look(&functions_.MemAddressFree, "cuMemAddressFree", false);
  look(&functions_.MemCreate, "cuMemCreate", false);
  look(&functions_.MemRelease, "cuMemRelease", false);
  look(&functions_.MemMap, "cuMemMap", false);
  look(&functions_.MemUnmap, "cuMemUnmap", false);
  look(&functions_.MemSetAccess, "cuMemSetAccess", false);
  look(&functions_.MemAlloc, "cuMemAlloc_v2", true);
  look(&functions_.MemFree, "cuMemFree_v2", true);
  look(&functions_.EventCreate, "cuEventCreate", true);
  look(&functions_.EventDestroy, "cuEventDestroy_v2", true);
  look(&functions_.EventRecord, "cuEventRecord", true);
  look(&functions_.EventQuery, "cuEventQuery", true);
  look(&functions_.StreamQuery, "cuStreamQuery", false);
  look(&functions_.ThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode", true);
  look(&functions_.MemcpyAsync, "cuMemcpyAsync", false);
  look(&functions_.MemHostAlloc, "cuMemHostAlloc", false);
  look(&functions_.MemFreeHost, "cuMemFreeHost", false);
  look(&functions_.StreamCreate, "cuStreamCreate", false);
  look(&functions_.StreamDestroy, "cuStreamDestroy_v2", false);
  look(&functions_.StreamSynchronize, "cuStreamSynchronize", false);
  look(&functions_.StreamWaitEvent, "cuStreamWaitEvent", false);
  return missing_ == nullptr;
}

bool CudaDriver::Attribute(CUdevice_attribute attribute) const {
  int value = 0;
  return functions_.DeviceGetAttribute(&value, attribute, device_) == CUDA_SUCCESS && value != 0;
}

// Drivers before CUDA 10.2 do not have these functions.
bool CudaDriver::HasVirtualMemory() const {
  return functions_.MemGetAllocationGranularity != nullptr &&
         functions_.MemAddressReserve != nullptr && functions_.MemAddressFree != nullptr &&
         functions_.MemCreate != nullptr && functions_.MemRelease != nullptr &&
         functions_.MemMap != nullptr && functions_.MemUnmap != nullptr &&
         functions_.MemSetAccess != nullptr &&
         Attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
}

bool CudaDriver::Open(Resolve resolve, void* resolve_context, CUdevice device, CUcontext context) {
  if (!Look(resolve, resolve_context)) return false;
  device_ = device;
  context_ = context;
  peers_.store(0, std::memory_order_relaxed);
  context_gone_.store(false, std::memory_order_release);
  exportable_ = Attribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
  rdma_ = Attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED);
  MakeLegacyFollower();
  table_.self = this;
  FillMemory();
  FillOffload();
  FillOrder();
  return true;
}

void CudaDriver::AddPeer(CUdevice peer) {
  if (peer < 0 || peer >= kMaxPeers || peer == device_) return;
  peers_.fetch_or(uint64_t{1} << peer, std::memory_order_release);
}

// Asks for memory that can be exported and used for RDMA if the device supports it. NCCL and IPC
// need these properties later, when they can no longer be changed.
CUmemAllocationProp CudaDriver::Properties() const {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device_;
  properties.requestedHandleTypes =
      exportable_ ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
  properties.allocFlags.gpuDirectRDMACapable = rdma_ ? 1 : 0;
  return properties;
}

// Uses the given properties for all later requests for memory.
void CudaDriver::Settle(const CUmemAllocationProp& properties) const {
  exportable_ = properties.requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE;
  rdma_ = properties.allocFlags.gpuDirectRDMACapable != 0;
}

// The first lines of every function of the table.
#define VRAMSTOW_CUDA_CALL()             \
  const CudaDriver* driver = Self(self); \
  const Current current(driver);         \
  if (!current.ok()) return current.result()

void CudaDriver::FillMemory() {
  table_.describe = [](void* self, DriverDevice* out) -> DriverResult {
    VRAMSTOW_CUDA_CALL();
    size_t total = 0;
    CUresult result = driver->functions_.DeviceTotalMem(&total, driver->device_);
    if (result != CUDA_SUCCESS) return result;
    const bool vmm = driver->HasVirtualMemory();
    size_t granularity = 0;
    if (vmm) {
      CUmemAllocationProp properties = driver->Properties();
      do {
        result = driver->functions_.MemGetAllocationGranularity(&granularity, &properties,
                                                                CU_MEM_ALLOC_GRANULARITY_MINIMUM);
      } while (IsRefusal(result) && RemoveOneOptionalProperty(&properties));
      if (result != CUDA_SUCCESS) return result;
    }
    const bool copies = vmm && driver->CanCopy();
    const bool host = copies && driver->host_.type != CU_MEM_LOCATION_TYPE_INVALID;
    *out = {total, granularity, static_cast<int16_t>(driver->device_), vmm, host, copies, true};
    return kDriverSuccess;
  };
  table_.memory_info = [](void* self, uint64_t* free, uint64_t* total) -> DriverResult {
    VRAMSTOW_CUDA_CALL();
    return driver->functions_.MemGetInfo(free, total);
  };
  table_.reserve = [](void* self, uint64_t size, uint64_t alignment,
                      uint64_t* out) -> DriverResult {
    VRAMSTOW_CUDA_CALL();
    CUdeviceptr address = 0;
    const CUresult result = driver->functions_.MemAddressReserve(&address, size, alignment, 0, 0);
    if (result == CUDA_SUCCESS) *out = address;
    return result;
  };
  table_.unreserve = [](void* self, uint64_t address, uint64_t size) -> DriverResult {
    VRAMSTOW_CUDA_CALL();
    return driver->functions_.MemAddressFree(address, size);
  };
  table_.create = [](void* self, uint64_t size, uint64_t* out) -> DriverResult {
    VRAMSTOW_CUDA_CALL();
    CUmemAllocationProp properties = driver->Properties();
    CUmemGenericAllocationHandle handle = 0;
    CUresult result = driver->functions_.MemCreate(&handle, size, &properties, 0);
    while (IsRefusal(result) && RemoveOneOptionalProperty(&properties)) {
      result = driver->functions_.MemCreate(&handle, size, &properties, 0);
      if (result == CUDA_SUCCESS) driver->Settle(properties);
    }
    if (result == CUDA_SUCCESS) *out = handle;
    return result;
  };
  table_.release = [](void* self, uint64_t handle) -> DriverResult {
    VRAMSTOW_CUDA_CALL();
    return driver->functions_.MemRelease(handle);
  };
  table_.map = [](void* self, uint64_t address, uint64_t size, uint64_t handle) -> DriverResult {
    VRAMSTOW_CUDA_CALL();
    return driver->functions_.MemMap(address, size, 0, handle, 0);
  };
  table_.unmap = [](void* self, uint64_t address, uint64_t size) -> DriverResult {
    VRAMSTOW_CUDA_CALL();
    return driver->functions_.MemUnmap(address, size);
  };
  table_.allocate = [](void* self, uint64_t size, uint64_t* out) -> DriverResult {
    VRAMSTOW_CUDA_CALL();
    CUdeviceptr address = 0;
    const CUresult result = driver->functions_.MemAlloc(&address, size);
    if (result == CUDA_SUCCESS) *out = address;
    return result;
  };
  table_.free = [](void* self, uint64_t address) -> DriverResult {
    VRAMSTOW_CUDA_CALL();
    return driver->functions_.MemFree(address);
  };
  table_.set_access = [](void* self, uint64_t address, uint64_t size) -> DriverResult {
    VRAMSTOW_CUDA_CALL();
    return driver->SetAccess(address, size, nullptr);
  };
  table_.set_host_access = [](void* self, uint64_t address, uint64_t size) -> DriverResult {
    VRAMSTOW_CUDA_CALL();
    // If access for the host is refused, ask for the device's access alone. The device can then
    // access the memory. An access by the CPU raises a fault, also if the driver uses the CPU to
    // copy.
    const CUresult result = driver->SetAccess(address, size, &driver->host_);
    return result == CUDA_SUCCESS ? result : driver->SetAccess(address, size, nullptr);
  };
}

// Gives access to the device, to its peers and, if `host` is not null, to the host.
CUresult CudaDriver::SetAccess(uint64_t address, uint64_t size, const CUmemLocation* host) const {
  CUmemAccessDesc access[kMaxPeers + 2] = {};
  size_t count = 0;
  const auto add = [&access, &count](const CUmemLocation& location) {
    access[count].location = location;
    access[count++].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  };
  const auto add_device = [&add](int device) {
    CUmemLocation location{};
    location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    location.id = device;
    add(location);
  };
  add_device(device_);
  uint64_t peers = peers_.load(std::memory_order_acquire);
  for (; peers != 0; peers &= peers - 1) add_device(std::countr_zero(peers));
  if (host != nullptr) add(*host);
  return functions_.MemSetAccess(address, size, access, count);
}

bool CudaDriver::CanCopy() const {
  return functions_.MemcpyAsync != nullptr && functions_.MemHostAlloc != nullptr &&
         functions_.MemFreeHost != nullptr && functions_.StreamCreate != nullptr &&
         functions_.StreamDestroy != nullptr && functions_.StreamSynchronize != nullptr;
}

// Older headers do not name these values, so they stand here as numbers.
void CudaDriver::SetHostMapping(const HostMapping& mapping) {
  constexpr auto kHost = static_cast<CUmemLocationType>(2);
  constexpr auto kNode = static_cast<CUmemLocationType>(3);
  host_ = {};
  if (mapping.place == HostPlace::kHost) host_.type = kHost;
  if (mapping.place != HostPlace::kNode) return;
  host_.type = kNode;
  host_.id = mapping.node;
}

CUresult CudaDriver::CreateHost(uint64_t size, CUmemGenericAllocationHandle* handle) const {
  if (host_.type == CU_MEM_LOCATION_TYPE_INVALID) return CUDA_ERROR_NOT_SUPPORTED;
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = host_;
  return functions_.MemCreate(handle, size, &properties, 0);
}

// Makes the stream or context to which wait(event) applies wait for the work that record(event)
// covers.
template <typename Records, typename Waits>
CUresult CudaDriver::Order(Records record, Waits wait) const {
  CUevent event = nullptr;
  CUresult result = functions_.EventCreate(&event, CU_EVENT_DISABLE_TIMING);
  if (result != CUDA_SUCCESS) return result;
  result = record(event);
  if (result == CUDA_SUCCESS) result = wait(event);
  functions_.EventDestroy(event);
  return result;
}

// Makes the stream wait for the work that was submitted to any stream of the context so far.
CUresult CudaDriver::WaitForContext(CUstream stream) const {
  return Order([&](CUevent event) { return functions_.CtxRecordEvent(context_, event); },
               [&](CUevent event) { return functions_.StreamWaitEvent(stream, event, 0); });
}

// Makes all streams of the context wait for the work that was submitted to the stream so far.
CUresult CudaDriver::MakeContextWait(CUstream stream) const {
  if (functions_.CtxWaitEvent == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  return Order([&](CUevent event) { return functions_.EventRecord(event, stream); },
               [&](CUevent event) { return functions_.CtxWaitEvent(context_, event); });
}

// Makes the stream wait for the work that was submitted to `previous` so far.
CUresult CudaDriver::WaitForStream(CUstream stream, CUstream previous) const {
  if (functions_.StreamWaitEvent == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  return Order([&](CUevent event) { return functions_.EventRecord(event, previous); },
               [&](CUevent event) { return functions_.StreamWaitEvent(stream, event, 0); });
}

template <typename Wait>
CUresult CudaDriver::StartCopies(const DriverCopy* copies, uint32_t count, Wait wait,
                                 uint64_t* job) const {
  CUstream stream = nullptr;
  CUresult result = functions_.StreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  if (result != CUDA_SUCCESS) return result;
  result = wait(stream);
  for (uint32_t i = 0; i < count && result == CUDA_SUCCESS; ++i) {
    result = functions_.MemcpyAsync(copies[i].to, copies[i].from, copies[i].size, stream);
  }
  *job = reinterpret_cast<uint64_t>(stream);
  if (result != CUDA_SUCCESS) {
    functions_.StreamSynchronize(stream);
    functions_.StreamDestroy(stream);
  }
  return result;
}

void CudaDriver::FillOffload() {
  table_.create_host = [](void* self, uint64_t size, uint64_t* out) -> DriverResult {
    VRAMSTOW_CUDA_CALL();
    CUmemGenericAllocationHandle handle = 0;
    const CUresult result = driver->CreateHost(size, &handle);
    if (result == CUDA_SUCCESS) *out = handle;
    return result;
  };
  table_.host_allocate = [](void* self, uint64_t size, uint64_t* out) -> DriverResult {
    VRAMSTOW_CUDA_CALL();
    void* memory = nullptr;
    const CUresult result =
        driver->functions_.MemHostAlloc(&memory, size, CU_MEMHOSTALLOC_PORTABLE);
    if (result == CUDA_SUCCESS) *out = reinterpret_cast<uint64_t>(memory);
    return result;
  };
  table_.host_free = [](void* self, uint64_t address) -> DriverResult {
    VRAMSTOW_CUDA_CALL();
    return driver->functions_.MemFreeHost(reinterpret_cast<void*>(address));
  };
  table_.copy_start = [](void* self, const DriverCopy* copies, uint32_t count,
                         uint64_t* job) -> DriverResult {
    VRAMSTOW_CUDA_CALL();
    return driver->StartCopies(
        copies, count, [](CUstream) { return CUDA_SUCCESS; }, job);
  };
  table_.copy_start_after = [](void* self, const DriverCopy* copies, uint32_t count,
                               uint64_t* job) -> DriverResult {
    VRAMSTOW_CUDA_CALL();
    const Functions& functions = driver->functions_;
    if (functions.CtxRecordEvent == nullptr || functions.StreamWaitEvent == nullptr) {
      return kDriverNotSupported;
    }
    const auto wait = [driver](CUstream stream) { return driver->WaitForContext(stream); };
    return driver->StartCopies(copies, count, wait, job);
  };
  table_.copy_start_behind = [](void* self, uint64_t previous, const DriverCopy* copies,
                                uint32_t count, uint64_t* job) -> DriverResult {
    VRAMSTOW_CUDA_CALL();
    const auto wait = [&](CUstream stream) {
      return driver->WaitForStream(stream, reinterpret_cast<CUstream>(previous));
    };
    return driver->StartCopies(copies, count, wait, job);
  };
  table_.copy_order = [](void* self, uint64_t job) -> DriverResult {
    if (Self(self)->AnyOthers()) return kDriverNotSupported;
    VRAMSTOW_CUDA_CALL();
    return driver->MakeContextWait(reinterpret_cast<CUstream>(job));
  };
  table_.copy_done = [](void* self, uint64_t job) -> bool {
    const CudaDriver* const driver = Self(self);
    const Current current(driver);
    const auto query = driver->functions_.StreamQuery;
    return current.ok() && query != nullptr &&
           query(reinterpret_cast<CUstream>(job)) != CUDA_ERROR_NOT_READY;
  };
  table_.copy_finish = [](void* self, uint64_t job) -> DriverResult {
    if (Self(self)->context_gone_.load()) return kDriverSuccess;  // so are its work and streams
    VRAMSTOW_CUDA_CALL();
    const auto stream = reinterpret_cast<CUstream>(job);
    const CUresult result = driver->functions_.StreamSynchronize(stream);
    driver->functions_.StreamDestroy(stream);
    return result;
  };
}

void CudaDriver::FillOrder() {
  table_.event_create = [](void* self, uint64_t* out) -> DriverResult {
    VRAMSTOW_CUDA_CALL();
    CUevent event = nullptr;
    const CUresult result = driver->functions_.EventCreate(&event, CU_EVENT_DISABLE_TIMING);
    if (result == CUDA_SUCCESS) *out = reinterpret_cast<uint64_t>(event);
    return result;
  };
  table_.event_destroy = [](void* self, uint64_t event) -> DriverResult {
    VRAMSTOW_CUDA_CALL();
    return driver->functions_.EventDestroy(reinterpret_cast<CUevent>(event));
  };
  table_.event_record = [](void* self, uint64_t event, uint64_t stream) -> DriverResult {
    VRAMSTOW_CUDA_CALL();
    return driver->Record(reinterpret_cast<CUevent>(event), reinterpret_cast<CUstream>(stream));
  };
  table_.event_record_all = [](void* self, uint64_t event) -> DriverResult {
    VRAMSTOW_CUDA_CALL();
    if (driver->functions_.CtxRecordEvent == nullptr) return kDriverNotSupported;
    return driver->functions_.CtxRecordEvent(driver->context_, reinterpret_cast<CUevent>(event));
  };
  table_.event_query = [](void* self, uint64_t event) -> DriverResult {
    VRAMSTOW_CUDA_CALL();
    return driver->functions_.EventQuery(reinterpret_cast<CUevent>(event));
  };
  table_.synchronize = [](void* self) -> DriverResult {
    VRAMSTOW_CUDA_CALL();
    return driver->functions_.CtxSynchronize();
  };
  table_.finish_others = [](void* self, uint64_t deadline_ns) -> DriverResult {
    return Self(self)->FinishOthers(deadline_ns);
  };
  table_.is_foreign = [](void* self, uint64_t stream) -> bool {
    return Self(self)->streams_.LivesElsewhere(stream, Self(self)->context_);
  };
  table_.relax_capture = [](void* self, int32_t* previous) -> DriverResult {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    const CUresult result = Self(self)->functions_.ThreadExchangeStreamCaptureMode(&mode);
    if (result == CUDA_SUCCESS) *previous = mode;
    return result;
  };
  table_.restore_capture = [](void* self, int32_t previous) -> DriverResult {
    auto mode = static_cast<CUstreamCaptureMode>(previous);
    return Self(self)->functions_.ThreadExchangeStreamCaptureMode(&mode);
  };
  table_.wait_clock = [](void*) -> uint64_t { return MonotonicTime(); };
  table_.now = [](void* self) -> uint64_t {
    const CardClock& clock = Self(self)->card_clock_;
    return clock.now == nullptr ? MonotonicTime() : clock.now(clock.of);
  };
  table_.pause = [](void* self, uint64_t nanoseconds) {
    const CardClock& clock = Self(self)->card_clock_;
    if (clock.pass != nullptr) return clock.pass(clock.of, nanoseconds);
    SleepFor(nanoseconds);
  };
}

#undef VRAMSTOW_CUDA_CALL

// --- Work of other contexts ----------------------------------------------------------------------

// If the driver cannot record an event for the whole context, a fence for all streams records one
// event on each stream. On the legacy stream such an event would be a barrier between all blocking
// streams. So it is recorded on this follower stream instead. The follower must exist before the
// work that it waits for, so it is created when the pool opens; it ends with the context.
void CudaDriver::MakeLegacyFollower() {
  legacy_follower_ = nullptr;
  if (functions_.CtxRecordEvent != nullptr || functions_.StreamCreate == nullptr) return;
  const Current current(this);
  if (!current.ok()) return;
  if (functions_.StreamCreate(&legacy_follower_, CU_STREAM_DEFAULT) != CUDA_SUCCESS) {
    legacy_follower_ = nullptr;
  }
}

// An event can be recorded only on a stream of its own context. It is undefined behaviour to pass
// the driver a destroyed stream, or a context that may be destroyed, so neither is passed.
DriverResult CudaDriver::Record(CUevent event, CUstream stream) const {
  const bool legacy = stream == nullptr || stream == CU_STREAM_LEGACY;
  if (legacy && legacy_follower_ != nullptr) {
    return functions_.EventRecord(event, legacy_follower_);
  }
  const void* made_in = nullptr;
  const StreamFate fate =
      streams_.find == nullptr
          ? StreamFate::kUnknown
          : streams_.find(streams_.record, reinterpret_cast<uint64_t>(stream), &made_in);
  if (fate == StreamFate::kGone) return kDriverInvalidHandle;
  const DriverResult result = functions_.EventRecord(event, stream);
  if (!IsStreamGone(result) || result == kDriverStreamDetached) return result;
  auto* const context = static_cast<CUcontext>(const_cast<void*>(made_in));
  if (context != nullptr && context != context_ && functions_.StreamWaitEvent != nullptr) {
    return RecordForeign(event, stream, context);
  }
  // No hook saw this stream's creation. The stream may belong to another context, and an event of
  // this context does not cover the work of another context.
  constexpr uint64_t kLastDefault = 2;  // names of default streams
  const bool unseen = fate == StreamFate::kUnknown && streams_.find != nullptr &&
                      reinterpret_cast<uint64_t>(stream) > kLastDefault;
  return unseen ? kDriverUnknown : result;
}

// Records an event for a stream of another context. A stream may wait for an event of another
// context, so a temporary stream of the pool's context waits for the foreign stream, and the event
// is recorded on the temporary stream.
DriverResult CudaDriver::RecordForeign(CUevent event, CUstream stream, CUcontext context) const {
  CUevent there = nullptr;
  CUresult result = CUDA_SUCCESS;
  {
    const Current current(this, context);
    result = current.ok() ? functions_.EventCreate(&there, CU_EVENT_DISABLE_TIMING)
                          : static_cast<CUresult>(current.result());
    if (result == CUDA_SUCCESS) result = functions_.EventRecord(there, stream);
  }
  CUstream waiting = nullptr;
  if (result == CUDA_SUCCESS) {
    result = functions_.StreamCreate(&waiting, CU_STREAM_NON_BLOCKING);
  }
  if (result == CUDA_SUCCESS) result = functions_.StreamWaitEvent(waiting, there, 0);
  if (result == CUDA_SUCCESS) result = functions_.EventRecord(event, waiting);
  // The submitted work continues after its stream and event are destroyed.
  if (waiting != nullptr) functions_.StreamDestroy(waiting);
  if (there != nullptr) functions_.EventDestroy(there);
  // The result must not be one that means that the stream no longer exists. The caller would then
  // use an event of this context, which does not cover the work of the foreign stream.
  return IsStreamGone(result) ? kDriverUnknown : result;
}

DriverResult CudaDriver::FinishContext(CUcontext context, uint64_t deadline_ns) const {
  const Current current(this, context);
  CUevent event = nullptr;
  // A context that cannot be made current has no work.
  if (!current.ok() || functions_.EventCreate(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
    return kDriverSuccess;
  }
  constexpr uint64_t kPauseNs = 50'000;
  CUresult result = functions_.CtxRecordEvent(context, event);
  if (result == CUDA_SUCCESS) result = functions_.EventQuery(event);
  while (result == CUDA_ERROR_NOT_READY && WaitClock(&table_) < deadline_ns) {
    table_.pause(table_.self, kPauseNs);
    result = functions_.EventQuery(event);
  }
  functions_.EventDestroy(event);
  return result;
}

// Returns the context with this number in the list if its work may use memory of this context, else
// null.
CUcontext CudaDriver::OtherAt(uint32_t number) const {
  CUcontext context = nullptr;
  int device = 0;
  if (!others_.at(others_.list, number, &context, &device) || context == context_) return nullptr;
  const uint64_t peers = peers_.load(std::memory_order_acquire);
  const bool is_peer = device < kMaxPeers && (peers >> device & 1) != 0;
  return device == device_ || is_peer ? context : nullptr;
}

bool CudaDriver::AnyOthers() const {
  for (uint32_t number = 0; number < others_.count; ++number) {
    if (OtherAt(number) != nullptr) return true;
  }
  return false;
}

DriverResult CudaDriver::FinishOthers(uint64_t deadline_ns) const {
  for (uint32_t number = 0; number < others_.count; ++number) {
    CUcontext context = OtherAt(number);
    if (context == nullptr) continue;
    // Before CUDA 12.5 a query for the work of another context would wait without a time limit, so
    // the driver is not asked.
    if (functions_.CtxRecordEvent == nullptr) return kDriverNotSupported;
    const DriverResult result = FinishContext(context, deadline_ns);
    // A context may have been destroyed without a hooked call. Its work has then finished, too.
    if (result != kDriverSuccess && !IsGone(result)) return result;
  }
  return kDriverSuccess;
}

}  // namespace vramstow
