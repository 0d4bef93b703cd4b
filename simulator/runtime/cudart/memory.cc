// Implements device, managed and host memory, pointer attributes, advice and symbols.
#include "simulator/runtime/cudart/registry.h"
#include "simulator/runtime/cudart/runtime.h"

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

namespace {

CUdeviceptr* AddressOut(void** pointer) { return reinterpret_cast<CUdeviceptr*>(pointer); }

// Fills the attributes of a pointer from the results of the driver's queries.
void DescribePointer(unsigned memory_type, bool managed, cudaPointerAttributes* attributes,
                     const void* pointer) {
  if (managed) {
    attributes->type = cudaMemoryTypeManaged;
  } else if (memory_type == CU_MEMORYTYPE_HOST) {
    attributes->type = cudaMemoryTypeHost;
  } else if (memory_type == 0) {
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = cudaInvalidDeviceId;
    attributes->devicePointer = nullptr;
    attributes->hostPointer = const_cast<void*>(pointer);
  } else {
    attributes->type = cudaMemoryTypeDevice;
  }
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return Call([&](const DriverTable& driver) {
    if (pointer == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (bytes == 0) {
      *pointer = nullptr;
      return CUDA_SUCCESS;
    }
    return driver.MemAlloc(AddressOut(pointer), bytes);
  });
}

cudaError_t cudaFree(void* pointer) {
  return Call([&](const DriverTable& driver) {
    return pointer == nullptr ? CUDA_SUCCESS : driver.MemFree(Address(pointer));
  });
}

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
  return Call([&](const DriverTable& driver) {
    if (pointer == nullptr || bytes == 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return driver.MemAllocManaged(AddressOut(pointer), bytes, flags);
  });
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return Call([&](const DriverTable& driver) {
    if (pointer == nullptr || pitch == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (width == 0 || height == 0) {
      *pointer = nullptr;
      *pitch = 0;
      return CUDA_SUCCESS;
    }
    // Rows have to be aligned for the widest access that a kernel may make.
    constexpr unsigned kElementBytes = 16;
    return driver.MemAllocPitch(AddressOut(pointer), pitch, width, height, kElementBytes);
  });
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent) {
  if (pitched == nullptr) {
    return Leave(cudaErrorInvalidValue);
  }
  void* pointer = nullptr;
  size_t pitch = 0;
  size_t rows = 0;
  if (__builtin_mul_overflow(extent.height, extent.depth, &rows)) {
    return Leave(cudaErrorInvalidValue);
  }
  cudaError_t error = cudaMallocPitch(&pointer, &pitch, extent.width, rows);
  if (error == cudaSuccess) {
    *pitched = {pointer, pitch, extent.width, extent.height};
  }
  return error;
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return cudaHostAlloc(pointer, bytes, cudaHostAllocDefault);
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  return Call([&](const DriverTable& driver) {
    if (pointer == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (bytes == 0) {
      *pointer = nullptr;
      return CUDA_SUCCESS;
    }
    return driver.MemHostAlloc(pointer, bytes, flags);
  });
}

cudaError_t cudaFreeHost(void* pointer) {
  return Call([&](const DriverTable& driver) {
    return pointer == nullptr ? CUDA_SUCCESS : driver.MemFreeHost(pointer);
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return Call([&](const DriverTable& driver) {
    if (attributes == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    unsigned memory_type = 0;
    unsigned managed = 0;
    *attributes = {};
    CUpointer_attribute names[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
        CU_POINTER_ATTRIBUTE_HOST_POINTER};
    void* values[] = {&memory_type, &managed, &attributes->device, &attributes->devicePointer,
                      &attributes->hostPointer};
    CUresult result = driver.PointerGetAttributes(5, names, values, Address(pointer));
    if (result == CUDA_SUCCESS) {
      DescribePointer(memory_type, managed != 0, attributes, pointer);
    }
    return result;
  });
}

cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice,
                          cudaMemLocation location) {
  return Call([&](const DriverTable& driver) {
    CUmemLocation where = {};
    where.type = static_cast<CUmemLocationType>(location.type);
    where.id = location.id;
    return driver.MemAdvise(Address(pointer), bytes, static_cast<CUmem_advise>(advice), where);
  });
}

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  return Call([&](const DriverTable&) {
    return address == nullptr ? cudaErrorInvalidValue
                              : FindVariable(symbol, AddressOut(address), nullptr);
  });
}

cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
  return Call([&](const DriverTable&) {
    CUdeviceptr address = 0;
    return size == nullptr ? cudaErrorInvalidValue : FindVariable(symbol, &address, size);
  });
}
