// Implements the queries of a pointer's attributes.
#include <cuda.h>
#include <string.h>

#include "simulator/driver/context.h"
#include "simulator/driver/host_memory.h"
#include "simulator/driver/pool.h"

namespace vramstow::simulator {
namespace {

constexpr int kNoDevice = -2;  // CU_DEVICE_INVALID

// An address, and the block or mapping that contains it; both are null for an unknown address.
struct Pointer {
  uint64_t address = 0;
  const Block* block = nullptr;
  const Mapping* mapping = nullptr;
  const Physical* physical = nullptr;

  bool Known() const { return block != nullptr || mapping != nullptr; }
  bool OnHost() const {
    if (physical != nullptr) return physical->device == kHost;
    return block != nullptr && !block->OnDevice() && block->kind != BlockKind::kManaged;
  }
};

Pointer LookAt(Call& call, CUdeviceptr address) {
  Pointer pointer;
  pointer.address = address;
  pointer.block = call.machine().memory.FindAround(address);
  if (pointer.block != nullptr) return pointer;
  VirtualMemory& memory = call.machine().virtual_memory;
  pointer.mapping = memory.FindMapping(address);
  if (pointer.mapping != nullptr) pointer.physical = memory.Find(pointer.mapping->physical);
  return pointer;
}

int DeviceOf(Call& call, const Pointer& pointer) {
  if (pointer.physical != nullptr) {
    if (pointer.physical->device != kHost) return pointer.physical->device;
    return call.context() == nullptr ? 0 : call.context()->device;  // a GPU does the same
  }
  if (pointer.block == nullptr) return kNoDevice;
  if (pointer.block->device != kHost) return pointer.block->device;
  return static_cast<const Context*>(pointer.block->owner)->device;
}

template <typename T>
void Put(void* data, T value) {
  memcpy(data, &value, sizeof(value));
}

// As documented, the range of mapped memory is that of the reservation.
void PutRange(Call& call, const Pointer& pointer, bool size, void* data) {
  uint64_t start = 0;
  uint64_t bytes = 0;
  if (pointer.block != nullptr) {
    start = pointer.block->address;
    bytes = pointer.block->requested;
  } else if (pointer.mapping != nullptr) {
    const Reservation* range =
        call.machine().virtual_memory.FindReservation(pointer.mapping->address);
    start = range->address;
    bytes = range->size;
  }
  Put<uint64_t>(data, size ? bytes : start);
}

void PutMapping(const Pointer& pointer, bool size, void* data) {
  const uint64_t start = pointer.mapping != nullptr ? pointer.mapping->address
                         : pointer.block != nullptr ? pointer.block->address
                                                    : 0;
  const uint64_t bytes = pointer.mapping != nullptr ? pointer.mapping->size
                         : pointer.block != nullptr ? pointer.block->requested
                                                    : 0;
  Put<uint64_t>(data, size ? bytes : start);
}

uint64_t IdOf(const Pointer& pointer) {
  if (pointer.block != nullptr) return pointer.block->id;
  return pointer.physical != nullptr ? pointer.physical->id : 0;
}

int AccessOf(Call& call, const Pointer& pointer) {
  if (pointer.mapping == nullptr) return pointer.block != nullptr ? 3 : 0;
  const int device = call.context() == nullptr ? 0 : call.context()->device;
  Access access = Access::kNone;
  const Result result = call.machine().virtual_memory.GetAccess(pointer.address, device, &access);
  return result == Result::kSuccess ? static_cast<int>(access) : 0;
}

bool IsIpcCapable(Call& call, const Pointer& pointer) {
  return (call.machine().spec().without & kIpc) == 0 && pointer.block != nullptr &&
         (pointer.block->kind == BlockKind::kDevice || pointer.block->kind == BlockKind::kPitched);
}

uint64_t HandleTypesOf(const Pointer& pointer) {
  if (pointer.physical != nullptr) return pointer.physical->handle_types;
  const bool pooled = pointer.block != nullptr && pointer.block->pool != nullptr;
  return pooled ? static_cast<const Pool*>(pointer.block->pool)->handle_types : 0;
}

CUresult GetPointerAttribute(Call& call, const Pointer& pointer, int attribute, void* data) {
  const Block* block = pointer.block;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      Put(data, block == nullptr ? nullptr : const_cast<void*>(block->owner));
      break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      Put<unsigned>(data, !pointer.Known()   ? 0
                          : pointer.OnHost() ? CU_MEMORYTYPE_HOST
                                             : CU_MEMORYTYPE_DEVICE);
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      Put<uint64_t>(data, pointer.Known() ? pointer.address : 0);
      break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (block == nullptr || block->OnDevice()) {
        Put<uint64_t>(data, 0);
        return CUDA_ERROR_INVALID_VALUE;
      }
      Put<uint64_t>(data, pointer.address);
      break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      Put<unsigned>(data, (block != nullptr && block->sync_memops) ||
                              (pointer.physical != nullptr && pointer.physical->sync_memops));
      break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      Put<uint64_t>(data, IdOf(pointer));
      break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      Put<unsigned>(data, block != nullptr && block->kind == BlockKind::kManaged);
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      Put<int>(data, DeviceOf(call, pointer));
      break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      Put<unsigned>(data, IsIpcCapable(call, pointer));
      break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      PutRange(call, pointer, false, data);
      break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      PutRange(call, pointer, true, data);
      break;
    case CU_POINTER_ATTRIBUTE_MAPPED:
      Put<unsigned>(data, pointer.Known());
      break;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      Put<uint64_t>(data, HandleTypesOf(pointer));
      break;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      Put<unsigned>(data, 0);
      break;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      Put<int>(data, AccessOf(call, pointer));
      break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      Put<void*>(data, block == nullptr ? nullptr : block->pool);
      break;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      PutMapping(pointer, true, data);
      break;
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      PutMapping(pointer, false, data);
      break;
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      Put<uint64_t>(data, IdOf(pointer));
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

extern "C" {

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  return Serve("cuPointerGetAttribute", Needs::kInit, [&](Call& call) {
    if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Pointer pointer = LookAt(call, address);
    if (!pointer.Known()) return CUDA_ERROR_INVALID_VALUE;
    return GetPointerAttribute(call, pointer, attribute, data);
  });
}

// As documented, an unknown pointer is not an error here; its attributes are null.
CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr address) {
  return Serve("cuPointerGetAttributes", Needs::kInit, [&](Call& call) {
    if (count == 0 || attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Pointer pointer = LookAt(call, address);
    for (unsigned i = 0; i < count; ++i) {
      if (data[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
      const CUresult result = GetPointerAttribute(call, pointer, attributes[i], data[i]);
      if (result != CUDA_SUCCESS && attributes[i] != CU_POINTER_ATTRIBUTE_HOST_POINTER) {
        return result;
      }
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute,
                               CUdeviceptr address) {
  return Serve("cuPointerSetAttribute", Needs::kInit, [&](Call& call) {
    if (value == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    unsigned wish = 0;
    memcpy(&wish, value, sizeof(wish));
    Block* block = call.machine().memory.FindAround(address);
    if (block != nullptr && block->OnDevice()) {
      block->sync_memops = wish != 0;
      return CUDA_SUCCESS;
    }
    VirtualMemory& memory = call.machine().virtual_memory;
    const Mapping* mapping = memory.FindMapping(address);
    Physical* physical = mapping == nullptr ? nullptr : memory.Find(mapping->physical);
    if (physical == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!physical->rdma) return CUDA_ERROR_NOT_SUPPORTED;
    physical->sync_memops = wish != 0;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
