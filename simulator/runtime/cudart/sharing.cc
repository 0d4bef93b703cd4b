// Implements the import of memory and events from other processes and other programming interfaces,
// and the driver's log.
#include <cstring>

#include "simulator/runtime/cudart/formats.h"
#include "simulator/runtime/cudart/runtime.h"

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

static_assert(sizeof(cudaExternalMemoryHandleDesc) <= sizeof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC));

namespace {

CUexternalMemory Memory(cudaExternalMemory_t memory) {
  return reinterpret_cast<CUexternalMemory>(memory);
}

CUarray_format FormatOf(const cudaChannelFormatDesc& description, unsigned* channels,
                        cudaError_t* error) {
  CUarray_format format = CU_AD_FORMAT_FLOAT;
  *error = ToFormat(description, &format, channels);
  return format;
}

}  // namespace

cudaError_t cudaImportExternalMemory(cudaExternalMemory_t* memory,
                                     const cudaExternalMemoryHandleDesc* description) {
  return Call([&](const DriverTable& driver) {
    if (description == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC handle = {};
    handle.type = static_cast<CUexternalMemoryHandleType>(description->type);
    static_assert(sizeof(handle.handle) == sizeof(description->handle));
    memcpy(&handle.handle, &description->handle, sizeof(handle.handle));
    handle.size = description->size;
    handle.flags = description->flags;
    return driver.ImportExternalMemory(SameLayout<CUexternalMemory>(memory), &handle);
  });
}

cudaError_t cudaExternalMemoryGetMappedBuffer(void** pointer, cudaExternalMemory_t memory,
                                              const cudaExternalMemoryBufferDesc* description) {
  return Call([&](const DriverTable& driver) {
    if (description == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer = {};
    buffer.offset = description->offset;
    buffer.size = description->size;
    buffer.flags = description->flags;
    return driver.ExternalMemoryGetMappedBuffer(reinterpret_cast<CUdeviceptr*>(pointer),
                                                Memory(memory), &buffer);
  });
}

cudaError_t cudaExternalMemoryGetMappedMipmappedArray(
    cudaMipmappedArray_t* array, cudaExternalMemory_t memory,
    const cudaExternalMemoryMipmappedArrayDesc* description) {
  return Call([&](const DriverTable& driver) {
    if (description == nullptr) {
      return cudaErrorInvalidValue;
    }
    cudaError_t error = cudaSuccess;
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC wanted = {};
    wanted.offset = description->offset;
    wanted.arrayDesc.Width = description->extent.width;
    wanted.arrayDesc.Height = description->extent.height;
    wanted.arrayDesc.Depth = description->extent.depth;
    wanted.arrayDesc.Format =
        FormatOf(description->formatDesc, &wanted.arrayDesc.NumChannels, &error);
    wanted.arrayDesc.Flags = description->flags;
    wanted.numLevels = description->numLevels;
    return error != cudaSuccess
               ? error
               : FromDriver(driver.ExternalMemoryGetMappedMipmappedArray(
                     reinterpret_cast<CUmipmappedArray*>(array), Memory(memory), &wanted));
  });
}

cudaError_t cudaImportExternalSemaphore(cudaExternalSemaphore_t* semaphore,
                                        const cudaExternalSemaphoreHandleDesc* description) {
  return Call([&](const DriverTable& driver) {
    if (description == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC handle = {};
    handle.type = static_cast<CUexternalSemaphoreHandleType>(description->type);
    static_assert(sizeof(handle.handle) == sizeof(description->handle));
    memcpy(&handle.handle, &description->handle, sizeof(handle.handle));
    handle.flags = description->flags;
    return driver.ImportExternalSemaphore(SameLayout<CUexternalSemaphore>(semaphore), &handle);
  });
}

cudaError_t cudaLogsRegisterCallback(cudaLogsCallback_t callback, void* user_data,
                                     cudaLogsCallbackHandle* handle) {
  return CallWithoutContext([&](const DriverTable& driver) {
    // The two callback types differ only in the name of the severity's enumeration.
    return driver.LogsRegisterCallback(reinterpret_cast<CUlogsCallback>(callback), user_data,
                                       SameLayout<CUlogsCallbackHandle>(handle));
  });
}
