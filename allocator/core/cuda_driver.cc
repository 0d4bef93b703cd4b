#include "allocator/core/cuda_driver.h"

#include <time.h>

#include <bit>
#include <type_traits>

namespace vramstow {
namespace {

constexpr int kMostPeers = 64;

CudaDriver* Self(void* self) { return static_cast<CudaDriver*>(self); }

}  // namespace

class CudaDriver::Current {
 public:
  explicit Current(const CudaDriver* driver) : driver_(driver) {
    CUcontext now = nullptr;
    result_ = CUDA_SUCCESS;
    if (driver_->context_gone_.load(std::memory_order_acquire)) return;
    result_ = driver_->functions_.CtxGetCurrent(&now);
    if (result_ != CUDA_SUCCESS || now == driver_->context_) return;
    result_ = driver_->functions_.CtxPushCurrent(driver_->context_);
    pushed_ = result_ == CUDA_SUCCESS;
  }
  ~Current() {
    CUcontext popped = nullptr;
    if (pushed_) driver_->functions_.CtxPopCurrent(&popped);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

  bool ok() const { return result_ == CUDA_SUCCESS; }
  DriverResult result() const { return result_; }

 private:
  const CudaDriver* driver_;
  CUresult result_;
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
  look(&functions_.ThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode", true);
  look(&functions_.MemcpyAsync, "cuMemcpyAsync", false);
  look(&functions_.MemHostAlloc, "cuMemHostAlloc", false);
  look(&functions_.MemFreeHost, "cuMemFreeHost", false);
  look(&functions_.StreamCreate, "cuStreamCreate", false);
  look(&functions_.StreamDestroy, "cuStreamDestroy_v2", false);
  look(&functions_.StreamSynchronize, "cuStreamSynchronize", false);
  return missing_ == nullptr;
}

bool CudaDriver::Attribute(CUdevice_attribute attribute) const {
  int value = 0;
  return functions_.DeviceGetAttribute(&value, attribute, device_) == CUDA_SUCCESS && value != 0;
}

// Drivers before 10.2 do not have the functions.
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
  table_.self = this;
  FillMemory();
  FillOffload();
  FillOrder();
  return true;
}

void CudaDriver::AddPeer(CUdevice peer) {
  if (peer < 0 || peer >= kMostPeers || peer == device_) return;
  peers_.fetch_or(uint64_t{1} << peer, std::memory_order_release);
}

// Exportable and fit for RDMA where the device can: NCCL and IPC look for that later, when it is
// too late to change.
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

// What every entry does first.
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
      const CUmemAllocationProp properties = driver->Properties();
      result = driver->functions_.MemGetAllocationGranularity(&granularity, &properties,
                                                              CU_MEM_ALLOC_GRANULARITY_MINIMUM);
      if (result != CUDA_SUCCESS) return result;
    }
    CUmemLocation host{};
    const bool copies = vmm && driver->CanCopy();
    *out = {total,
            granularity,
            static_cast<int16_t>(driver->device_),
            vmm,
            copies && driver->HostLocation(&host),
            copies,
            true};
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
    const CUmemAllocationProp properties = driver->Properties();
    CUmemGenericAllocationHandle handle = 0;
    const CUresult result = driver->functions_.MemCreate(&handle, size, &properties, 0);
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
    CUmemAccessDesc access[kMostPeers + 1] = {};
    size_t count = 0;
    const auto add = [&access, &count](int device) {
      access[count].location.type = CU_MEM_LOCATION_TYPE_DEVICE;
      access[count].location.id = device;
      access[count++].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    };
    add(driver->device_);
    uint64_t peers = driver->peers_.load(std::memory_order_acquire);
    for (; peers != 0; peers &= peers - 1) add(std::countr_zero(peers));
    return driver->functions_.MemSetAccess(address, size, access, count);
  };
}

bool CudaDriver::CanCopy() const {
  return functions_.MemcpyAsync != nullptr && functions_.MemHostAlloc != nullptr &&
         functions_.MemFreeHost != nullptr && functions_.StreamCreate != nullptr &&
         functions_.StreamDestroy != nullptr && functions_.StreamSynchronize != nullptr;
}

// By number: older headers do not name them.
bool CudaDriver::HostLocation(CUmemLocation* location) const {
  constexpr auto kHostNumaMemory = static_cast<CUdevice_attribute>(141);  // 12.2
  constexpr auto kHostMemory = static_cast<CUdevice_attribute>(145);      // 13.0
  constexpr auto kHost = static_cast<CUmemLocationType>(2);
  constexpr auto kHostNuma = static_cast<CUmemLocationType>(3);
  location->id = 0;
  if (Attribute(kHostMemory)) {
    location->type = kHost;
    return true;
  }
  location->type = kHostNuma;
  return Attribute(kHostNumaMemory);
}

void CudaDriver::FillOffload() {
  table_.create_host = [](void* self, uint64_t size, uint64_t* out) -> DriverResult {
    VRAMSTOW_CUDA_CALL();
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    if (!driver->HostLocation(&properties.location)) return kDriverNotSupported;
    CUmemGenericAllocationHandle handle = 0;
    const CUresult result = driver->functions_.MemCreate(&handle, size, &properties, 0);
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
    const Functions& functions = driver->functions_;
    CUstream stream = nullptr;
    CUresult result = functions.StreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (result != CUDA_SUCCESS) return result;
    for (uint32_t i = 0; i < count && result == CUDA_SUCCESS; ++i) {
      result = functions.MemcpyAsync(copies[i].to, copies[i].from, copies[i].size, stream);
    }
    *job = reinterpret_cast<uint64_t>(stream);
    if (result != CUDA_SUCCESS) driver->table_.copy_finish(self, *job);
    return result;
  };
  table_.copy_finish = [](void* self, uint64_t job) -> DriverResult {
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
    return driver->functions_.EventRecord(reinterpret_cast<CUevent>(event),
                                          reinterpret_cast<CUstream>(stream));
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
  table_.now = [](void*) -> uint64_t {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
  };
  table_.pause = [](void*, uint64_t nanoseconds) {
    const timespec time{static_cast<time_t>(nanoseconds / 1'000'000'000),
                        static_cast<long>(nanoseconds % 1'000'000'000)};
    nanosleep(&time, nullptr);
  };
}

#undef VRAMSTOW_CUDA_CALL

}  // namespace vramstow
