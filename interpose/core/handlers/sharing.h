// Handlers for memory that is shared with other processes and devices.
//
// record.h describes what all handlers have in common.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_SHARING_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_SHARING_H_

#include "base/keep_errno.h"
#include "interpose/core/handlers/record.h"
#include "interpose/core/pools/ipc.h"

namespace vramstow::handlers {

template <typename Call>
CUresult IpcGetMemHandle(const Call& call, CUipcMemHandle* handle, CUdeviceptr dptr) {
  const CUresult result =
      call.pools().Owns(dptr) ? call.pools().Export(dptr, handle) : call.Forward(handle, dptr);
  Event event;
  event.kind = EventKind::kExport;
  event.memory = MemoryKind::kDevice;
  event.result = result;
  event.address = dptr;
  Record(call, event);
  return result;
}

template <typename Call>
CUresult IpcOpenMemHandle(const Call& call, CUdeviceptr* dptr, CUipcMemHandle handle,
                          unsigned int flags) {
  if (IsPoolHandle(handle)) return call.pools().OpenHandle(call.site(), dptr, handle, flags);
  const CUresult result = call.Forward(dptr, handle, flags);
  Event event;
  event.kind = EventKind::kImport;
  event.memory = MemoryKind::kDevice;
  event.result = result;
  event.address = Output(result, dptr);
  auto* range = reinterpret_cast<decltype(&::cuMemGetAddressRange_v2)>(
      call.context().driver.real(Hook::kcuMemGetAddressRange_v2));
  if (event.address != 0 && range != nullptr) {
    KeepErrno keep_errno;
    CUdeviceptr base = 0;
    size_t size = 0;
    if (range(&base, &size, event.address) == CUDA_SUCCESS) event.size = size;
  }
  event.device = result == CUDA_SUCCESS ? CurrentDevice(call) : kNoDevice;
  Record(call, event);
  return result;
}

template <typename Call>
CUresult IpcCloseMemHandle(const Call& call, CUdeviceptr dptr) {
  CUresult result;
  if (call.pools().CloseHandle(call.site(), dptr, &result)) return result;
  Event event;
  event.kind = EventKind::kCloseImport;
  event.memory = MemoryKind::kDevice;
  event.address = dptr;
  return RecordThenForward(call, event, dptr);
}

// Calls `forward`, which makes the physical memory behind addresses known to another device or
// process. If that memory is a pool's, it is not moved from then on.
template <typename Call, typename Forward>
CUresult RecordPhysical(const Call& call, CUdeviceptr address, size_t size, Forward forward) {
  if (!call.pools().HoldInPlace(address, size)) return CUDA_ERROR_NOT_SUPPORTED;
  const CUresult result = forward();
  if (result == CUDA_SUCCESS) call.pools().KeepChunks(address, size);
  return result;
}

template <typename Call>
CUresult MemGetHandleForAddressRange(const Call& call, void* handle, CUdeviceptr dptr, size_t size,
                                     CUmemRangeHandleType type, unsigned long long flags) {
  const CUresult result = RecordPhysical(
      call, dptr, size, [&] { return call.Forward(handle, dptr, size, type, flags); });
  Event event;
  event.kind = EventKind::kExport;
  event.memory = MemoryKind::kDevice;
  event.result = result;
  event.address = dptr;
  event.size = size;
  Record(call, event);
  return result;
}

template <typename Call>
CUresult MulticastCreate(const Call& call, CUmemGenericAllocationHandle* handle,
                         const CUmulticastObjectProp* properties) {
  const CUresult result = call.Forward(handle, properties);
  Event event;
  event.kind = EventKind::kAllocate;
  event.memory = MemoryKind::kMulticast;
  event.result = result;
  event.address = event.object = Output(result, handle);
  event.size = event.requested = properties == nullptr ? 0 : properties->size;
  Record(call, event);
  return result;
}

// Records that memory was bound to a multicast object at `offset`. The address in this event is the
// object's handle.
template <typename Call>
CUresult RecordBinding(const Call& call, CUresult result, uint64_t multicast, size_t offset,
                       uint64_t object, size_t size, int16_t device) {
  Event event;
  event.kind = EventKind::kMap;
  event.memory = MemoryKind::kMulticast;
  event.result = result;
  event.address = multicast;
  event.offset = offset;
  event.object = object;
  event.size = size;
  event.device = device;
  Record(call, event);
  return result;
}

template <typename Call>
CUresult MulticastBindMem(const Call& call, CUmemGenericAllocationHandle multicast, size_t offset,
                          CUmemGenericAllocationHandle memory, size_t memory_offset, size_t size,
                          unsigned long long flags) {
  return RecordBinding(call, call.Forward(multicast, offset, memory, memory_offset, size, flags),
                       multicast, offset, memory, size, kNoDevice);
}

template <typename Call>
CUresult MulticastBindMem(const Call& call, CUmemGenericAllocationHandle multicast, CUdevice device,
                          size_t offset, CUmemGenericAllocationHandle memory, size_t memory_offset,
                          size_t size, unsigned long long flags) {
  return RecordBinding(call,
                       call.Forward(multicast, device, offset, memory, memory_offset, size, flags),
                       multicast, offset, memory, size, static_cast<int16_t>(device));
}

template <typename Call>
CUresult MulticastBindAddr(const Call& call, CUmemGenericAllocationHandle multicast, size_t offset,
                           CUdeviceptr memory, size_t size, unsigned long long flags) {
  const CUresult result = RecordPhysical(
      call, memory, size, [&] { return call.Forward(multicast, offset, memory, size, flags); });
  return RecordBinding(call, result, multicast, offset, memory, size, kNoDevice);
}

template <typename Call>
CUresult MulticastBindAddr(const Call& call, CUmemGenericAllocationHandle multicast,
                           CUdevice device, size_t offset, CUdeviceptr memory, size_t size,
                           unsigned long long flags) {
  const CUresult result = RecordPhysical(call, memory, size, [&] {
    return call.Forward(multicast, device, offset, memory, size, flags);
  });
  return RecordBinding(call, result, multicast, offset, memory, size, static_cast<int16_t>(device));
}

// The only attribute that can be set is for memory that a network adapter uses.
template <typename Call>
CUresult PointerSetAttribute(const Call& call, const void* value, CUpointer_attribute attribute,
                             CUdeviceptr address) {
  PooledBlock block;
  if (attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !call.pools().Find(address, &block) ||
      block.size == 0) {
    return call.Forward(value, attribute, address);
  }
  // The driver stores this attribute for each piece of physical memory, so it is set for each chunk
  // of the block.
  return RecordPhysical(call, block.address, block.size, [&] {
    const uint64_t end = block.address + block.size;
    CUresult result = call.Forward(value, attribute, address);
    for (uint64_t at = block.address; block.chunk_bytes != 0 && at < end;
         at = at / block.chunk_bytes * block.chunk_bytes + block.chunk_bytes) {
      if (result == CUDA_SUCCESS) result = call.Forward(value, attribute, CUdeviceptr{at});
    }
    return result;
  });
}

template <typename Call>
CUresult MulticastUnbind(const Call& call, CUmemGenericAllocationHandle multicast, CUdevice device,
                         size_t offset, size_t size) {
  Event event;
  event.kind = EventKind::kUnmap;
  event.memory = MemoryKind::kMulticast;
  event.address = multicast;
  event.offset = offset;
  event.size = size;
  event.device = static_cast<int16_t>(device);
  return RecordThenForward(call, event, multicast, device, offset, size);
}

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_SHARING_H_
