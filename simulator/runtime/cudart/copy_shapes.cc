#include "simulator/runtime/cudart/copy_shapes.h"

#include "simulator/runtime/cudart/formats.h"
#include "simulator/runtime/cudart/registry.h"

namespace vramstow::simulator::cudart {

namespace {

enum class CopyEnd { kSource, kDestination };

// Returns the driver's type of memory for linear memory at this end of a copy.
CUmemorytype MemoryType(cudaMemcpyKind kind, CopyEnd place) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      return CU_MEMORYTYPE_HOST;
    case cudaMemcpyHostToDevice:
      return place == CopyEnd::kSource ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    case cudaMemcpyDeviceToHost:
      return place == CopyEnd::kSource ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    case cudaMemcpyDeviceToDevice:
      return CU_MEMORYTYPE_DEVICE;
    default:
      return CU_MEMORYTYPE_UNIFIED;
  }
}

// The driver stores host pointers and device pointers in two different members.
void SetPointer(CUmemorytype type, const void* pointer, const void** host, CUdeviceptr* device) {
  *host = type == CU_MEMORYTYPE_HOST ? pointer : nullptr;
  *device = type == CU_MEMORYTYPE_HOST ? 0 : Address(pointer);
}

void* Pointer(CUmemorytype type, const void* host, CUdeviceptr device) {
  return type == CU_MEMORYTYPE_HOST ? const_cast<void*>(host) : reinterpret_cast<void*>(device);
}

// Returns the factors that convert to bytes. The runtime measures array positions in elements. It
// also measures the width in elements if the copy uses an array.
cudaError_t ByteScale(CUarray source, CUarray destination, size_t* source_scale,
                      size_t* destination_scale, size_t* width_scale) {
  *source_scale = *destination_scale = *width_scale = 1;
  if (source != nullptr) {
    if (cudaError_t error = ElementSize(source, source_scale); error != cudaSuccess) {
      return error;
    }
    *width_scale = *source_scale;
  }
  if (destination != nullptr) {
    if (cudaError_t error = ElementSize(destination, destination_scale); error != cudaSuccess) {
      return error;
    }
    *width_scale = *destination_scale;
  }
  return cudaSuccess;
}

// Fills the members that CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER have in common.
template <typename Parameters, typename Copy>
cudaError_t Fill3D(const Parameters& parameters, cudaMemcpyKind kind, Copy* copy) {
  auto source = reinterpret_cast<CUarray>(parameters.srcArray);
  auto destination = reinterpret_cast<CUarray>(parameters.dstArray);
  // Each side must be either an array or a pointer.
  if ((source == nullptr) == (parameters.srcPtr.ptr == nullptr) ||
      (destination == nullptr) == (parameters.dstPtr.ptr == nullptr)) {
    return cudaErrorInvalidValue;
  }
  size_t source_scale = 1;
  size_t destination_scale = 1;
  size_t width_scale = 1;
  cudaError_t error =
      ByteScale(source, destination, &source_scale, &destination_scale, &width_scale);
  if (error != cudaSuccess) {
    return error;
  }
  *copy = {};
  if (__builtin_mul_overflow(parameters.srcPos.x, source_scale, &copy->srcXInBytes) ||
      __builtin_mul_overflow(parameters.dstPos.x, destination_scale, &copy->dstXInBytes) ||
      __builtin_mul_overflow(parameters.extent.width, width_scale, &copy->WidthInBytes)) {
    return cudaErrorInvalidValue;
  }
  copy->srcY = parameters.srcPos.y;
  copy->srcZ = parameters.srcPos.z;
  copy->srcMemoryType =
      source != nullptr ? CU_MEMORYTYPE_ARRAY : MemoryType(kind, CopyEnd::kSource);
  copy->srcArray = source;
  SetPointer(copy->srcMemoryType, parameters.srcPtr.ptr, &copy->srcHost, &copy->srcDevice);
  copy->srcPitch = parameters.srcPtr.pitch;
  copy->srcHeight = parameters.srcPtr.ysize;
  copy->dstY = parameters.dstPos.y;
  copy->dstZ = parameters.dstPos.z;
  copy->dstMemoryType =
      destination != nullptr ? CU_MEMORYTYPE_ARRAY : MemoryType(kind, CopyEnd::kDestination);
  copy->dstArray = destination;
  const void* host = nullptr;
  SetPointer(copy->dstMemoryType, parameters.dstPtr.ptr, &host, &copy->dstDevice);
  copy->dstHost = const_cast<void*>(host);
  copy->dstPitch = parameters.dstPtr.pitch;
  copy->dstHeight = parameters.dstPtr.ysize;
  copy->Height = parameters.extent.height;
  copy->Depth = parameters.extent.depth;
  return cudaSuccess;
}

}  // namespace

bool IsDirection(cudaMemcpyKind kind) {
  return kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault;
}

cudaError_t ElementSize(CUarray array, size_t* bytes) {
  CUDA_ARRAY3D_DESCRIPTOR description = {};
  CUresult result = Driver().Array3DGetDescriptor(&description, array);
  if (result != CUDA_SUCCESS) {
    return FromDriver(result);
  }
  *bytes = ChannelBytes(description.Format) * description.NumChannels;
  return *bytes == 0 ? cudaErrorNotSupported : cudaSuccess;
}

