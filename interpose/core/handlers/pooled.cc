#include "interpose/core/handlers/pooled.h"

#include <cstring>

#include "interpose/core/core.h"
#include "interpose/core/handlers/record.h"
#include "interpose/core/pools/out_of_memory.h"
#include "interpose/core/pools/pool_trace.h"
#include "interpose/core/pools/settings.h"
#include "interpose/core/record/free_bytes.h"
#include "interpose/core/runtime/keep_errno.h"

namespace vramstow::handlers {
namespace {

// Rows begin at multiples of the block granule, which is what cards have; beyond these sizes the
// driver is to say what is wrong.
constexpr uint64_t kMostPitch = (uint64_t{1} << 31) - kBlockBytes;
constexpr uint64_t kMostRows = uint64_t{1} << 31;

bool WantsPlainDriver(const Entry& entry) {
  Core& core = TheCore();
  const char* list = core.process.options().plain;
  if (*list == '\0') return false;
  const CallerObject* caller = core.callers.FindCaller(entry.return_address());
  return caller != nullptr && IsListed(list, caller->path);
}

void RecordRefusedFree(const Entry& entry, CUdeviceptr address) {
  Event event;
  event.kind = EventKind::kFree;
  event.memory = MemoryKind::kDevice;
  event.address = address;
  const uint64_t sequence = Record(entry, event);
  if (sequence == 0) return;
  event.kind = EventKind::kRefused;
  event.object = sequence;
  event.result = CUDA_ERROR_INVALID_VALUE;
  Record(entry, event);
}

void RecordOverLimit(const Entry& entry, const PooledRequest& request, int16_t device) {
  Event event;
  event.kind = EventKind::kAllocate;
  event.memory = request.memory;
  event.device = device;
  event.size = request.size;
  event.requested = request.requested != 0 ? request.requested : request.size;
  event.result = CUDA_ERROR_OUT_OF_MEMORY;
  Record(entry, event);
}

bool Free(const Entry& entry, CUdeviceptr address, bool wait, CUresult* result) {
  if (address == 0) return false;
  Pools::Use use = TheCore().pools.Owning(address);
  if (!use) return false;
  KeepErrno keep_errno;
  PoolCall call(entry);
  if (use->Free(address) != PoolError::kOk) {
    RecordRefusedFree(entry, address);
    *result = CUDA_ERROR_INVALID_VALUE;
    return true;
  }
  if (wait) use->Synchronize();
  *result = CUDA_SUCCESS;
  return true;
}

template <typename T>
void Put(void* data, T value) {
  std::memcpy(data, &value, sizeof(T));  // NOLINT(bugprone-sizeof-expression): of pointers, too
}

}  // namespace

PoolAnswer AllocatePooled(const Entry& entry, const PooledRequest& request, CUdeviceptr* address) {
  if (address == nullptr || request.size == 0 || WantsPlainDriver(entry)) {
    return PoolAnswer::kAskDriver;
  }
  Core& core = TheCore();
  Pools::Use use = core.pools.ForCurrentContext();
  if (!use) return PoolAnswer::kAskDriver;
  KeepErrno keep_errno;
  DescribeFreeBytes(use.device());
  PoolCall call(entry, request.memory, request.requested);
  Block block;
  const PoolError error = use->Allocate({.size = request.size, .tag = Regions::Current()}, &block);
  if (error == PoolError::kOk) {
    *address = block.address;
    if (block.served != Served::kHit) {
      TellFailedCheck(use.get());
      SampleFreeBytes(use.device());
    }
    return PoolAnswer::kServed;
  }
  TellFailedCheck(use.get());
  if (error != PoolError::kOutOfMemory) return PoolAnswer::kAskDriver;
  TellOutOfMemory(use.get());
  if (use->limit() != 0) {
    // The plain driver might have room, but must not be asked.
    RecordOverLimit(entry, request, use.device());
    return PoolAnswer::kOutOfMemory;
  }
  // The plain driver has the last word, with all that can be given back to it.
  use->Trim({});
  return PoolAnswer::kAskDriver;
}

PoolAnswer AllocatePitchedPooled(const Entry& entry, CUdeviceptr* address, size_t* pitch,
                                 const Pitched& request) {
  const bool known =
      request.element_size == 4 || request.element_size == 8 || request.element_size == 16;
  if (pitch == nullptr || !known || request.width == 0 || request.width > kMostPitch ||
      request.height == 0 || request.height > kMostRows) {
    return PoolAnswer::kAskDriver;
  }
  const uint64_t row = (request.width + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  PooledRequest rows;
  rows.size = row * request.height;
  rows.requested = request.width * request.height;
  rows.memory = MemoryKind::kDevicePitched;
  const PoolAnswer answer = AllocatePooled(entry, rows, address);
  if (answer == PoolAnswer::kServed) *pitch = row;
  return answer;
}

bool FreePooled(const Entry& entry, CUdeviceptr address, CUresult* result) {
  return Free(entry, address, TheCore().pools.FreesWait(), result);
}

bool FreePooledAsync(const Entry& entry, CUdeviceptr address, CUresult* result) {
  return Free(entry, address, false, result);
}

void AdjustMemoryInfo(uint64_t* free_bytes, uint64_t* total_bytes) {
  KeepErrno keep_errno;
  Pools::Use use = TheCore().pools.ForCurrentContext();
  if (use) use->AdjustMemoryInfo(free_bytes, total_bytes);
}

bool IsPooled(CUdeviceptr address) { return static_cast<bool>(TheCore().pools.Owning(address)); }

bool FindPooled(CUdeviceptr address, PooledBlock* block) {
  Pools::Use use = TheCore().pools.Owning(address);
  if (!use) return false;
  KeepErrno keep_errno;
  BlockInfo info;
  *block = PooledBlock();
  if (use->Find(address, &info) != PoolError::kOk) return true;
  const bool can_share = TheCore().service.has_socket() && !use->segments();
  *block = {info.address, info.requested, info.id, use.context(), can_share};
  // Behind what was asked for, but within the rounding: the driver would not know it either.
  if (address - info.address >= info.requested) *block = PooledBlock();
  return true;
}

bool PooledAttribute(const PooledBlock& block, CUpointer_attribute attribute, void* data) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      Put(data, block.context);
      return true;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      Put<unsigned>(data, CU_MEMORYTYPE_DEVICE);
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
      // As memory of cuMemAlloc has it: a handle of a chunk would show other blocks, too.
      Put<unsigned long long>(data, 0);
      return true;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      Put<unsigned>(data, block.can_share ? 1 : 0);
      return true;
    default:
      return false;
  }
}

CUresult ExportPooled(CUdeviceptr address, CUipcMemHandle* handle) {
  KeepErrno keep_errno;
  return MakeIpcHandle(address, handle);
}

CUresult OpenPoolHandle(const Entry& entry, CUdeviceptr* address, const CUipcMemHandle& handle) {
  KeepErrno keep_errno;
  PoolCall call(entry);
  Event event;
  event.kind = EventKind::kImport;
  event.memory = MemoryKind::kDevice;
  event.result = TheCore().imports.Open(handle, address, &event.size);
  event.address = Output(static_cast<CUresult>(event.result), address);
  event.device = event.result == CUDA_SUCCESS ? CurrentDevice() : kNoDevice;
  Record(entry, event);
  return static_cast<CUresult>(event.result);
}

bool ClosePoolHandle(const Entry& entry, CUdeviceptr address, CUresult* result) {
  KeepErrno keep_errno;
  PoolCall call(entry);
  if (!TheCore().imports.Close(address, result)) return false;
  Event event;
  event.kind = EventKind::kCloseImport;
  event.memory = MemoryKind::kDevice;
  event.address = address;
  Record(entry, event);
  return true;
}

}  // namespace vramstow::handlers
