// Implements arrays and mipmapped arrays.
#include "simulator/runtime/cudart/formats.h"
#include "simulator/runtime/cudart/runtime.h"

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

namespace {

CUarray Array(cudaArray_const_t array) {
  return reinterpret_cast<CUarray>(const_cast<cudaArray*>(array));
}

CUmipmappedArray Mipmap(cudaMipmappedArray_const_t array) {
  return reinterpret_cast<CUmipmappedArray>(const_cast<cudaMipmappedArray*>(array));
}

cudaError_t Describe(const cudaChannelFormatDesc* format, const cudaExtent& extent, unsigned flags,
                     CUDA_ARRAY3D_DESCRIPTOR* description) {
  if (format == nullptr) {
    return cudaErrorInvalidValue;
  }
  *description = {};
  description->Width = extent.width;
  description->Height = extent.height;
  description->Depth = extent.depth;
  // The flags have the same values in the headers of the runtime and of the driver.
  description->Flags = flags;
  return ToFormat(*format, &description->Format, &description->NumChannels);
}

}  // namespace

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                            cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, size_t width,
                            size_t height, unsigned flags) {
  return cudaMalloc3DArray(array, format, {width, height, 0}, flags);
}

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format,
                              cudaExtent extent, unsigned flags) {
  return Call([&](const DriverTable& driver) {
    CUDA_ARRAY3D_DESCRIPTOR description;
    cudaError_t error = Describe(format, extent, flags, &description);
    return error != cudaSuccess
               ? error
               : FromDriver(driver.Array3DCreate(reinterpret_cast<CUarray*>(array), &description));
  });
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* array,
                                     const cudaChannelFormatDesc* format, cudaExtent extent,
                                     unsigned levels, unsigned flags) {
  return Call([&](const DriverTable& driver) {
    CUDA_ARRAY3D_DESCRIPTOR description;
    cudaError_t error = Describe(format, extent, flags, &description);
    return error != cudaSuccess
               ? error
               : FromDriver(driver.MipmappedArrayCreate(reinterpret_cast<CUmipmappedArray*>(array),
                                                        &description, levels));
  });
}

cudaError_t cudaFreeArray(cudaArray_t array) {
  return Call([&](const DriverTable& driver) {
    return array == nullptr ? CUDA_SUCCESS : driver.ArrayDestroy(Array(array));
  });
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array) {
  return Call([&](const DriverTable& driver) {
    return array == nullptr ? CUDA_SUCCESS : driver.MipmappedArrayDestroy(Mipmap(array));
  });
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t* level_array, cudaMipmappedArray_const_t array,
                                       unsigned level) {
  return Call([&](const DriverTable& driver) {
    return driver.MipmappedArrayGetLevel(reinterpret_cast<CUarray*>(level_array), Mipmap(array),
                                         level);
  });
}

cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned* flags,
                             cudaArray_t array) {
  return Call([&](const DriverTable& driver) {
    CUDA_ARRAY3D_DESCRIPTOR description = {};
    CUresult result = driver.Array3DGetDescriptor(&description, Array(array));
    if (result != CUDA_SUCCESS) {
      return FromDriver(result);
    }
    if (extent != nullptr) {
      *extent = {description.Width, description.Height, description.Depth};
    }
    if (flags != nullptr) {
      *flags = description.Flags;
    }
    return format == nullptr ? cudaSuccess
                             : FromFormat(description.Format, description.NumChannels, format);
  });
}

cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, cudaArray_const_t array) {
  return cudaArrayGetInfo(format, nullptr, nullptr, const_cast<cudaArray_t>(array));
}

cudaError_t cudaArrayGetMemoryRequirements(cudaArrayMemoryRequirements* requirements,
                                           cudaArray_t array, int device) {
  return Call([&](const DriverTable& driver) {
    CUdevice handle = 0;
    cudaError_t error = FindDevice(device, &handle);
    return error != cudaSuccess ? error
                                : FromDriver(driver.ArrayGetMemoryRequirements(
                                      SameLayout<CUDA_ARRAY_MEMORY_REQUIREMENTS>(requirements),
                                      Array(array), handle));
  });
}

cudaError_t cudaMipmappedArrayGetMemoryRequirements(cudaArrayMemoryRequirements* requirements,
                                                    cudaMipmappedArray_t array, int device) {
  return Call([&](const DriverTable& driver) {
    CUdevice handle = 0;
    cudaError_t error = FindDevice(device, &handle);
    return error != cudaSuccess ? error
                                : FromDriver(driver.MipmappedArrayGetMemoryRequirements(
                                      SameLayout<CUDA_ARRAY_MEMORY_REQUIREMENTS>(requirements),
                                      Mipmap(array), handle));
  });
}
