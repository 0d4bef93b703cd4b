// Implements the functions about devices: their number, the thread's current device, limits, flags
// and peers.
#include "simulator/runtime/cudart/formats.h"
#include "simulator/runtime/cudart/runtime.h"

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

namespace {

// The version that cudaRuntimeGetVersion returns: the newest CUDA 13 whose programs were tested.
constexpr int kRuntimeVersion = 13020;

template <typename Body>
cudaError_t WithDevice(int device, Body body) {
  return CallWithoutContext([&](const DriverTable& driver) {
    CUdevice handle = 0;
    cudaError_t error = FindDevice(device, &handle);
    return error != cudaSuccess ? error : ToError(body(driver, handle));
  });
}

template <typename Body>
cudaError_t WithDevices(int first, int second, Body body) {
  return WithDevice(first, [&](const DriverTable& driver, CUdevice first_handle) {
    CUdevice second_handle = 0;
    cudaError_t error = FindDevice(second, &second_handle);
    return error != cudaSuccess ? error : ToError(body(driver, first_handle, second_handle));
  });
}

}  // namespace

cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) {
    return Leave(cudaErrorInvalidValue);
  }
  *version = kRuntimeVersion;
  return cudaSuccess;
}

// Without a driver the version is 0, which is not an error.
cudaError_t cudaDriverGetVersion(int* version) {
  if (version == nullptr) {
    return Leave(cudaErrorInvalidValue);
  }
  *version = vramstow::simulator::DriverAccess::Get().version();
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  return CallWithoutContext([&](const DriverTable& driver) {
    return count == nullptr ? CUDA_ERROR_INVALID_VALUE : driver.DeviceGetCount(count);
  });
}

cudaError_t cudaGetDevice(int* device) {
  return CallWithoutContext([&](const DriverTable&) {
    return device == nullptr ? cudaErrorInvalidValue : CurrentDevice(device);
  });
}

cudaError_t cudaSetDevice(int device) {
  return CallWithoutContext([&](const DriverTable&) { return SelectDevice(device); });
}

cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags) {
  return WithDevice(device, [&](const DriverTable& driver, CUdevice handle) -> cudaError_t {
    if ((flags & ~static_cast<unsigned>(cudaInitDeviceFlagsAreValid)) != 0) {
      return cudaErrorInvalidValue;
    }
    if ((flags & cudaInitDeviceFlagsAreValid) != 0) {
      CUresult result = driver.DevicePrimaryCtxSetFlags(handle, device_flags);
      if (result != CUDA_SUCCESS) {
        return FromDriver(result);
      }
    }
    CUcontext context = nullptr;
    return RetainPrimary(device, &context);
  });
}

cudaError_t cudaSetValidDevices(int* devices, int count) {
  return CallWithoutContext([&](const DriverTable&) {
    return count < 0 || (count > 0 && devices == nullptr) ? cudaErrorInvalidValue
                                                          : SetValidDevices(devices, count);
  });
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
  return CallWithoutContext([&](const DriverTable& driver) {
    int device = 0;
    CUdevice handle = 0;
    cudaError_t error = CurrentDevice(&device);
    if (error == cudaSuccess) {
      error = FindDevice(device, &handle);
    }
    // Host memory is always mapped, and the driver does not have the flag that requests it.
    return error != cudaSuccess ? error
                                : FromDriver(driver.DevicePrimaryCtxSetFlags(
                                      handle, flags & ~static_cast<unsigned>(cudaDeviceMapHost)));
  });
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  return CallWithoutContext([&](const DriverTable& driver) {
    int device = 0;
    int active = 0;
    CUdevice handle = 0;
    cudaError_t error = flags == nullptr ? cudaErrorInvalidValue : CurrentDevice(&device);
    if (error == cudaSuccess) {
      error = FindDevice(device, &handle);
    }
    if (error == cudaSuccess) {
      error = FromDriver(driver.DevicePrimaryCtxGetState(handle, flags, &active));
    }
    if (error == cudaSuccess) {
      *flags |= cudaDeviceMapHost;
    }
    return error;
  });
}

