#include "interpose/core/record/cupti_client.h"

#include <cupti.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <time.h>

#include <atomic>

#include "base/keep_errno.h"

namespace vramstow {
namespace {

// The oldest CUPTI version whose records have the layout below (CUPTI of CUDA 12.0).
constexpr uint32_t kLeastVersion = 18;
constexpr size_t kBufferBytes = 256 * 1024;
constexpr size_t kBuffers = 64;  // buffers in use at once; without a free one CUPTI drops records
constexpr uint32_t kFlushMs = 1000;

// CUPTI's functions, found in the library that the process uses.
struct Cupti {
  decltype(&::cuptiGetVersion) get_version;
  decltype(&::cuptiSubscribe) subscribe;
  decltype(&::cuptiUnsubscribe) unsubscribe;
  decltype(&::cuptiEnableCallback) enable_callback;
  decltype(&::cuptiActivityRegisterCallbacks) register_callbacks;
  decltype(&::cuptiActivityEnable) enable;
  decltype(&::cuptiActivityDisable) disable;
  decltype(&::cuptiActivityFlushAll) flush;
  decltype(&::cuptiActivityFlushPeriod) flush_period;
  decltype(&::cuptiActivityGetNextRecord) next_record;
  decltype(&::cuptiGetTimestamp) timestamp;
};
constinit Cupti cupti = {};
constinit CUpti_SubscriberHandle subscriber = nullptr;
// The difference between Unix time and CUPTI's times.
constinit std::atomic<int64_t> to_unix_ns = 0;

struct Buffer {
  std::atomic<uint8_t*> bytes;
  std::atomic<bool> taken;
};
constinit Buffer buffers[kBuffers] = {};

constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                         CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
                                         CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_MEMORY2};

// The runtime calls that concern memory and are recorded.
constexpr CUpti_CallbackId kRuntimeCalls[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMallocPitch_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMalloc3D_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMallocManaged_v6000,
    CUPTI_RUNTIME_TRACE_CBID_cudaMallocHost_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaHostAlloc_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_v11020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_ptsz_v11020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMallocFromPoolAsync_v11020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMallocFromPoolAsync_ptsz_v11020,
    CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaFreeHost_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaFreeAsync_v11020,
    CUPTI_RUNTIME_TRACE_CBID_cudaFreeAsync_ptsz_v11020};
constexpr CUpti_CallbackId kDriverCalls[] = {CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2,
                                             CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2,
                                             CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged,
                                             CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2,
                                             CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc,
                                             CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync,
                                             CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz,
                                             CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync,
                                             CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz,
                                             CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2,
                                             CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost,
                                             CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync,
                                             CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz};

constinit CuptiListener listener = {};

template <typename Function>
bool FindFunction(const VramstowShim& shim, void* library, const char* name, Function* place) {
  *place = reinterpret_cast<Function>(shim.find_symbol(library, name));
  return *place != nullptr;
}

bool FindCupti(const VramstowShim& shim) {
  void* library = nullptr;
  for (const int mode : {RTLD_LAZY | RTLD_NOLOAD, RTLD_LAZY | RTLD_LOCAL}) {
    for (const char* const file : {"libcupti.so.13", "libcupti.so.12", "libcupti.so"}) {
      if (library == nullptr) library = shim.open_library(file, mode);
    }
  }
  return library != nullptr && FindFunction(shim, library, "cuptiGetVersion", &cupti.get_version) &&
         FindFunction(shim, library, "cuptiSubscribe", &cupti.subscribe) &&
         FindFunction(shim, library, "cuptiUnsubscribe", &cupti.unsubscribe) &&
         FindFunction(shim, library, "cuptiEnableCallback", &cupti.enable_callback) &&
         FindFunction(shim, library, "cuptiActivityRegisterCallbacks", &cupti.register_callbacks) &&
         FindFunction(shim, library, "cuptiActivityEnable", &cupti.enable) &&
         FindFunction(shim, library, "cuptiActivityDisable", &cupti.disable) &&
         FindFunction(shim, library, "cuptiActivityFlushAll", &cupti.flush) &&
         FindFunction(shim, library, "cuptiActivityFlushPeriod", &cupti.flush_period) &&
         FindFunction(shim, library, "cuptiActivityGetNextRecord", &cupti.next_record) &&
         FindFunction(shim, library, "cuptiGetTimestamp", &cupti.timestamp);
}

void Request(uint8_t** bytes, size_t* size, size_t* most_records) {
  *bytes = nullptr;
  *size = *most_records = 0;
  KeepErrno keep_errno;
  for (Buffer& buffer : buffers) {
    if (buffer.taken.exchange(true, std::memory_order_acquire)) continue;
    uint8_t* memory = buffer.bytes.load(std::memory_order_relaxed);
    if (memory == nullptr) {
      void* const mapped =
          mmap(nullptr, kBufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      memory = mapped == MAP_FAILED ? nullptr : static_cast<uint8_t*>(mapped);
      buffer.bytes.store(memory, std::memory_order_relaxed);
    }
    *bytes = memory;
    *size = memory == nullptr ? 0 : kBufferBytes;
    return;
  }
}

uint64_t UnixTime(uint64_t time) {
  return time + static_cast<uint64_t>(to_unix_ns.load(std::memory_order_relaxed));
}

// Reports a kernel, a copy or a fill, by the fields that their records have in common.
template <typename Record>
void EmitWork(const char* text, const Record& record, uint64_t bytes) {
  listener.work(listener.context, {.text = text,
                                   .device = static_cast<int>(record.deviceId),
                                   .stream = record.streamId,
                                   .correlation = record.correlationId,
                                   .bytes = bytes,
                                   .duration_ns = record.end - record.start,
                                   .start_unix_ns = UnixTime(record.start)});
}

const char* CopyName(unsigned kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "copy, host to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "copy, device to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "copy, device to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return "copy, between devices";
    default:
      return "copy";
  }
}

void EmitMemory(const CUpti_ActivityMemory4& record) {
  listener.memory(
      listener.context,
      {.gives = record.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION,
       .memory = record.memoryKind == CUPTI_ACTIVITY_MEMORY_KIND_PINNED    ? MemoryKind::kHostPinned
                 : record.memoryKind == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED ? MemoryKind::kManaged
                 : record.isAsync != 0 ? MemoryKind::kDeviceStream
                                       : MemoryKind::kDevice,
       .device = static_cast<int>(record.deviceId),
       .address = record.address,
       .bytes = record.bytes,
       .correlation = record.correlationId,
       .unix_ns = UnixTime(record.timestamp)});
}

void EmitRecord(const CUpti_Activity* record) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = *reinterpret_cast<const CUpti_ActivityKernel9*>(record);
      return EmitWork(kernel.name == nullptr ? "kernel" : kernel.name, kernel, 0);
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = *reinterpret_cast<const CUpti_ActivityMemcpy5*>(record);
      return EmitWork(CopyName(copy.copyKind), copy, copy.bytes);
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
      const auto& copy = *reinterpret_cast<const CUpti_ActivityMemcpyPtoP4*>(record);
      return EmitWork(CopyName(copy.copyKind), copy, copy.bytes);
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& fill = *reinterpret_cast<const CUpti_ActivityMemset4*>(record);
      return EmitWork("fill", fill, fill.bytes);
    }
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return EmitMemory(*reinterpret_cast<const CUpti_ActivityMemory4*>(record));
    default:
      return;
  }
}

