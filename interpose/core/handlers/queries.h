// Handlers for functions that return information about memory.
//
// record.h describes what all handlers have in common.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_QUERIES_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_QUERIES_H_

#include "base/typed_event.h"
#include "interpose/core/handlers/record.h"

namespace vramstow::handlers {

// Changes the driver's numbers of free and total bytes to those that this process can use
// (AdjustMemoryInfo). One of the pointers may be null.
template <typename Call>
void AdjustAnswer(const Call& call, size_t* free_bytes, size_t* total_bytes) {
  size_t free = 0;
  size_t total = 0;
  if (free_bytes == nullptr || total_bytes == nullptr) {
    if (free_bytes == total_bytes || call.Forward(&free, &total) != CUDA_SUCCESS) return;
  } else {
    free = *free_bytes;
    total = *total_bytes;
  }
  call.pools().AdjustMemoryInfo(&free, &total);
  if (free_bytes != nullptr) *free_bytes = free;
  if (total_bytes != nullptr) *total_bytes = total;
}

template <typename Call, typename Size>
CUresult MemGetInfo(const Call& call, Size* free_bytes, Size* total_bytes) {
  // If a context ended without a hooked call, its pool is closed first, so that its memory is not
  // counted.
  call.pools().CloseEnded();
  const CUresult result = call.Forward(free_bytes, total_bytes);
  if constexpr (std::is_same_v<Size, size_t>) {
    if (result == CUDA_SUCCESS) AdjustAnswer(call, free_bytes, total_bytes);
  }
  const int16_t device = result == CUDA_SUCCESS ? CurrentDevice(call) : kNoDevice;
  const DeviceMemoryInfo answer = {device, Output(result, free_bytes), Output(result, total_bytes)};
  Event event = answer.ToEvent();
  event.result = result;
  Record(call, event);
  return result;
}

// The driver does not know the address of this variable as device memory. If a program asks about
// an address of the pool that is in no live block, the driver is asked about this address instead.
// So the caller gets the driver's own error.
inline const char kUnknownMemory = 0;
inline CUdeviceptr UnknownAddress() { return reinterpret_cast<CUdeviceptr>(&kUnknownMemory); }

template <typename Call, typename Pointer, typename Size>
CUresult MemGetAddressRange(const Call& call, Pointer* base, Size* size, Pointer address) {
  if constexpr (kPoolable<Pointer>) {
    PooledBlock block;
    if (call.pools().FindMapped(address, &block)) {
      if (block.size == 0) return call.Forward(base, size, UnknownAddress());
      if (base != nullptr) *base = block.address;
      if (size != nullptr) *size = block.size;
      return CUDA_SUCCESS;
    }
  }
  return call.Forward(base, size, address);
}

// While a page of the pool lies on the host, it may have a host address, but memory of cuMemAlloc
// never has one. So if the program asks for the host address, the driver is asked about an address
// that it does not know.
inline CUdeviceptr AskedAddress(CUpointer_attribute attribute, CUdeviceptr address) {
  return attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER ? UnknownAddress() : address;
}

template <typename Call>
CUresult PointerGetAttribute(const Call& call, void* data, CUpointer_attribute attribute,
                             CUdeviceptr address) {
  PooledBlock block;
  if (!call.pools().FindMapped(address, &block)) return call.Forward(data, attribute, address);
  if (block.size == 0) return call.Forward(data, attribute, UnknownAddress());
  if (data != nullptr && call.pools().Attribute(block, address, attribute, data)) {
    return CUDA_SUCCESS;
  }
  return call.Forward(data, attribute, AskedAddress(attribute, address));
}

// Asks the driver only for attributes that the pool cannot answer. It asks for one attribute at a
// time, because the driver may refuse some of them. For an attribute that the memory does not have,
// the driver returns null and no error.
template <typename Call>
CUresult PointerGetAttributes(const Call& call, unsigned int count, CUpointer_attribute* attributes,
                              void** data, CUdeviceptr address) {
  PooledBlock block;
  if (!call.pools().FindMapped(address, &block))
    return call.Forward(count, attributes, data, address);
  if (block.size == 0) return call.Forward(count, attributes, data, UnknownAddress());
  if (count == 0 || attributes == nullptr || data == nullptr) {
    return call.Forward(count, attributes, data, address);
  }
  for (unsigned int i = 0; i < count; ++i) {
    if (data[i] != nullptr && call.pools().Attribute(block, address, attributes[i], data[i])) {
      continue;
    }
    const CUresult result =
        call.Forward(1U, attributes + i, data + i, AskedAddress(attributes[i], address));
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_QUERIES_H_
