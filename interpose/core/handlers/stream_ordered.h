// Handlers for stream-ordered memory and its pools.
//
// record.h describes what all handlers have in common.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_STREAM_ORDERED_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_STREAM_ORDERED_H_

#include "interpose/core/handlers/pool_kinds.h"
#include "interpose/core/handlers/record.h"

namespace vramstow::handlers {

// Calls `forward` and records the allocation. During a capture nothing is allocated yet; the graph
// gets a node that allocates when the graph is launched.
template <typename Call, typename Forward>
CUresult AllocateOnStream(const Call& call, const CUdeviceptr* dptr, size_t bytesize,
                          CUmemoryPool pool, CUstream stream, Forward forward) {
  Event event;
  event.memory = KindOfPool(pool);
  event.device = DeviceBeforeAllocation(call);
  event.stream = StreamOf(call.site(), stream);
  event.object = ToNumber(pool);
  event.size = event.requested = bytesize;
  event.kind = IsCapturing(call, stream) ? EventKind::kGraphAllocate : EventKind::kAllocate;
  const CUresult result = ForwardWithRoom(call, event.device, forward);
  event.result = result;
  event.address = Output(result, dptr);
  Record(call, event);
  return result;
}

template <typename Call>
CUresult MemAllocAsync(const Call& call, CUdeviceptr* dptr, size_t bytesize, CUstream stream) {
  return AllocateOnStream(call, dptr, bytesize, nullptr, stream,
                          [&] { return call.Forward(dptr, bytesize, stream); });
}

template <typename Call>
CUresult MemAllocFromPoolAsync(const Call& call, CUdeviceptr* dptr, size_t bytesize,
                               CUmemoryPool pool, CUstream stream) {
  return AllocateOnStream(call, dptr, bytesize, pool, stream,
                          [&] { return call.Forward(dptr, bytesize, pool, stream); });
}

template <typename Call>
CUresult MemFreeAsync(const Call& call, CUdeviceptr dptr, CUstream stream) {
  // The documentation allows this function to free memory of cuMemAlloc, too, but not inside a
  // graph.
  if (call.pools().Owns(dptr)) {
    if (IsCapturing(call, stream)) return CUDA_ERROR_INVALID_VALUE;
    CUresult result;
    if (call.pools().FreeAsync(call.site(), dptr, &result)) return result;
  }
  Event event;
  event.memory = MemoryKind::kDeviceStream;
  event.address = dptr;
  event.stream = StreamOf(call.site(), stream);
  if (!IsCapturing(call, stream)) {
    event.kind = EventKind::kFree;
    return RecordThenForward(call, event, dptr, stream);
  }
  event.kind = EventKind::kGraphFree;
  const CUresult result = call.Forward(dptr, stream);
  event.result = result;
  Record(call, event);
  return result;
}

// Records an event about the memory pool `pool`, after the call.
template <typename Call>
CUresult RecordPool(const Call& call, EventKind kind, CUresult result, uint64_t pool,
                    int16_t device = kNoDevice, uint64_t bytes = 0) {
  Event event;
  event.kind = kind;
  event.memory = MemoryKind::kDeviceStream;
  event.object = pool;
  event.device = device;
  event.size = bytes;
  event.result = result;
  Record(call, event);
  return result;
}

// Stores the kind of a pool's memory, and notifies the pools if the host may access that memory.
template <typename Call>
void NotePoolMemory(const Call& call, CUmemoryPool pool, MemoryKind kind) {
  NotePool(pool, kind);
  if (kind != MemoryKind::kDeviceStream) call.pools().SharedMemoryMade();
}

template <typename Call>
CUresult MemPoolCreate(const Call& call, CUmemoryPool* pool, const CUmemPoolProps* properties) {
  const int16_t device = properties == nullptr ? kNoDevice : DeviceOf(properties->location);
  const CUresult result = call.Forward(pool, properties);
  if (result == CUDA_SUCCESS && pool != nullptr && properties != nullptr) {
    NotePoolMemory(call, *pool, PoolMemory(properties->allocType, properties->location));
  }
  return RecordPool(call, EventKind::kPoolCreate, result, Output(result, pool), device);
}

template <typename Call>
CUresult MemPoolDestroy(const Call& call, CUmemoryPool pool) {
  ForgetPool(pool);
  return RecordPool(call, EventKind::kPoolDestroy, call.Forward(pool), ToNumber(pool));
}

template <typename Call>
CUresult MemPoolTrimTo(const Call& call, CUmemoryPool pool, size_t bytes) {
  return RecordPool(call, EventKind::kPoolTrim, call.Forward(pool, bytes), ToNumber(pool),
                    kNoDevice, bytes);
}

template <typename Call>
CUresult MemPoolSetAccess(const Call& call, CUmemoryPool pool, const CUmemAccessDesc* map,
                          size_t count) {
  const CUresult result = call.Forward(pool, map, count);
  for (size_t i = 0; map != nullptr && result == CUDA_SUCCESS && i < count; ++i) {
    const int16_t device = DeviceOf(map[i].location);
    if (device == kNoDevice) call.pools().SharedMemoryMade();
    RecordPool(call, EventKind::kAccess, result, ToNumber(pool), device);
  }
  return result;
}

template <typename Call>
CUresult MemPoolExport(const Call& call, void* handle, CUmemoryPool pool,
                       CUmemAllocationHandleType type, unsigned long long flags) {
  return RecordPool(call, EventKind::kExport, call.Forward(handle, pool, type, flags),
                    ToNumber(pool));
}

template <typename Call>
CUresult MemPoolImport(const Call& call, CUmemoryPool* pool, void* handle,
                       CUmemAllocationHandleType type, unsigned long long flags) {
  const CUresult result = call.Forward(pool, handle, type, flags);
  // The kind of an imported pool's memory is unknown, so it may be readable on the host.
  if (result == CUDA_SUCCESS) call.pools().SharedMemoryMade();
  return RecordPool(call, EventKind::kImport, result, Output(result, pool));
}

template <typename Call>
CUresult MemPoolExportPointer(const Call& call, CUmemPoolPtrExportData* data, CUdeviceptr dptr) {
  Event event;
  event.kind = EventKind::kExport;
  event.memory = MemoryKind::kDeviceStream;
  event.address = dptr;
  const CUresult result = call.Forward(data, dptr);
  event.result = result;
  Record(call, event);
  return result;
}

template <typename Call>
CUresult MemPoolImportPointer(const Call& call, CUdeviceptr* dptr, CUmemoryPool pool,
                              CUmemPoolPtrExportData* data) {
  Event event;
  event.kind = EventKind::kImport;
  event.memory = MemoryKind::kDeviceStream;
  event.object = ToNumber(pool);
  const CUresult result = call.Forward(dptr, pool, data);
  event.result = result;
  event.address = Output(result, dptr);
  Record(call, event);
  return result;
}

template <typename Call>
CUresult DeviceSetMemPool(const Call& call, CUdevice device, CUmemoryPool pool) {
  return RecordPool(call, EventKind::kPoolSelect, call.Forward(device, pool), ToNumber(pool),
                    static_cast<int16_t>(device));
}

// Also handles cuMemGetDefaultMemPool.
template <typename Call>
CUresult MemGetMemPool(const Call& call, CUmemoryPool* pool, CUmemLocation* location,
                       CUmemAllocationType type) {
  const CUresult result = call.Forward(pool, location, type);
  if (result == CUDA_SUCCESS && pool != nullptr && location != nullptr) {
    NotePoolMemory(call, *pool, PoolMemory(type, *location));
  }
  return result;
}

template <typename Call>
CUresult MemSetMemPool(const Call& call, CUmemLocation* location, CUmemAllocationType type,
                       CUmemoryPool pool) {
  const int16_t device = location == nullptr ? kNoDevice : DeviceOf(*location);
  return RecordPool(call, EventKind::kPoolSelect, call.Forward(location, type, pool),
                    ToNumber(pool), device);
}

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_STREAM_ORDERED_H_