void Complete(CUcontext /*context*/, uint32_t /*stream*/, uint8_t* bytes, size_t /*size*/,
              size_t valid) {
  CUpti_Activity* record = nullptr;
  while (valid != 0 && cupti.next_record(bytes, valid, &record) == CUPTI_SUCCESS)
    EmitRecord(record);
  for (Buffer& buffer : buffers) {
    if (buffer.bytes.load(std::memory_order_relaxed) != bytes) continue;
    buffer.taken.store(false, std::memory_order_release);
  }
}

void Callback(void* /*user*/, CUpti_CallbackDomain domain, CUpti_CallbackId /*id*/,
              const void* about) {
  const auto* const call = static_cast<const CUpti_CallbackData*>(about);
  listener.call({.of_runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API,
                 .enters = call->callbackSite == CUPTI_API_ENTER,
                 .correlation = call->correlationId});
}

int64_t ToUnix() {
  timespec now = {};
  uint64_t time = 0;
  if (cupti.timestamp(&time) != CUPTI_SUCCESS) return 0;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec -
         static_cast<int64_t>(time);
}

}  // namespace

CuptiStart StartCupti(const VramstowShim& shim, const CuptiListener& to) {
  uint32_t version = 0;
  if (!FindCupti(shim) || cupti.get_version(&version) != CUPTI_SUCCESS || version < kLeastVersion) {
    return CuptiStart::kNoCupti;
  }
  listener = to;
  const CUptiResult result = cupti.subscribe(&subscriber, Callback, nullptr);
  if (result != CUPTI_SUCCESS) {
    return result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED ? CuptiStart::kTaken
                                                                    : CuptiStart::kFailed;
  }
  to_unix_ns.store(ToUnix(), std::memory_order_relaxed);
  bool well = cupti.register_callbacks(Request, Complete) == CUPTI_SUCCESS;
  for (const CUpti_ActivityKind kind : kKinds) well &= cupti.enable(kind) == CUPTI_SUCCESS;
  for (const CUpti_CallbackId id : kRuntimeCalls) {
    cupti.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, id);
  }
  for (const CUpti_CallbackId id : kDriverCalls) {
    cupti.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
  }
  cupti.flush_period(kFlushMs);
  return well ? CuptiStart::kOn : CuptiStart::kIncomplete;
}

void FlushCupti() { cupti.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED); }

void EndCupti() {
  FlushCupti();
  for (const CUpti_ActivityKind kind : kKinds) cupti.disable(kind);
  cupti.flush_period(0);
  cupti.unsubscribe(subscriber);
}

}  // namespace vramstow
