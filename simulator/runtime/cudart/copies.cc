// Implements copies of linear memory, between devices, and to and from symbols. Compiled twice (see
// api.h).
#include "simulator/runtime/cudart/copy_shapes.h"
#include "simulator/runtime/cudart/registry.h"
#include "simulator/runtime/cudart/runtime.h"

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

namespace {

cudaError_t Copy(const DriverTable& driver, void* destination, const void* source, size_t bytes,
                 cudaMemcpyKind kind) {
  if (!IsDirection(kind)) {
    return cudaErrorInvalidMemcpyDirection;
  }
  if (bytes == 0) {
    return cudaSuccess;
  }
  if (destination == nullptr || source == nullptr) {
    return cudaErrorInvalidValue;
  }
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return FromDriver(driver.MemcpyHtoD(Address(destination), source, bytes));
    case cudaMemcpyDeviceToHost:
      return FromDriver(driver.MemcpyDtoH(destination, Address(source), bytes));
    case cudaMemcpyDeviceToDevice:
      return FromDriver(driver.MemcpyDtoD(Address(destination), Address(source), bytes));
    default:
      return FromDriver(driver.Memcpy(Address(destination), Address(source), bytes));
  }
}

cudaError_t CopyAsync(const DriverTable& driver, void* destination, const void* source,
                      size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (!IsDirection(kind)) {
    return cudaErrorInvalidMemcpyDirection;
  }
  if (bytes == 0) {
    return cudaSuccess;
  }
  if (destination == nullptr || source == nullptr) {
    return cudaErrorInvalidValue;
  }
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return FromDriver(driver.MemcpyHtoDAsync(Address(destination), source, bytes, stream));
    case cudaMemcpyDeviceToHost:
      return FromDriver(driver.MemcpyDtoHAsync(destination, Address(source), bytes, stream));
    case cudaMemcpyDeviceToDevice:
      return FromDriver(
          driver.MemcpyDtoDAsync(Address(destination), Address(source), bytes, stream));
    default:
      return FromDriver(driver.MemcpyAsync(Address(destination), Address(source), bytes, stream));
  }
}

// Returns the address `offset` bytes after the beginning of a symbol, if `bytes` bytes fit there.
cudaError_t SymbolAddress(const void* symbol, size_t bytes, size_t offset, void** address) {
  CUdeviceptr base = 0;
  size_t size = 0;
  if (cudaError_t error = FindVariable(symbol, &base, &size); error != cudaSuccess) {
    return error;
  }
  if (offset > size || bytes > size - offset) {
    return cudaErrorInvalidValue;
  }
  *address = reinterpret_cast<void*>(base + offset);
  return cudaSuccess;
}

bool IsIntoSymbol(cudaMemcpyKind kind) {
  return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice ||
         kind == cudaMemcpyDefault;
}

bool IsFromSymbol(cudaMemcpyKind kind) {
  return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice ||
         kind == cudaMemcpyDefault;
}

[[maybe_unused]] cudaError_t PeerContexts(int first_device, int second_device, CUcontext* first,
                                          CUcontext* second) {
  cudaError_t error = RetainPrimary(first_device, first);
  return error != cudaSuccess ? error : RetainPrimary(second_device, second);
}

}  // namespace

cudaError_t cudaMemcpy(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind) {
  return Call(
      [&](const DriverTable& driver) { return Copy(driver, destination, source, bytes, kind); });
}

cudaError_t cudaMemcpyAsync(void* destination, const void* source, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream) {
  return Call([&](const DriverTable& driver) {
    return CopyAsync(driver, destination, source, bytes, kind, stream);
  });
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* source, size_t bytes, size_t offset,
                               cudaMemcpyKind kind) {
  return Call([&](const DriverTable& driver) {
    void* address = nullptr;
    cudaError_t error = IsIntoSymbol(kind) ? SymbolAddress(symbol, bytes, offset, &address)
                                           : cudaErrorInvalidMemcpyDirection;
    return error != cudaSuccess ? error : Copy(driver, address, source, bytes, kind);
  });
}

