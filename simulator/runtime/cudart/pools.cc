// Implements settings, access and export of memory pools. Allocating from them is in
// stream_memory.cc.
#include "simulator/runtime/cudart/runtime.h"

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  return Call([&](const DriverTable& driver) {
    return driver.MemPoolCreate(pool, SameLayout<const CUmemPoolProps>(properties));
  });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return Call([&](const DriverTable& driver) { return driver.MemPoolDestroy(pool); });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes_to_keep) {
  return Call([&](const DriverTable& driver) { return driver.MemPoolTrimTo(pool, bytes_to_keep); });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return Call([&](const DriverTable& driver) {
    return driver.MemPoolSetAttribute(pool, static_cast<CUmemPool_attribute>(attribute), value);
  });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return Call([&](const DriverTable& driver) {
    return driver.MemPoolGetAttribute(pool, static_cast<CUmemPool_attribute>(attribute), value);
  });
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* list, size_t count) {
  return Call([&](const DriverTable& driver) {
    return driver.MemPoolSetAccess(pool, SameLayout<const CUmemAccessDesc>(list), count);
  });
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool,
                                 cudaMemLocation* location) {
  return Call([&](const DriverTable& driver) {
    return driver.MemPoolGetAccess(SameLayout<CUmemAccess_flags>(flags), pool,
                                   SameLayout<CUmemLocation>(location));
  });
}

cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t* pool, cudaMemLocation* location,
                                     cudaMemAllocationType type) {
  return Call([&](const DriverTable& driver) {
    return driver.MemGetDefaultMemPool(pool, SameLayout<CUmemLocation>(location),
                                       static_cast<CUmemAllocationType>(type));
  });
}

cudaError_t cudaMemGetMemPool(cudaMemPool_t* pool, cudaMemLocation* location,
                              cudaMemAllocationType type) {
  return Call([&](const DriverTable& driver) {
    return driver.MemGetMemPool(pool, SameLayout<CUmemLocation>(location),
                                static_cast<CUmemAllocationType>(type));
  });
}

cudaError_t cudaMemSetMemPool(cudaMemLocation* location, cudaMemAllocationType type,
                              cudaMemPool_t pool) {
  return Call([&](const DriverTable& driver) {
    return driver.MemSetMemPool(SameLayout<CUmemLocation>(location),
                                static_cast<CUmemAllocationType>(type), pool);
  });
}

cudaError_t cudaMemPoolExportToShareableHandle(void* handle, cudaMemPool_t pool,
                                               cudaMemAllocationHandleType type, unsigned flags) {
  return Call([&](const DriverTable& driver) {
    return driver.MemPoolExportToShareableHandle(
        handle, pool, static_cast<CUmemAllocationHandleType>(type), flags);
  });
}

cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t* pool, void* handle,
                                                 cudaMemAllocationHandleType type, unsigned flags) {
  return Call([&](const DriverTable& driver) {
    return driver.MemPoolImportFromShareableHandle(
        pool, handle, static_cast<CUmemAllocationHandleType>(type), flags);
  });
}

cudaError_t cudaMemPoolExportPointer(cudaMemPoolPtrExportData* data, void* pointer) {
  return Call([&](const DriverTable& driver) {
    return driver.MemPoolExportPointer(SameLayout<CUmemPoolPtrExportData>(data), Address(pointer));
  });
}

cudaError_t cudaMemPoolImportPointer(void** pointer, cudaMemPool_t pool,
                                     cudaMemPoolPtrExportData* data) {
  return Call([&](const DriverTable& driver) {
    return driver.MemPoolImportPointer(reinterpret_cast<CUdeviceptr*>(pointer), pool,
                                       SameLayout<CUmemPoolPtrExportData>(data));
  });
}
