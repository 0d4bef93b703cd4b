// Implements the functions that nvcc's generated code calls before main and around a <<<>>> launch.
#include "simulator/runtime/cudart/hidden_api.h"
#include "simulator/runtime/cudart/registry.h"
#include "simulator/runtime/cudart/runtime.h"

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

namespace {

// The configuration that a launch in C++ syntax stores between its <<<>>> and its call. The
// arguments are evaluated in between and may launch kernels themselves, so the configurations form
// a stack.
struct CallConfiguration {
  dim3 grid;
  dim3 block;
  size_t shared_bytes;
  CUstream_st* stream;
};

constexpr int kMaxNestedLaunches = 32;
constinit thread_local int pending_launches = 0;
// This is not an array of CallConfiguration, because its constructor would run in every thread.
alignas(CallConfiguration) constinit thread_local char pending[kMaxNestedLaunches *
                                                               sizeof(CallConfiguration)] = {};

CallConfiguration* Pending(int i) { return reinterpret_cast<CallConfiguration*>(pending) + i; }

FatBinary* Binary(void** handle) { return reinterpret_cast<FatBinary*>(handle); }

}  // namespace

void** __cudaRegisterFatBinary(void* fat_binary) {
  return reinterpret_cast<void**>(RegisterFatBinary(fat_binary));
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void** handle) {
  if (handle != nullptr) {
    UnregisterFatBinary(Binary(handle));
  }
}

void __cudaRegisterFunction(void** handle, const char* host_function, char*,
                            const char* device_name, int, uint3*, uint3*, dim3*, dim3*, int*) {
  if (handle != nullptr) {
    RegisterKernel(Binary(handle), host_function, device_name);
  }
}

void __cudaRegisterVar(void** handle, char* host_variable, char*, const char* device_name, int,
                       size_t size, int, int) {
  if (handle != nullptr) {
    RegisterVariable(Binary(handle), host_variable, device_name, size, false);
  }
}

void __cudaRegisterManagedVar(void** handle, void** host_pointer, char*, const char* device_name,
                              int, size_t size, int, int) {
  if (handle != nullptr) {
    RegisterVariable(Binary(handle), host_pointer, device_name, size, true);
  }
}

// CUDA 12 removed texture and surface references; only old objects still call these functions, and
// no runtime function uses such a reference any more.
void __cudaRegisterTexture(void**, const void*, const void**, const char*, int, int, int) {}
void __cudaRegisterSurface(void**, const void*, const void**, const char*, int, int) {}

char __cudaInitModule(void** handle) {
  cudaError_t error = Call([&](const DriverTable&) {
    return handle == nullptr ? cudaErrorInvalidValue : InitialiseManaged(Binary(handle));
  });
  return error == cudaSuccess ? 1 : 0;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                     CUstream_st* stream) {
  if (pending_launches == kMaxNestedLaunches) {
    return static_cast<unsigned>(Leave(cudaErrorLaunchMaxDepthExceeded));
  }
  *Pending(pending_launches++) = {grid, block, shared_bytes, stream};
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes,
                                       void* stream) {
  if (pending_launches == 0) {
    return Leave(cudaErrorMissingConfiguration);
  }
  const CallConfiguration& top = *Pending(--pending_launches);
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *static_cast<CUstream_st**>(stream) = top.stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  return CallWithoutContext([&](const DriverTable&) {
    const cudaError_t error = FindKernel(host_function, kernel);
    if (error != cudaErrorNoKernelImageForDevice) return error;
    // The generated code checks only the result of the launch, so __cudaLaunchKernel has to return
    // the error. To recognize this case later, the host function is stored in place of a kernel.
    NoteMissingImage();
    *kernel = static_cast<cudaKernel_t>(const_cast<void*>(host_function));
    return cudaSuccess;
  });
}
