// Memory shared with other processes and devices.
//
// See record.h for what all handlers have in common.
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
  if (IsPoolHandle(handle)) return call.pools().OpenHandle(call.site(), dptr, handle);
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

template <typename Call>
CUresult MemGetHandleForAddressRange(const Call& call, void* handle, CUdeviceptr dptr, size_t size,
                                     CUmemRangeHandleType type, unsigned long long flags) {
  const CUresult result = call.pools().HoldInPlace(dptr, size)
                              ? call.Forward(handle, dptr, size, type, flags)
                              : CUDA_ERROR_NOT_SUPPORTED;
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

// The multicast object takes the place of the address: memory is bound to `offset` in it.
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
  if (!call.pools().HoldInPlace(memory, size)) return CUDA_ERROR_NOT_SUPPORTED;
  return RecordBinding(call, call.Forward(multicast, offset, memory, size, flags), multicast,
                       offset, memory, size, kNoDevice);
}

template <typename Call>
CUresult MulticastBindAddr(const Call& call, CUmemGenericAllocationHandle multicast,
                           CUdevice device, size_t offset, CUdeviceptr memory, size_t size,
                           unsigned long long flags) {
  if (!call.pools().HoldInPlace(memory, size)) return CUDA_ERROR_NOT_SUPPORTED;
  return RecordBinding(call, call.Forward(multicast, device, offset, memory, size, flags),
                       multicast, offset, memory, size, static_cast<int16_t>(device));
}

// The one attribute that can be set is that of memory which a network card uses.
template <typename Call>
CUresult PointerSetAttribute(const Call& call, const void* value, CUpointer_attribute attribute,
                             CUdeviceptr address) {
  PooledBlock block;
  if (attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS && call.pools().Find(address, &block) &&
      block.size != 0 && !call.pools().HoldInPlace(block.address, block.size)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return call.Forward(value, attribute, address);
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
