// Handlers for cuMemAlloc and similar functions.
//
// record.h describes what all handlers have in common.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_DEVICE_MEMORY_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_DEVICE_MEMORY_H_

#include "interpose/core/handlers/record.h"

namespace vramstow::handlers {

template <typename Call, typename Pointer, typename Size>
CUresult MemAlloc(const Call& call, Pointer* dptr, Size bytesize) {
  if constexpr (kPoolable<Pointer>) {
    const PoolAnswer answer = call.pools().Allocate(call.site(), {.size = bytesize}, dptr);
    if (answer != PoolAnswer::kAskDriver) return ResultOf(answer);
  }
  Event event;
  event.kind = EventKind::kAllocate;
  event.memory = MemoryKind::kDevice;
  event.device = DeviceBeforeAllocation(call);
  const CUresult result =
      ForwardWithRoom(call, event.device, [&] { return call.Forward(dptr, bytesize); });
  event.result = result;
  event.address = Output(result, dptr);
  event.size = event.requested = bytesize;
  Record(call, event);
  return result;
}

template <typename Call, typename Pointer, typename Size>
CUresult MemAllocPitch(const Call& call, Pointer* dptr, Size* pitch, Size width, Size height,
                       unsigned int element_size) {
  if constexpr (kPoolable<Pointer>) {
    const PoolAnswer answer =
        call.pools().AllocatePitched(call.site(), dptr, pitch, {width, height, element_size});
    if (answer != PoolAnswer::kAskDriver) return ResultOf(answer);
  }
  Event event;
  event.kind = EventKind::kAllocate;
  event.memory = MemoryKind::kDevicePitched;
  event.device = DeviceBeforeAllocation(call);
  const CUresult result = ForwardWithRoom(
      call, event.device, [&] { return call.Forward(dptr, pitch, width, height, element_size); });
  event.result = result;
  event.address = Output(result, dptr);
  event.requested = uint64_t{width} * height;
  event.size = result == CUDA_SUCCESS ? Output(result, pitch) * height : event.requested;
  Record(call, event);
  return result;
}

// Frees memory with a device address, however it was allocated. The event has memory kind "device"
// in every case.
template <typename Call, typename Pointer>
CUresult MemFree(const Call& call, Pointer dptr) {
  if constexpr (kPoolable<Pointer>) {
    CUresult result;
    if (call.pools().Free(call.site(), dptr, &result)) return result;
  }
  Event event;
  event.kind = EventKind::kFree;
  event.memory = MemoryKind::kDevice;
  event.address = dptr;
  return RecordThenForward(call, event, dptr);
}

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_DEVICE_MEMORY_H_