cudaError_t cudaMemcpyFromSymbol(void* destination, const void* symbol, size_t bytes, size_t offset,
                                 cudaMemcpyKind kind) {
  return Call([&](const DriverTable& driver) {
    void* address = nullptr;
    cudaError_t error = IsFromSymbol(kind) ? SymbolAddress(symbol, bytes, offset, &address)
                                           : cudaErrorInvalidMemcpyDirection;
    return error != cudaSuccess ? error : Copy(driver, destination, address, bytes, kind);
  });
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* source, size_t bytes,
                                    size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  return Call([&](const DriverTable& driver) {
    void* address = nullptr;
    cudaError_t error = IsIntoSymbol(kind) ? SymbolAddress(symbol, bytes, offset, &address)
                                           : cudaErrorInvalidMemcpyDirection;
    return error != cudaSuccess ? error : CopyAsync(driver, address, source, bytes, kind, stream);
  });
}

cudaError_t cudaMemcpyFromSymbolAsync(void* destination, const void* symbol, size_t bytes,
                                      size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  return Call([&](const DriverTable& driver) {
    void* address = nullptr;
    cudaError_t error = IsFromSymbol(kind) ? SymbolAddress(symbol, bytes, offset, &address)
                                           : cudaErrorInvalidMemcpyDirection;
    return error != cudaSuccess ? error
                                : CopyAsync(driver, destination, address, bytes, kind, stream);
  });
}

// Copies between devices have no per-thread variant.
#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
cudaError_t cudaMemcpyPeer(void* destination, int destination_device, const void* source,
                           int source_device, size_t bytes) {
  return Call([&](const DriverTable& driver) {
    CUcontext to = nullptr;
    CUcontext from = nullptr;
    cudaError_t error = PeerContexts(destination_device, source_device, &to, &from);
    if (error != cudaSuccess || bytes == 0) {
      return error;
    }
    return FromDriver(driver.MemcpyPeer(Address(destination), to, Address(source), from, bytes));
  });
}

cudaError_t cudaMemcpyPeerAsync(void* destination, int destination_device, const void* source,
                                int source_device, size_t bytes, cudaStream_t stream) {
  return Call([&](const DriverTable& driver) {
    CUcontext to = nullptr;
    CUcontext from = nullptr;
    cudaError_t error = PeerContexts(destination_device, source_device, &to, &from);
    if (error != cudaSuccess || bytes == 0) {
      return error;
    }
    return FromDriver(
        driver.MemcpyPeerAsync(Address(destination), to, Address(source), from, bytes, stream));
  });
}

#endif

cudaError_t cudaMemcpyBatchAsync(void* const* destinations, const void* const* sources,
                                 const size_t* sizes, size_t count,
                                 cudaMemcpyAttributes* attributes, size_t* attribute_indices,
                                 size_t attribute_count, cudaStream_t stream) {
  return Call([&](const DriverTable& driver) {
    return driver.MemcpyBatchAsync(reinterpret_cast<CUdeviceptr*>(const_cast<void**>(destinations)),
                                   reinterpret_cast<CUdeviceptr*>(const_cast<void**>(sources)),
                                   const_cast<size_t*>(sizes), count,
                                   SameLayout<CUmemcpyAttributes>(attributes), attribute_indices,
                                   attribute_count, stream);
  });
}

cudaError_t cudaMemcpy3DBatchAsync(size_t count, cudaMemcpy3DBatchOp* operations,
                                   unsigned long long flags, cudaStream_t stream) {
  return Call([&](const DriverTable& driver) {
    return driver.Memcpy3DBatchAsync(count, SameLayout<CUDA_MEMCPY3D_BATCH_OP>(operations), flags,
                                     stream);
  });
}
