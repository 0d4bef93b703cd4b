// Handlers for arrays and mipmapped arrays. In their events the array's handle is stored in the
// field for the address.
//
// record.h describes what all handlers have in common.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_ARRAYS_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_ARRAYS_H_

#include "base/keep_errno.h"
#include "interpose/core/handlers/array_bytes.h"
#include "interpose/core/handlers/record.h"

namespace vramstow::handlers {

template <typename Call, typename Array>
CUresult RecordArray(const Call& call, MemoryKind memory, CUresult result, const Array* array,
                     uint64_t bytes, bool has_memory) {
  Event event;
  event.kind = EventKind::kAllocate;
  event.memory = memory;
  event.result = result;
  event.address = Output(result, array);
  event.requested = bytes;
  event.size = has_memory ? bytes : 0;
  event.device = result == CUDA_SUCCESS ? CurrentDevice(call) : kNoDevice;
  Record(call, event);
  return result;
}

template <typename Call, typename Descriptor>
CUresult ArrayCreate(const Call& call, CUarray* array, const Descriptor* description) {
  const CUresult result =
      ForwardWithRoom(call, kNoDevice, [&] { return call.Forward(array, description); });
  return RecordArray(call, MemoryKind::kArray, result, array,
                     description == nullptr ? 0 : BytesOf2D(*description), true);
}

template <typename Call, typename Descriptor>
CUresult Array3DCreate(const Call& call, CUarray* array, const Descriptor* description) {
  const CUresult result =
      ForwardWithRoom(call, kNoDevice, [&] { return call.Forward(array, description); });
  return RecordArray(call, MemoryKind::kArray, result, array,
                     description == nullptr ? 0 : BytesOf3D(*description, 1),
                     description != nullptr && HasMemoryAtOnce(*description));
}

template <typename Call>
CUresult ArrayDestroy(const Call& call, CUarray array) {
  Event event;
  event.kind = EventKind::kFree;
  event.memory = MemoryKind::kArray;
  event.address = ToNumber(array);
  return RecordThenForward(call, event, array);
}

template <typename Call, typename Descriptor>
CUresult MipmappedArrayCreate(const Call& call, CUmipmappedArray* array,
                              const Descriptor* description, unsigned int levels) {
  const CUresult result =
      ForwardWithRoom(call, kNoDevice, [&] { return call.Forward(array, description, levels); });
  return RecordArray(call, MemoryKind::kMipmappedArray, result, array,
                     description == nullptr ? 0 : BytesOf3D(*description, levels),
                     description != nullptr && HasMemoryAtOnce(*description));
}

template <typename Call>
CUresult MipmappedArrayDestroy(const Call& call, CUmipmappedArray array) {
  Event event;
  event.kind = EventKind::kFree;
  event.memory = MemoryKind::kMipmappedArray;
  event.address = ToNumber(array);
  return RecordThenForward(call, event, array);
}

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_ARRAYS_H_
