// Implements the driver's virtual memory functions.
#include <cuda.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "simulator/driver/capture.h"
#include "simulator/driver/context.h"

namespace vramstow::simulator {
namespace {

constexpr unsigned kFileHandle = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

// Converts the location of physical memory. Returns false if the location does not exist or cannot
// be used.
bool ReadLocation(Call& call, const CUmemLocation& location, int* device) {
  switch (static_cast<int>(location.type)) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      *device = location.id;
      return IsDevice(call, location.id);
    case CU_MEM_LOCATION_TYPE_HOST:  // since CUDA 13.0
      *device = kHost;
      return (call.machine().spec().without & (kHostVmm | kHostPlace)) == 0 &&
             call.machine().spec().cuda_version >= 13000;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:  // this machine is one NUMA node
      *device = kHost;
      return location.id == 0 && (call.machine().spec().without & (kHostVmm | kHostNodes)) == 0;
    default:  // HOST_NUMA_CURRENT is documented as invalid here
      return false;
  }
}

CUresult ReadProperties(Call& call, const CUmemAllocationProp* properties, Physical* wish) {
  if (properties == nullptr || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if ((call.machine().spec().without & kVmm) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  if (!ReadLocation(call, properties->location, &wish->device)) {
    return properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? CUDA_ERROR_INVALID_DEVICE
                                                                    : CUDA_ERROR_INVALID_VALUE;
  }
  const auto types = static_cast<unsigned>(properties->requestedHandleTypes);
  if ((types & ~kFileHandle) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  // Virtual GPUs and sandboxes refuse shareable memory, although their attributes report support.
  if (types != 0 && (call.machine().spec().without & kShareable) != 0) {
    return static_cast<CUresult>(call.machine().spec().shareable_result);
  }
  if (properties->location.type == CU_MEM_LOCATION_TYPE_HOST && types != 0) {
    return CUDA_ERROR_INVALID_VALUE;  // as documented, such memory cannot be shared
  }
  wish->location_type = properties->location.type;
  wish->location_id = properties->location.id;
  wish->handle_types = types;
  // Memory is never compressed here. The queried properties show that, even if compression was
  // requested.
  wish->usage = properties->allocFlags.usage;
  if (properties->allocFlags.gpuDirectRDMACapable != 0) {
    if ((call.machine().spec().without & kDmaBuf) != 0) return CUDA_ERROR_NOT_SUPPORTED;
    wish->rdma = true;
  }
  return CUDA_SUCCESS;
}

// host-numa= makes the process crash or hang, as drivers have done on machines with unequal NUMA
// nodes.
void FaultAtNode(Call& call, const Physical& wish) {
  const Spec& spec = call.machine().spec();
  if (spec.node_fault == NodeFault::kNone || wish.location_type != CU_MEM_LOCATION_TYPE_HOST_NUMA ||
      ++call.state().fault_counts["host-numa"] != spec.node_fault_nth) {
    return;
  }
  if (spec.node_fault == NodeFault::kCrash) raise(SIGSEGV);
  for (;;) pause();
}

// With vmm-time= the driver blocks the caller for this time while it holds its lock.
void SpendTime(Call& call, VmmCall what, uint64_t bytes, bool on_host = false) {
  call.machine().timeline.Advance(call.machine().model.VmmNs(what, on_host, bytes));
  constexpr uint64_t kGiB = uint64_t{1} << 30;
  constexpr uint64_t kLatest = 100'000;  // a sleep may end this much late
  const VmmTime& time = call.machine().spec().vmm_times[static_cast<int>(what)];
  const uint64_t ns = time.call_ns + bytes / kDevicePage * time.gib_ns / (kGiB / kDevicePage);
  if (ns == 0) return;
  call.machine().timeline.Advance(ns);
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(ns);
  if (ns > kLatest) std::this_thread::sleep_for(std::chrono::nanoseconds(ns - kLatest));
  while (std::chrono::steady_clock::now() < until) {
  }
}

Access ToAccess(CUmemAccess_flags flags) {
  if (flags == CU_MEM_ACCESS_FLAGS_PROT_READ) return Access::kRead;
  return flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? Access::kReadWrite : Access::kNone;
}

CUresult SetOneAccess(Call& call, CUdeviceptr address, size_t size, const CUmemAccessDesc& wish) {
  if (wish.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && wish.flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
      wish.flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  int device = kHost;
  if (!ReadLocation(call, wish.location, &device)) return CUDA_ERROR_INVALID_VALUE;
  return ToDriver(
      call.machine().virtual_memory.SetAccess(address, size, device, ToAccess(wish.flags)));
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

extern "C" {

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* properties,
                                       CUmemAllocationGranularity_flags option) {
  return Serve("cuMemGetAllocationGranularity", Needs::kInit, [&](Call& call) {
    if (granularity == nullptr || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
                                   option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    // Memory cannot be created at the location "NUMA node of the current thread", but the
    // granularity of that location can be queried.
    CUmemAllocationProp asked = {};
    if (properties != nullptr) asked = *properties;
    if (asked.location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT) {
      asked.location = {.type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = 0};
    }
    Physical wish;
    const CUresult result = ReadProperties(call, &asked, &wish);
    if (result == CUDA_SUCCESS) *granularity = kDevicePage;
    return result;
  });
}

CUresult cuMemAddressReserve(CUdeviceptr* address, size_t size, size_t alignment, CUdeviceptr hint,
                             unsigned long long flags) {
  return ServeMemory("cuMemAddressReserve", Needs::kInit, {.bytes = size},
                     [&](Call& call, Call::Line& line) -> CUresult {
                       if (address == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
                       if ((call.machine().spec().without & kVmm) != 0) {
                         return CUDA_ERROR_NOT_SUPPORTED;
                       }
                       uint64_t start = 0;
                       const Result result =
                           call.machine().virtual_memory.Reserve(size, alignment, hint, &start);
                       if (result == Result::kSuccess) line.address = *address = start;
                       return ToDriver(result);
                     });
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t size) {
  return ServeMemory("cuMemAddressFree", Needs::kInit, {.address = address, .bytes = size},
                     [&](Call& call, Call::Line&) {
                       return ToDriver(call.machine().virtual_memory.Unreserve(address, size));
                     });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                     const CUmemAllocationProp* properties, unsigned long long flags) {
  return ServeMemory("cuMemCreate", Needs::kInit, {.bytes = size},
                     [&](Call& call, Call::Line& line) -> CUresult {
                       if (handle == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
                       Physical wish;
                       const CUresult refused = ReadProperties(call, properties, &wish);
                       if (refused != CUDA_SUCCESS) return refused;
                       FaultAtNode(call, wish);
                       line.device = wish.device;
                       wish.size = size;
                       call.machine().registrations.Sweep();
                       uint64_t made = 0;
                       const Result result = call.machine().virtual_memory.Create(wish, &made);
                       if (result == Result::kSuccess) line.address = *handle = made;
                       if (result == Result::kSuccess) {
                         SpendTime(call, VmmCall::kCreate, size, wish.device == kHost);
                       }
                       return ToDriver(result);
                     });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return ServeMemory("cuMemRelease", Needs::kInit, {.address = handle},
                     [&](Call& call, Call::Line& line) {
                       VirtualMemory& memory = call.machine().virtual_memory;
                       if (const Physical* physical = memory.Find(handle)) {
                         line.bytes = physical->size;
                         line.device = physical->device;
                       }
                       const Result result = memory.Release(handle);
                       if (result == Result::kSuccess) {
                         SpendTime(call, VmmCall::kRelease, line.bytes, line.device == kHost);
                       }
                       return ToDriver(result);
                     });
}

CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags) {
  return ServeMemory("cuMemMap", Needs::kInit, {.address = address, .bytes = size},
                     [&](Call& call, Call::Line& line) -> CUresult {
                       if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
                       VirtualMemory& memory = call.machine().virtual_memory;
                       if (const Physical* physical = memory.Find(handle)) {
                         line.device = physical->device;
                       }
                       const Result result = memory.Map(address, size, offset, handle);
                       if (result == Result::kSuccess) {
                         call.machine().contents.BeginMapping(address, size);
                         SpendTime(call, VmmCall::kMap, size);
                       }
                       return ToDriver(result);
                     });
}

CUresult cuMemUnmap(CUdeviceptr address, size_t size) {
  return ServeMemory("cuMemUnmap", Needs::kInit, {.address = address, .bytes = size},
                     [&](Call& call, Call::Line& line) -> CUresult {
                       VirtualMemory& memory = call.machine().virtual_memory;
                       if (const Mapping* mapping = memory.FindMapping(address)) {
                         line.device = memory.Find(mapping->physical)->device;
                       }
                       const CUresult refused = RefuseUnsafe(call);
                       if (refused != CUDA_SUCCESS) return refused;
                       call.machine().contents.EndMapping(address, size);
                       const Result result = memory.Unmap(address, size);
                       if (result == Result::kSuccess) SpendTime(call, VmmCall::kUnmap, size);
                       return ToDriver(result);
                     });
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc* wishes,
                        size_t count) {
  return Serve("cuMemSetAccess", Needs::kInit, [&](Call& call) {
    if (wishes == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i) {
      const CUresult result = SetOneAccess(call, address, size, wishes[i]);
      if (result != CUDA_SUCCESS) return result;
    }
    SpendTime(call, VmmCall::kAccess, size, call.machine().virtual_memory.IsOnHost(address));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location,
                        CUdeviceptr address) {
  return Serve("cuMemGetAccess", Needs::kInit, [&](Call& call) -> CUresult {
    if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    int device = kHost;
    if (!ReadLocation(call, *location, &device)) return CUDA_ERROR_INVALID_VALUE;
    Access access = Access::kNone;
    const Result result = call.machine().virtual_memory.GetAccess(address, device, &access);
    if (result == Result::kSuccess) *flags = static_cast<unsigned long long>(access);
    return ToDriver(result);
  });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  return Serve("cuMemRetainAllocationHandle", Needs::kInit, [&](Call& call) -> CUresult {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    uint64_t found = 0;
    const Result result =
        call.machine().virtual_memory.Retain(reinterpret_cast<uintptr_t>(address), &found);
    if (result == Result::kSuccess) *handle = found;
    return ToDriver(result);
  });
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                                CUmemGenericAllocationHandle handle) {
  return Serve("cuMemGetAllocationPropertiesFromHandle", Needs::kInit, [&](Call& call) {
    const Physical* physical = call.machine().virtual_memory.Find(handle);
    if (properties == nullptr || physical == nullptr) return CUDA_ERROR_INVALID_VALUE;
    memset(properties, 0, sizeof(*properties));
    properties->type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties->requestedHandleTypes =
        static_cast<CUmemAllocationHandleType>(physical->handle_types);
    properties->location.type = static_cast<CUmemLocationType>(physical->location_type);
    properties->location.id = physical->location_id;
    properties->allocFlags.usage = physical->usage;
    properties->allocFlags.gpuDirectRDMACapable = physical->rdma ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags) {
  return Serve("cuMemExportToShareableHandle", Needs::kInit, [&](Call& call) -> CUresult {
    if (shareable == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    int descriptor = -1;
    const Result result = call.machine().virtual_memory.Export(handle, &descriptor);
    if (result == Result::kSuccess) memcpy(shareable, &descriptor, sizeof(descriptor));
    return ToDriver(result);
  });
}

// `shareable` is not a pointer here: its value is the file descriptor.
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                        CUmemAllocationHandleType type) {
  return Serve("cuMemImportFromShareableHandle", Needs::kInit, [&](Call& call) -> CUresult {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    uint64_t made = 0;
    const auto descriptor = static_cast<int>(reinterpret_cast<intptr_t>(shareable));
    const Result result = call.machine().virtual_memory.Import(descriptor, &made);
    if (result == Result::kSuccess) *handle = made;
    return ToDriver(result);
  });
}

}  // extern "C"
