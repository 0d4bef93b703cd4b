// Implements texture and surface objects.
#include <cstring>

#include "simulator/runtime/cudart/formats.h"
#include "simulator/runtime/cudart/runtime.h"

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

static_assert(sizeof(cudaResourceViewDesc) <= sizeof(CUDA_RESOURCE_VIEW_DESC));

namespace {

cudaError_t ToDriver(const cudaResourceDesc& resource, CUDA_RESOURCE_DESC* result) {
  *result = {};
  result->flags = resource.flags;
  switch (resource.resType) {
    case cudaResourceTypeArray:
      result->resType = CU_RESOURCE_TYPE_ARRAY;
      result->res.array.hArray = reinterpret_cast<CUarray>(resource.res.array.array);
      return cudaSuccess;
    case cudaResourceTypeMipmappedArray:
      result->resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
      result->res.mipmap.hMipmappedArray =
          reinterpret_cast<CUmipmappedArray>(resource.res.mipmap.mipmap);
      return cudaSuccess;
    case cudaResourceTypeLinear:
      result->resType = CU_RESOURCE_TYPE_LINEAR;
      result->res.linear.devPtr = Address(resource.res.linear.devPtr);
      result->res.linear.sizeInBytes = resource.res.linear.sizeInBytes;
      return ToFormat(resource.res.linear.desc, &result->res.linear.format,
                      &result->res.linear.numChannels);
    case cudaResourceTypePitch2D:
      result->resType = CU_RESOURCE_TYPE_PITCH2D;
      result->res.pitch2D.devPtr = Address(resource.res.pitch2D.devPtr);
      result->res.pitch2D.width = resource.res.pitch2D.width;
      result->res.pitch2D.height = resource.res.pitch2D.height;
      result->res.pitch2D.pitchInBytes = resource.res.pitch2D.pitchInBytes;
      return ToFormat(resource.res.pitch2D.desc, &result->res.pitch2D.format,
                      &result->res.pitch2D.numChannels);
    default:
      return cudaErrorInvalidValue;
  }
}

cudaError_t Unmake(const CUDA_RESOURCE_DESC& resource, cudaResourceDesc* result) {
  *result = {};
  result->flags = resource.flags;
  switch (resource.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
      result->resType = cudaResourceTypeArray;
      result->res.array.array = reinterpret_cast<cudaArray_t>(resource.res.array.hArray);
      return cudaSuccess;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      result->resType = cudaResourceTypeMipmappedArray;
      result->res.mipmap.mipmap =
          reinterpret_cast<cudaMipmappedArray_t>(resource.res.mipmap.hMipmappedArray);
      return cudaSuccess;
    case CU_RESOURCE_TYPE_LINEAR:
      result->resType = cudaResourceTypeLinear;
      result->res.linear.devPtr = reinterpret_cast<void*>(resource.res.linear.devPtr);
      result->res.linear.sizeInBytes = resource.res.linear.sizeInBytes;
      return FromFormat(resource.res.linear.format, resource.res.linear.numChannels,
                        &result->res.linear.desc);
    case CU_RESOURCE_TYPE_PITCH2D:
      result->resType = cudaResourceTypePitch2D;
      result->res.pitch2D.devPtr = reinterpret_cast<void*>(resource.res.pitch2D.devPtr);
      result->res.pitch2D.width = resource.res.pitch2D.width;
      result->res.pitch2D.height = resource.res.pitch2D.height;
      result->res.pitch2D.pitchInBytes = resource.res.pitch2D.pitchInBytes;
      return FromFormat(resource.res.pitch2D.format, resource.res.pitch2D.numChannels,
                        &result->res.pitch2D.desc);
    default:
      return cudaErrorInvalidValue;
  }
}

CUDA_TEXTURE_DESC ToDriver(const cudaTextureDesc& texture) {
  CUDA_TEXTURE_DESC result = {};
  for (int i = 0; i < 3; ++i) {
    result.addressMode[i] = static_cast<CUaddress_mode>(texture.addressMode[i]);
  }
  result.filterMode = static_cast<CUfilter_mode>(texture.filterMode);
  result.flags =
      (texture.readMode == cudaReadModeElementType ? CU_TRSF_READ_AS_INTEGER : 0u) |
      (texture.normalizedCoords != 0 ? CU_TRSF_NORMALIZED_COORDINATES : 0u) |
      (texture.sRGB != 0 ? CU_TRSF_SRGB : 0u) |
      (texture.disableTrilinearOptimization != 0 ? CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION : 0u) |
      (texture.seamlessCubemap != 0 ? CU_TRSF_SEAMLESS_CUBEMAP : 0u);
  result.maxAnisotropy = texture.maxAnisotropy;
  result.mipmapFilterMode = static_cast<CUfilter_mode>(texture.mipmapFilterMode);
  result.mipmapLevelBias = texture.mipmapLevelBias;
  result.minMipmapLevelClamp = texture.minMipmapLevelClamp;
  result.maxMipmapLevelClamp = texture.maxMipmapLevelClamp;
  memcpy(result.borderColor, texture.borderColor, sizeof(result.borderColor));
  return result;
}

cudaTextureDesc Unmake(const CUDA_TEXTURE_DESC& texture) {
  cudaTextureDesc result = {};
  for (int i = 0; i < 3; ++i) {
    result.addressMode[i] = static_cast<cudaTextureAddressMode>(texture.addressMode[i]);
  }
  result.filterMode = static_cast<cudaTextureFilterMode>(texture.filterMode);
  result.readMode = (texture.flags & CU_TRSF_READ_AS_INTEGER) != 0 ? cudaReadModeElementType
                                                                   : cudaReadModeNormalizedFloat;
  result.normalizedCoords = (texture.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
  result.sRGB = (texture.flags & CU_TRSF_SRGB) != 0;
  result.disableTrilinearOptimization =
      (texture.flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION) != 0;
  result.seamlessCubemap = (texture.flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0;
  result.maxAnisotropy = texture.maxAnisotropy;
  result.mipmapFilterMode = static_cast<cudaTextureFilterMode>(texture.mipmapFilterMode);
  result.mipmapLevelBias = texture.mipmapLevelBias;
  result.minMipmapLevelClamp = texture.minMipmapLevelClamp;
  result.maxMipmapLevelClamp = texture.maxMipmapLevelClamp;
  memcpy(result.borderColor, texture.borderColor, sizeof(result.borderColor));
  return result;
}

}  // namespace

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* texture,
                                    const cudaResourceViewDesc* view) {
  return Call([&](const DriverTable& driver) {
    if (resource == nullptr || texture == nullptr) {
      return cudaErrorInvalidValue;
    }
    CUDA_RESOURCE_DESC driver_resource;
    cudaError_t error = ToDriver(*resource, &driver_resource);
    if (error != cudaSuccess) {
      return error;
    }
    CUDA_TEXTURE_DESC driver_texture = ToDriver(*texture);
    CUDA_RESOURCE_VIEW_DESC driver_view = {};
    if (view != nullptr) {
      memcpy(&driver_view, view, sizeof(*view));
    }
    return FromDriver(driver.TexObjectCreate(object, &driver_resource, &driver_texture,
                                             view == nullptr ? nullptr : &driver_view));
  });
}

cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource,
                                             cudaTextureObject_t object) {
  return Call([&](const DriverTable& driver) {
    CUDA_RESOURCE_DESC driver_resource = {};
    CUresult result = resource == nullptr
                          ? CUDA_ERROR_INVALID_VALUE
                          : driver.TexObjectGetResourceDesc(&driver_resource, object);
    return result != CUDA_SUCCESS ? ToError(result) : Unmake(driver_resource, resource);
  });
}

cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* texture, cudaTextureObject_t object) {
  return Call([&](const DriverTable& driver) {
    CUDA_TEXTURE_DESC driver_texture = {};
    CUresult result = texture == nullptr ? CUDA_ERROR_INVALID_VALUE
                                         : driver.TexObjectGetTextureDesc(&driver_texture, object);
    if (result == CUDA_SUCCESS) {
      *texture = Unmake(driver_texture);
    }
    return result;
  });
}

cudaError_t cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc* view,
                                                 cudaTextureObject_t object) {
  return Call([&](const DriverTable& driver) {
    CUDA_RESOURCE_VIEW_DESC driver_view = {};
    CUresult result = view == nullptr ? CUDA_ERROR_INVALID_VALUE
                                      : driver.TexObjectGetResourceViewDesc(&driver_view, object);
    if (result == CUDA_SUCCESS) {
      memcpy(view, &driver_view, sizeof(*view));
    }
    return result;
  });
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object, const cudaResourceDesc* resource) {
  return Call([&](const DriverTable& driver) {
    CUDA_RESOURCE_DESC driver_resource;
    cudaError_t error =
        resource == nullptr ? cudaErrorInvalidValue : ToDriver(*resource, &driver_resource);
    return error != cudaSuccess ? error
                                : ToError(driver.SurfObjectCreate(object, &driver_resource));
  });
}

cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* resource,
                                             cudaSurfaceObject_t object) {
  return Call([&](const DriverTable& driver) {
    CUDA_RESOURCE_DESC driver_resource = {};
    CUresult result = resource == nullptr
                          ? CUDA_ERROR_INVALID_VALUE
                          : driver.SurfObjectGetResourceDesc(&driver_resource, object);
    return result != CUDA_SUCCESS ? ToError(result) : Unmake(driver_resource, resource);
  });
}