cudaError_t Make2D(const Side& destination, const Side& source, size_t width, size_t height,
                   cudaMemcpyKind kind, CUDA_MEMCPY2D* copy) {
  if (!IsDirection(kind)) {
    return cudaErrorInvalidMemcpyDirection;
  }
  // Rows must not overlap. A copy of one row needs no pitch.
  if (height > 1 && ((source.array == nullptr && source.pitch < width) ||
                     (destination.array == nullptr && destination.pitch < width))) {
    return cudaErrorInvalidPitchValue;
  }
  *copy = {};
  copy->srcXInBytes = source.x;
  copy->srcY = source.y;
  copy->srcArray = source.array;
  copy->srcPitch = source.pitch;
  copy->srcMemoryType =
      source.array != nullptr ? CU_MEMORYTYPE_ARRAY : MemoryType(kind, CopyEnd::kSource);
  SetPointer(copy->srcMemoryType, source.pointer, &copy->srcHost, &copy->srcDevice);
  copy->dstXInBytes = destination.x;
  copy->dstY = destination.y;
  copy->dstArray = destination.array;
  copy->dstPitch = destination.pitch;
  copy->dstMemoryType =
      destination.array != nullptr ? CU_MEMORYTYPE_ARRAY : MemoryType(kind, CopyEnd::kDestination);
  const void* host = nullptr;
  SetPointer(copy->dstMemoryType, destination.pointer, &host, &copy->dstDevice);
  copy->dstHost = const_cast<void*>(host);
  copy->WidthInBytes = width;
  copy->Height = height;
  return cudaSuccess;
}

cudaError_t Make3D(const cudaMemcpy3DParms& parameters, CUDA_MEMCPY3D* copy) {
  if (!IsDirection(parameters.kind)) {
    return cudaErrorInvalidMemcpyDirection;
  }
  return Fill3D(parameters, parameters.kind, copy);
}

void Unmake3D(const CUDA_MEMCPY3D& copy, cudaMemcpy3DParms* parameters) {
  *parameters = {};
  size_t source_scale = 1;
  size_t destination_scale = 1;
  size_t width_scale = 1;
  CUarray source = copy.srcMemoryType == CU_MEMORYTYPE_ARRAY ? copy.srcArray : nullptr;
  CUarray destination = copy.dstMemoryType == CU_MEMORYTYPE_ARRAY ? copy.dstArray : nullptr;
  ByteScale(source, destination, &source_scale, &destination_scale, &width_scale);
  parameters->srcArray = reinterpret_cast<cudaArray_t>(source);
  parameters->srcPos = {copy.srcXInBytes / source_scale, copy.srcY, copy.srcZ};
  if (source == nullptr) {
    parameters->srcPtr = {Pointer(copy.srcMemoryType, copy.srcHost, copy.srcDevice), copy.srcPitch,
                          copy.srcPitch, copy.srcHeight};
  }
  parameters->dstArray = reinterpret_cast<cudaArray_t>(destination);
  parameters->dstPos = {copy.dstXInBytes / destination_scale, copy.dstY, copy.dstZ};
  if (destination == nullptr) {
    parameters->dstPtr = {Pointer(copy.dstMemoryType, copy.dstHost, copy.dstDevice), copy.dstPitch,
                          copy.dstPitch, copy.dstHeight};
  }
  parameters->extent = {copy.WidthInBytes / width_scale, copy.Height, copy.Depth};
  bool from_host = copy.srcMemoryType == CU_MEMORYTYPE_HOST;
  bool to_host = copy.dstMemoryType == CU_MEMORYTYPE_HOST;
  if (copy.srcMemoryType == CU_MEMORYTYPE_UNIFIED || copy.dstMemoryType == CU_MEMORYTYPE_UNIFIED) {
    parameters->kind = cudaMemcpyDefault;
  } else if (from_host) {
    parameters->kind = to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
  } else {
    parameters->kind = to_host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
  }
}

cudaError_t Make1D(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind,
                   CUDA_MEMCPY3D* copy) {
  cudaMemcpy3DParms parameters = {};
  parameters.srcPtr = {const_cast<void*>(source), bytes, bytes, 1};
  parameters.dstPtr = {destination, bytes, bytes, 1};
  parameters.extent = {bytes, 1, 1};
  parameters.kind = kind;
  return Make3D(parameters, copy);
}

cudaError_t CopyToSymbol(const void* symbol, const void* source, size_t bytes, size_t offset,
                         cudaMemcpyKind kind, CUDA_MEMCPY3D* copy) {
  CUdeviceptr base = 0;
  size_t size = 0;
  if (cudaError_t error = FindVariable(symbol, &base, &size); error != cudaSuccess) {
    return error;
  }
  if (offset > size || bytes > size - offset) {
    return cudaErrorInvalidValue;
  }
  return Make1D(reinterpret_cast<void*>(base + offset), source, bytes, kind, copy);
}

cudaError_t CopyFromSymbol(void* destination, const void* symbol, size_t bytes, size_t offset,
                           cudaMemcpyKind kind, CUDA_MEMCPY3D* copy) {
  CUdeviceptr base = 0;
  size_t size = 0;
  if (cudaError_t error = FindVariable(symbol, &base, &size); error != cudaSuccess) {
    return error;
  }
  if (offset > size || bytes > size - offset) {
    return cudaErrorInvalidValue;
  }
  return Make1D(destination, reinterpret_cast<void*>(base + offset), bytes, kind, copy);
}

cudaError_t MakePeer3D(const cudaMemcpy3DPeerParms& parameters, CUDA_MEMCPY3D_PEER* copy) {
  cudaError_t error = Fill3D(parameters, cudaMemcpyDeviceToDevice, copy);
  if (error == cudaSuccess) {
    error = RetainPrimary(parameters.srcDevice, &copy->srcContext);
  }
  if (error == cudaSuccess) {
    error = RetainPrimary(parameters.dstDevice, &copy->dstContext);
  }
  return error;
}

}  // namespace vramstow::simulator::cudart
