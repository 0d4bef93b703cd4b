#include "simulator/driver/array.h"

#include <algorithm>

#include "simulator/device/sizes.h"
#include "simulator/driver/capture.h"
#include "simulator/driver/context.h"

namespace vramstow::simulator {
namespace {

Handles<Array>& Arrays() {
  static auto* arrays = new Handles<Array>;
  return *arrays;
}

// Returns the bytes of one channel, or 0 for an unknown format.
uint64_t ChannelBytes(CUarray_format format) {
  switch (static_cast<int>(format)) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return 4;
    default:
      return 0;
  }
}

}  // namespace

Array* FindArray(const void* handle) { return Arrays().Find(handle); }

void RemoveArraysOf(const Context* context) {
  const std::unordered_set<const void*> handles = Arrays().all();
  for (const void* handle : handles) {
    Array* array = FindArray(handle);
    if (array->owner == context) Arrays().Remove(array);
  }
}

uint64_t BytesOfElement(const Array& array) {
  return ChannelBytes(array.shape.Format) * array.shape.NumChannels;
}

}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

namespace {

CUresult CreateArray(const char* name, CUarray* handle, const CUDA_ARRAY3D_DESCRIPTOR& shape) {
  const uint64_t pitch = MultiplySizes(ChannelBytes(shape.Format) * shape.NumChannels, shape.Width);
  const uint64_t height = std::max<uint64_t>(shape.Height, 1);
  const uint64_t bytes =
      MultiplySizes(MultiplySizes(pitch, height), std::max<uint64_t>(shape.Depth, 1));
  return ServeMemory(
      name, Needs::kContext, {.bytes = bytes}, [&](Call& call, Call::Line& line) -> CUresult {
        if (handle == nullptr || bytes == 0 || bytes == kHugeSize) return CUDA_ERROR_INVALID_VALUE;
        if (shape.NumChannels != 1 && shape.NumChannels != 2 && shape.NumChannels != 4) {
          return CUDA_ERROR_INVALID_VALUE;
        }
        const CUresult refused = RefuseUnsafe(call);
        if (refused != CUDA_SUCCESS) return refused;
        Block* block = nullptr;
        const Result result = call.machine().memory.Allocate(
            call.device(), bytes, BlockKind::kArray, call.context(), &block);
        if (result != Result::kSuccess) return ToDriver(result);
        auto array = std::make_unique<Array>(
            Array{block->address, pitch, height, bytes, call.context(), shape});
        Array* made = Arrays().Add(std::move(array));
        *handle = reinterpret_cast<CUarray>(made);
        line.address = reinterpret_cast<uintptr_t>(made);
        return CUDA_SUCCESS;
      });
}

}  // namespace

extern "C" {

CUresult cuArrayCreate(CUarray* handle, const CUDA_ARRAY_DESCRIPTOR* flat) {
  if (flat == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_ARRAY3D_DESCRIPTOR shape = {};
  shape.Width = flat->Width;
  shape.Height = flat->Height;
  shape.Format = flat->Format;
  shape.NumChannels = flat->NumChannels;
  return CreateArray("cuArrayCreate", handle, shape);
}

CUresult cuArray3DCreate(CUarray* handle, const CUDA_ARRAY3D_DESCRIPTOR* shape) {
  if (shape == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return CreateArray("cuArray3DCreate", handle, *shape);
}

CUresult cuArrayDestroy(CUarray handle) {
  return ServeMemory("cuArrayDestroy", Needs::kContext,
                     {.address = reinterpret_cast<uintptr_t>(handle)},
                     [&](Call& call, Call::Line& line) -> CUresult {
                       Array* array = FindArray(handle);
                       if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
                       line.bytes = array->bytes;
                       line.device = array->owner->device;
                       const CUresult refused = RefuseUnsafe(call);
                       if (refused != CUDA_SUCCESS) return refused;
                       const CUresult waited = WaitForContext(&call.state(), *array->owner);
                       if (waited != CUDA_SUCCESS) return waited;
                       array = FindArray(handle);
                       if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
                       Memory& memory = call.machine().memory;
                       memory.Release(memory.FindExact(array->address));
                       Arrays().Remove(array);
                       return CUDA_SUCCESS;
                     });
}

CUresult cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR* shape, CUarray handle) {
  return Serve("cuArray3DGetDescriptor", Needs::kContext, [&](Call&) {
    const Array* array = FindArray(handle);
    if (shape == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *shape = array->shape;
    return CUDA_SUCCESS;
  });
}

CUresult cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR* flat, CUarray handle) {
  return Serve("cuArrayGetDescriptor", Needs::kContext, [&](Call&) {
    const Array* array = FindArray(handle);
    if (flat == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    flat->Width = array->shape.Width;
    flat->Height = array->shape.Height;
    flat->Format = array->shape.Format;
    flat->NumChannels = array->shape.NumChannels;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
