// Implements allocations and frees that are ordered by a stream. Also implements the queries of the
// driver's entry points, because these functions have a per-thread variant, too. Compiled twice
// (see api.h).
#include "simulator/runtime/cudart/runtime.h"

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

namespace {

cudaError_t FindEntryPoint(const char* symbol, void** function, int version, uint64_t flags,
                           cudaDriverEntryPointQueryResult* status) {
  if (symbol == nullptr || function == nullptr) {
    return cudaErrorInvalidValue;
  }
  // The query needs a driver, but does not initialise it.
  if (!vramstow::simulator::DriverAccess::Get().present()) {
    return cudaErrorInsufficientDriver;
  }
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
  if (flags == cudaEnableDefault) {
    flags = cudaEnablePerThreadDefaultStream;
  }
#endif
  // The runtime's flags, and its statuses below, have the same numbers as the driver's.
  int answer = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  auto result = static_cast<CUresult>(
      vramstow::simulator::DriverAccess::Get().Query(symbol, function, version, flags, &answer));
  if (status != nullptr) {
    *status = static_cast<cudaDriverEntryPointQueryResult>(answer);
  }
  if (result == CUDA_ERROR_NOT_FOUND) {
    *function = nullptr;
    // If the caller passes `status`, a missing symbol is reported there and is not an error.
    return status != nullptr ? cudaSuccess : cudaErrorSymbolNotFound;
  }
  return FromDriver(result);
}

}  // namespace

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  return Call([&](const DriverTable& driver) {
    if (pointer == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (bytes == 0) {
      *pointer = nullptr;
      return CUDA_SUCCESS;
    }
    return driver.MemAllocAsync(reinterpret_cast<CUdeviceptr*>(pointer), bytes, stream);
  });
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  return Call([&](const DriverTable& driver) {
    return pointer == nullptr ? CUDA_SUCCESS : driver.MemFreeAsync(Address(pointer), stream);
  });
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream) {
  return Call([&](const DriverTable& driver) {
    if (pointer == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (bytes == 0) {
      *pointer = nullptr;
      return CUDA_SUCCESS;
    }
    return driver.MemAllocFromPoolAsync(reinterpret_cast<CUdeviceptr*>(pointer), bytes, pool,
                                        stream);
  });
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return Leave(FindEntryPoint(symbol, function, CUDART_VERSION, flags, status));
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* status) {
  return Leave(FindEntryPoint(symbol, function, static_cast<int>(version), flags, status));
}
