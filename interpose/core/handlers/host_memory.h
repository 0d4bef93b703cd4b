// Handlers for host memory, managed memory, and advice about it.
//
// record.h describes what all handlers have in common.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_HOST_MEMORY_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_HOST_MEMORY_H_

#include "interpose/core/handlers/record.h"

namespace vramstow::handlers {

// Records an allocation whose address is valid on the host, too.
template <typename Call>
CUresult RecordHost(const Call& call, EventKind kind, MemoryKind memory, CUresult result,
                    uint64_t address, uint64_t bytes) {
  Event event;
  event.kind = kind;
  event.memory = memory;
  event.result = result;
  event.address = address;
  event.size = event.requested = bytes;
  Record(call, event);
  if (result == CUDA_SUCCESS) call.pools().SharedMemoryMade();
  return result;
}

template <typename Call>
CUresult MemHostAlloc(const Call& call, void** pp, size_t bytesize, unsigned int flags) {
  const CUresult result = call.Forward(pp, bytesize, flags);
  return RecordHost(call, EventKind::kAllocate, MemoryKind::kHostPinned, result, Output(result, pp),
                    bytesize);
}

template <typename Call, typename Size>
CUresult MemAllocHost(const Call& call, void** pp, Size bytesize) {
  const CUresult result = call.Forward(pp, bytesize);
  return RecordHost(call, EventKind::kAllocate, MemoryKind::kHostPinned, result, Output(result, pp),
                    bytesize);
}

template <typename Call>
CUresult MemFreeHost(const Call& call, void* p) {
  Event event;
  event.kind = EventKind::kFree;
  event.memory = MemoryKind::kHostPinned;
  event.address = ToNumber(p);
  return RecordThenForward(call, event, p);
}

template <typename Call>
CUresult MemHostRegister(const Call& call, void* p, size_t bytesize, unsigned int flags) {
  return RecordHost(call, EventKind::kRegister, MemoryKind::kHostRegistered,
                    call.Forward(p, bytesize, flags), ToNumber(p), bytesize);
}

template <typename Call>
CUresult MemHostUnregister(const Call& call, void* p) {
  Event event;
  event.kind = EventKind::kUnregister;
  event.memory = MemoryKind::kHostRegistered;
  event.address = ToNumber(p);
  return RecordThenForward(call, event, p);
}

template <typename Call>
CUresult MemAllocManaged(const Call& call, CUdeviceptr* dptr, size_t bytesize, unsigned int flags) {
  const CUresult result =
      ForwardWithRoom(call, kNoDevice, [&] { return call.Forward(dptr, bytesize, flags); });
  return RecordHost(call, EventKind::kAllocate, MemoryKind::kManaged, result, Output(result, dptr),
                    bytesize);
}

// Records advice, prefetch or discard. `device` is the device to which the range moves, or
// kNoDevice if it does not move.
template <typename Call>
CUresult RecordAdvice(const Call& call, CUresult result, uint64_t address, uint64_t bytes,
                      int16_t device, uint64_t stream) {
  Event event;
  event.kind = EventKind::kAdvise;
  event.result = result;
  event.address = address;
  event.size = bytes;
  event.device = device;
  event.stream = stream;
  Record(call, event);
  return result;
}

// Returns the device of a location. The first version of these functions gets a device number in
// place of a location; -1 means the host.
constexpr int16_t DeviceOf(CUdevice device) {
  return device < 0 ? kNoDevice : static_cast<int16_t>(device);
}

template <typename Call, typename Location>
CUresult MemAdvise(const Call& call, CUdeviceptr dptr, size_t count, CUmem_advise advice,
                   Location location) {
  return RecordAdvice(call, call.Forward(dptr, count, advice, location), dptr, count,
                      DeviceOf(location), kUnknownStream);
}

template <typename Call>
CUresult MemPrefetchAsync(const Call& call, CUdeviceptr dptr, size_t count, CUdevice device,
                          CUstream stream) {
  return RecordAdvice(call, call.Forward(dptr, count, device, stream), dptr, count,
                      DeviceOf(device), StreamOf(call.site(), stream));
}

template <typename Call>
CUresult MemPrefetchAsync(const Call& call, CUdeviceptr dptr, size_t count, CUmemLocation location,
                          unsigned int flags, CUstream stream) {
  return RecordAdvice(call, call.Forward(dptr, count, location, flags, stream), dptr, count,
                      DeviceOf(location), StreamOf(call.site(), stream));
}

template <typename Call>
void RecordRanges(const Call& call, CUresult result, const CUdeviceptr* dptrs, const size_t* sizes,
                  size_t count, CUstream stream) {
  if (result != CUDA_SUCCESS || dptrs == nullptr || sizes == nullptr) return;
  for (size_t i = 0; i < count; ++i) {
    RecordAdvice(call, result, dptrs[i], sizes[i], kNoDevice, StreamOf(call.site(), stream));
  }
}

template <typename Call>
CUresult MemPrefetchBatchAsync(const Call& call, CUdeviceptr* dptrs, size_t* sizes, size_t count,
                               CUmemLocation* locations, size_t* location_indices,
                               size_t location_count, unsigned long long flags, CUstream stream) {
  const CUresult result =
      call.Forward(dptrs, sizes, count, locations, location_indices, location_count, flags, stream);
  RecordRanges(call, result, dptrs, sizes, count, stream);
  return result;
}

template <typename Call>
CUresult MemDiscardBatchAsync(const Call& call, CUdeviceptr* dptrs, size_t* sizes, size_t count,
                              unsigned long long flags, CUstream stream) {
  const CUresult result = call.Forward(dptrs, sizes, count, flags, stream);
  RecordRanges(call, result, dptrs, sizes, count, stream);
  return result;
}

template <typename Call>
CUresult StreamAttachMemAsync(const Call& call, CUstream stream, CUdeviceptr dptr, size_t length,
                              unsigned int flags) {
  return RecordAdvice(call, call.Forward(stream, dptr, length, flags), dptr, length, kNoDevice,
                      StreamOf(call.site(), stream));
}

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_HOST_MEMORY_H_
