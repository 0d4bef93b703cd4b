// Implements launches of kernels, host functions and graphs. Compiled twice (see api.h).
#include "simulator/runtime/cudart/hidden_api.h"
#include "simulator/runtime/cudart/registry.h"
#include "simulator/runtime/cudart/runtime.h"

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

namespace {

// A kernel handle is accepted as a function handle by every driver call that launches.
CUfunction Function(CUkernel kernel) { return reinterpret_cast<CUfunction>(kernel); }

// Checks the grid and block. The driver would return "invalid value" for a wrong shape, but the
// runtime has a separate error for it.
CUresult IsValidShape(const DriverTable& driver, dim3 grid, dim3 block, bool* valid) {
  CUdevice device = 0;
  if (CUresult result = driver.CtxGetDevice(&device); result != CUDA_SUCCESS) {
    return result;
  }
  const struct {
    unsigned size;
    CUdevice_attribute limit;
  } dimensions[] = {{grid.x, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X},
                    {grid.y, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y},
                    {grid.z, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z},
                    {block.x, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X},
                    {block.y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y},
                    {block.z, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z}};
  for (const auto& dimension : dimensions) {
    int limit = 0;
    if (CUresult result = driver.DeviceGetAttribute(&limit, dimension.limit, device);
        result != CUDA_SUCCESS) {
      return result;
    }
    if (dimension.size == 0 || dimension.size > static_cast<unsigned>(limit)) {
      *valid = false;
      return CUDA_SUCCESS;
    }
  }
  int threads = 0;
  CUresult result =
      driver.DeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device);
  *valid = static_cast<uint64_t>(block.x) * block.y * block.z <= static_cast<unsigned>(threads);
  return result;
}

cudaError_t LaunchError(const DriverTable& driver, CUresult result, dim3 grid, dim3 block) {
  if (result == CUDA_ERROR_INVALID_VALUE) {
    bool valid = true;
    if (IsValidShape(driver, grid, block, &valid) == CUDA_SUCCESS && !valid) {
      return cudaErrorInvalidConfiguration;
    }
  }
  return FromDriver(result);
}

cudaError_t LaunchKernel(const DriverTable& driver, CUkernel kernel, dim3 grid, dim3 block,
                         void** arguments, size_t shared_bytes, cudaStream_t stream) {
  CUresult result =
      driver.LaunchKernel(Function(kernel), grid.x, grid.y, grid.z, block.x, block.y, block.z,
                          static_cast<unsigned>(shared_bytes), stream, arguments, nullptr);
  return result == CUDA_SUCCESS ? cudaSuccess : LaunchError(driver, result, grid, block);
}

}  // namespace

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define __cudaLaunchKernel __cudaLaunchKernel_ptsz
#endif

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared_bytes, cudaStream_t stream) {
  return Call([&](const DriverTable& driver) {
    if (kernel == nullptr) {
      return cudaErrorInvalidDeviceFunction;
    }
    CUkernel found = kernel;
    if (MayMissImages()) {
      if (cudaError_t error = FindKernel(kernel, &found); error != cudaSuccess) return error;
    }
    return LaunchKernel(driver, found, grid, block, arguments, shared_bytes, stream);
  });
}

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#undef __cudaLaunchKernel
#endif

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             size_t shared_bytes, cudaStream_t stream) {
  return Call([&](const DriverTable& driver) {
    CUkernel kernel = nullptr;
    if (cudaError_t error = FindKernel(function, &kernel); error != cudaSuccess) {
      return error;
    }
    return LaunchKernel(driver, kernel, grid, block, arguments, shared_bytes, stream);
  });
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block,
                                        void** arguments, size_t shared_bytes,
                                        cudaStream_t stream) {
  return Call([&](const DriverTable& driver) {
    CUkernel kernel = nullptr;
    if (cudaError_t error = FindKernel(function, &kernel); error != cudaSuccess) {
      return error;
    }
    CUresult result = driver.LaunchCooperativeKernel(
        Function(kernel), grid.x, grid.y, grid.z, block.x, block.y, block.z,
        static_cast<unsigned>(shared_bytes), stream, arguments);
    return result == CUDA_SUCCESS ? cudaSuccess : LaunchError(driver, result, grid, block);
  });
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                void** arguments) {
  return Call([&](const DriverTable& driver) {
    if (config == nullptr) {
      return cudaErrorInvalidValue;
    }
    CUkernel kernel = nullptr;
    if (cudaError_t error = FindKernel(function, &kernel); error != cudaSuccess) {
      return error;
    }
    const dim3 grid = config->gridDim;
    const dim3 block = config->blockDim;
    CUlaunchConfig launch = {};
    launch.gridDimX = grid.x;
    launch.gridDimY = grid.y;
    launch.gridDimZ = grid.z;
    launch.blockDimX = block.x;
    launch.blockDimY = block.y;
    launch.blockDimZ = block.z;
    launch.sharedMemBytes = static_cast<unsigned>(config->dynamicSmemBytes);
    launch.hStream = config->stream;
    launch.attrs = SameLayout<CUlaunchAttribute>(config->attrs);
    launch.numAttrs = config->numAttrs;
    CUresult result = driver.LaunchKernelEx(&launch, Function(kernel), arguments, nullptr);
    return result == CUDA_SUCCESS ? cudaSuccess : LaunchError(driver, result, grid, block);
  });
}