cudaError_t cudaDeviceReset() {
  return CallWithoutContext([&](const DriverTable&) {
    int device = 0;
    cudaError_t error = CurrentDevice(&device);
    return error != cudaSuccess ? error : ResetDevice(device);
  });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* bus_id) {
  return CallWithoutContext([&](const DriverTable& driver) {
    CUdevice handle = 0;
    CUresult result =
        device == nullptr ? CUDA_ERROR_INVALID_VALUE : driver.DeviceGetByPCIBusId(&handle, bus_id);
    if (result != CUDA_SUCCESS) {
      return result == CUDA_ERROR_INVALID_VALUE ? cudaErrorInvalidValue : cudaErrorInvalidDevice;
    }
    CUdevice candidate = 0;
    for (int i = 0; FindDevice(i, &candidate) == cudaSuccess; ++i) {
      if (candidate == handle) {
        *device = i;
        return cudaSuccess;
      }
    }
    return cudaErrorInvalidDevice;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* bus_id, int length, int device) {
  return WithDevice(device, [&](const DriverTable& driver, CUdevice handle) {
    return driver.DeviceGetPCIBusId(bus_id, length, handle);
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  // The runtime and the driver use the same number for an attribute.
  return WithDevice(device, [&](const DriverTable& driver, CUdevice handle) {
    return driver.DeviceGetAttribute(value, static_cast<CUdevice_attribute>(attribute), handle);
  });
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int source,
                                      int destination) {
  return WithDevices(source, destination,
                     [&](const DriverTable& driver, CUdevice from, CUdevice to) {
                       return driver.DeviceGetP2PAttribute(
                           value, static_cast<CUdevice_P2PAttribute>(attribute), from, to);
                     });
}

cudaError_t cudaDeviceGetHostAtomicCapabilities(unsigned* capabilities,
                                                const cudaAtomicOperation* operations,
                                                unsigned count, int device) {
  return WithDevice(device, [&](const DriverTable& driver, CUdevice handle) {
    return driver.DeviceGetHostAtomicCapabilities(
        capabilities, SameLayout<const CUatomicOperation>(operations), count, handle);
  });
}

cudaError_t cudaDeviceGetP2PAtomicCapabilities(unsigned* capabilities,
                                               const cudaAtomicOperation* operations,
                                               unsigned count, int source, int destination) {
  return WithDevices(
      source, destination, [&](const DriverTable& driver, CUdevice from, CUdevice to) {
        return driver.DeviceGetP2PAtomicCapabilities(
            capabilities, SameLayout<const CUatomicOperation>(operations), count, from, to);
      });
}

cudaError_t cudaDeviceGetNvSciSyncAttributes(void* attributes, int device, int flags) {
  return WithDevice(device, [&](const DriverTable& driver, CUdevice handle) {
    return driver.DeviceGetNvSciSyncAttributes(attributes, handle, flags);
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can_access, int device, int peer) {
  return WithDevices(device, peer, [&](const DriverTable& driver, CUdevice from, CUdevice to) {
    return driver.DeviceCanAccessPeer(can_access, from, to);
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return Call([&](const DriverTable& driver) {
    CUcontext context = nullptr;
    cudaError_t error = RetainPrimary(peer, &context);
    return error != cudaSuccess ? error : FromDriver(driver.CtxEnablePeerAccess(context, flags));
  });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return Call([&](const DriverTable& driver) {
    CUcontext context = nullptr;
    cudaError_t error = RetainPrimary(peer, &context);
    return error != cudaSuccess ? error : FromDriver(driver.CtxDisablePeerAccess(context));
  });
}

cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t* width, const cudaChannelFormatDesc* format,
                                                 int device) {
  return WithDevice(device, [&](const DriverTable& driver, CUdevice handle) -> cudaError_t {
    if (width == nullptr || format == nullptr) {
      return cudaErrorInvalidValue;
    }
    CUarray_format array_format = CU_AD_FORMAT_FLOAT;
    unsigned channels = 0;
    cudaError_t error = ToFormat(*format, &array_format, &channels);
    return error != cudaSuccess ? error
                                : FromDriver(driver.DeviceGetTexture1DLinearMaxWidth(
                                      width, array_format, channels, handle));
  });
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return WithDevice(device, [&](const DriverTable& driver, CUdevice handle) {
    return driver.DeviceGetDefaultMemPool(pool, handle);
  });
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return WithDevice(device, [&](const DriverTable& driver, CUdevice handle) {
    return driver.DeviceGetMemPool(pool, handle);
  });
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return WithDevice(device, [&](const DriverTable& driver, CUdevice handle) {
    return driver.DeviceSetMemPool(handle, pool);
  });
}

cudaError_t cudaDeviceGraphMemTrim(int device) {
  return WithDevice(device, [&](const DriverTable& driver, CUdevice handle) {
    return driver.DeviceGraphMemTrim(handle);
  });
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute,
                                           void* value) {
  return WithDevice(device, [&](const DriverTable& driver, CUdevice handle) {
    return driver.DeviceGetGraphMemAttribute(handle, static_cast<CUgraphMem_attribute>(attribute),
                                             value);
  });
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute,
                                           void* value) {
  return WithDevice(device, [&](const DriverTable& driver, CUdevice handle) {
    return driver.DeviceSetGraphMemAttribute(handle, static_cast<CUgraphMem_attribute>(attribute),
                                             value);
  });
}

cudaError_t cudaDeviceRegisterAsyncNotification(int device, cudaAsyncCallback callback,
                                                void* user_data,
                                                cudaAsyncCallbackHandle_t* handle_out) {
  return WithDevice(device, [&](const DriverTable& driver, CUdevice handle) {
    // The two callback types differ only in the names of their structures.
    return driver.DeviceRegisterAsyncNotification(
        handle, reinterpret_cast<CUasyncCallback>(callback), user_data,
        reinterpret_cast<CUasyncCallbackHandle*>(handle_out));
  });
}

cudaError_t cudaDeviceUnregisterAsyncNotification(int device, cudaAsyncCallbackHandle_t callback) {
  return WithDevice(device, [&](const DriverTable& driver, CUdevice handle) {
    return driver.DeviceUnregisterAsyncNotification(
        handle, reinterpret_cast<CUasyncCallbackHandle>(callback));
  });
}

// The driver notifies profilers; without a driver these calls do nothing.
cudaError_t cudaProfilerStart() {
  return Call([&](const DriverTable& driver) { return driver.ProfilerStart(); });
}

cudaError_t cudaProfilerStop() {
  return Call([&](const DriverTable& driver) { return driver.ProfilerStop(); });
}
