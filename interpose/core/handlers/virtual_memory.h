// Handlers for the application's own virtual memory: address ranges, physical memory, mappings.
//
// record.h describes what all handlers have in common. Addresses of the pool do not belong to the
// application: calls that would unmap or map there are refused, as for memory of cuMemAlloc.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_VIRTUAL_MEMORY_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_VIRTUAL_MEMORY_H_

#include "base/keep_errno.h"
#include "interpose/core/handlers/record.h"

namespace vramstow::handlers {

template <typename Call>
CUresult MemAddressReserve(const Call& call, CUdeviceptr* ptr, size_t size, size_t alignment,
                           CUdeviceptr wanted, unsigned long long flags) {
  const CUresult result = call.Forward(ptr, size, alignment, wanted, flags);
  Event event;
  event.kind = EventKind::kReserve;
  event.memory = MemoryKind::kAddressRange;
  event.result = result;
  event.address = Output(result, ptr);
  event.size = event.requested = size;
  Record(call, event);
  return result;
}

template <typename Call>
CUresult MemAddressFree(const Call& call, CUdeviceptr ptr, size_t size) {
  if (call.pools().Owns(ptr)) return CUDA_ERROR_INVALID_VALUE;
  Event event;
  event.kind = EventKind::kUnreserve;
  event.memory = MemoryKind::kAddressRange;
  event.address = ptr;
  event.size = size;
  return RecordThenForward(call, event, ptr, size);
}

// Records an event about physical memory. Physical memory has no address, so the event contains its
// handle in the field for the address.
template <typename Call>
CUresult MemCreate(const Call& call, CUmemGenericAllocationHandle* handle, size_t size,
                   const CUmemAllocationProp* properties, unsigned long long flags) {
  DeviceBeforeAllocation(call);
  Event event;
  event.kind = EventKind::kAllocate;
  event.memory = MemoryKind::kPhysical;
  if (properties != nullptr) {
    event.device = DeviceOf(properties->location);
    if (event.device == kNoDevice) event.memory = MemoryKind::kHostPhysical;
  }
  const auto forward = [&] { return call.Forward(handle, size, properties, flags); };
  const bool is_on_host = event.memory == MemoryKind::kHostPhysical;
  const CUresult result = is_on_host ? forward() : ForwardWithRoom(call, event.device, forward);
  event.result = result;
  if (result == CUDA_SUCCESS && is_on_host) call.pools().SharedMemoryMade();
  event.address = event.object = Output(result, handle);
  event.size = event.requested = size;
  Record(call, event);
  return result;
}

template <typename Call>
CUresult MemRelease(const Call& call, CUmemGenericAllocationHandle handle) {
  Event event;
  event.kind = EventKind::kFree;
  event.memory = MemoryKind::kPhysical;
  event.address = handle;
  return RecordThenForward(call, event, handle);
}

template <typename Call>
CUresult MemMap(const Call& call, CUdeviceptr ptr, size_t size, size_t offset,
                CUmemGenericAllocationHandle handle, unsigned long long flags) {
  if (call.pools().Owns(ptr)) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = call.Forward(ptr, size, offset, handle, flags);
  Event event;
  event.kind = EventKind::kMap;
  event.memory = MemoryKind::kAddressRange;
  event.result = result;
  event.address = ptr;
  event.size = size;
  event.offset = offset;
  event.object = handle;
  Record(call, event);
  return result;
}

// Handles tiles of sparse arrays. The event contains the array's handle in the field for the
// address, and the size is unknown.
template <typename Call>
CUresult MemMapArrayAsync(const Call& call, CUarrayMapInfo* list, unsigned int count,
                          CUstream stream) {
  const CUresult result = call.Forward(list, count, stream);
  for (unsigned int i = 0; list != nullptr && result == CUDA_SUCCESS && i < count; ++i) {
    const CUarrayMapInfo& entry = list[i];
    Event event;
    event.kind =
        entry.memOperationType == CU_MEM_OPERATION_TYPE_UNMAP ? EventKind::kUnmap : EventKind::kMap;
    event.memory = entry.resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY
                       ? MemoryKind::kMipmappedArray
                       : MemoryKind::kArray;
    event.address = ToNumber(entry.resource.array);
    event.object = entry.memHandle.memHandle;
    event.offset = entry.offset;
    event.stream = StreamOf(call.site(), stream);
    Record(call, event);
  }
  return result;
}

template <typename Call>
CUresult MemUnmap(const Call& call, CUdeviceptr ptr, size_t size) {
  if (call.pools().Owns(ptr)) return CUDA_ERROR_INVALID_VALUE;
  Event event;
  event.kind = EventKind::kUnmap;
  event.memory = MemoryKind::kAddressRange;
  event.address = ptr;
  event.size = size;
  return RecordThenForward(call, event, ptr, size);
}

// Records one event for each location, but only one event for a refused call.
template <typename Call>
CUresult MemSetAccess(const Call& call, CUdeviceptr ptr, size_t size,
                      const CUmemAccessDesc* descriptions, size_t count) {
  if (call.pools().Owns(ptr)) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = call.Forward(ptr, size, descriptions, count);
  Event event;
  event.kind = EventKind::kAccess;
  event.memory = MemoryKind::kAddressRange;
  event.result = result;
  event.address = ptr;
  event.size = size;
  if (result != CUDA_SUCCESS) {
    Record(call, event);
    return result;
  }
  for (size_t i = 0; descriptions != nullptr && i < count; ++i) {
    event.device = DeviceOf(descriptions[i].location);
    // Imported memory does not reveal its location. So memory that another process made also counts
    // as memory that the host can access.
    if (event.device == kNoDevice) call.pools().SharedMemoryMade();
    Record(call, event);
  }
  return result;
}

// Records an event about the physical memory `handle`, after the call.
template <typename Call>
CUresult RecordHandle(const Call& call, EventKind kind, CUresult result, uint64_t handle,
                      uint64_t address) {
  Event event;
  event.kind = kind;
  event.memory = MemoryKind::kPhysical;
  event.result = result;
  event.object = handle;
  event.address = address;
  Record(call, event);
  return result;
}

template <typename Call>
CUresult MemRetainAllocationHandle(const Call& call, CUmemGenericAllocationHandle* handle,
                                   void* address) {
  // Refuses the call as the driver does for memory of cuMemAlloc, because no handle represents this
  // block alone.
  if (call.pools().Owns(ToNumber(address))) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = call.Forward(handle, address);
  return RecordHandle(call, EventKind::kRetain, result, Output(result, handle), ToNumber(address));
}

template <typename Call>
CUresult MemExport(const Call& call, void* shareable, CUmemGenericAllocationHandle handle,
                   CUmemAllocationHandleType type, unsigned long long flags) {
  return RecordHandle(call, EventKind::kExport, call.Forward(shareable, handle, type, flags),
                      handle, handle);
}

template <typename Call>
CUresult MemImport(const Call& call, CUmemGenericAllocationHandle* handle, void* shareable,
                   CUmemAllocationHandleType type) {
  const CUresult result = call.Forward(handle, shareable, type);
  const uint64_t number = Output(result, handle);
  return RecordHandle(call, EventKind::kImport, result, number, number);
}

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_VIRTUAL_MEMORY_H_
