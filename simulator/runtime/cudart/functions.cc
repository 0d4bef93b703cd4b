// Implements the functions that take a kernel's host function: attributes, names, parameters and
// occupancy.
#include "simulator/runtime/cudart/registry.h"
#include "simulator/runtime/cudart/runtime.h"

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

namespace {

// Runs `body(driver, kernel)` for the kernel of a host function, with a context current.
template <typename Body>
cudaError_t WithKernel(const void* function, Body body) {
  return Call([&](const DriverTable& driver) {
    CUkernel kernel = nullptr;
    cudaError_t error = FindKernel(function, &kernel);
    return error != cudaSuccess ? error : ToError(body(driver, kernel));
  });
}

// Runs `body(driver, function)` for the kernel of a host function, as a function of the current
// context. Makes a context current first.
template <typename Body>
cudaError_t WithFunction(const void* function, Body body) {
  return WithKernel(function, [&](const DriverTable& driver, CUkernel kernel) {
    CUfunction loaded = nullptr;
    CUresult result = driver.KernelGetFunction(&loaded, kernel);
    return result != CUDA_SUCCESS ? result : body(driver, loaded);
  });
}

// Attributes that the driver does not know stay 0.
template <typename Member>
CUresult FillAttribute(const DriverTable& driver, CUfunction function,
                       CUfunction_attribute attribute, Member* member) {
  int value = 0;
  CUresult result = driver.FuncGetAttribute(&value, attribute, function);
  if (result == CUDA_SUCCESS) {
    *member = static_cast<Member>(value);
  }
  return result == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : result;
}

CUresult FillFunctionAttributes(const DriverTable& driver, CUfunction function,
                                cudaFuncAttributes* attributes) {
  *attributes = {};
  CUresult result = CUDA_SUCCESS;
  auto fill = [&](CUfunction_attribute attribute, auto* member) {
    if (result == CUDA_SUCCESS) {
      result = FillAttribute(driver, function, attribute, member);
    }
  };
  fill(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &attributes->sharedSizeBytes);
  fill(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &attributes->constSizeBytes);
  fill(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &attributes->localSizeBytes);
  fill(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &attributes->maxThreadsPerBlock);
  fill(CU_FUNC_ATTRIBUTE_NUM_REGS, &attributes->numRegs);
  fill(CU_FUNC_ATTRIBUTE_PTX_VERSION, &attributes->ptxVersion);
  fill(CU_FUNC_ATTRIBUTE_BINARY_VERSION, &attributes->binaryVersion);
  fill(CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, &attributes->cacheModeCA);
  fill(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &attributes->maxDynamicSharedSizeBytes);
  fill(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, &attributes->preferredShmemCarveout);
  fill(CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, &attributes->clusterDimMustBeSet);
  fill(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, &attributes->requiredClusterWidth);
  fill(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, &attributes->requiredClusterHeight);
  fill(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, &attributes->requiredClusterDepth);
  fill(CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
       &attributes->clusterSchedulingPolicyPreference);
  fill(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
       &attributes->nonPortableClusterSizeAllowed);
  return result;
}

CUlaunchConfig LaunchShape(const cudaLaunchConfig_t& config) {
  CUlaunchConfig launch = {};
  launch.gridDimX = config.gridDim.x;
  launch.gridDimY = config.gridDim.y;
  launch.gridDimZ = config.gridDim.z;
  launch.blockDimX = config.blockDim.x;
  launch.blockDimY = config.blockDim.y;
  launch.blockDimZ = config.blockDim.z;
  launch.sharedMemBytes = static_cast<unsigned>(config.dynamicSmemBytes);
  launch.hStream = config.stream;
  launch.attrs = SameLayout<CUlaunchAttribute>(config.attrs);
  launch.numAttrs = config.numAttrs;
  return launch;
}

}  // namespace

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return WithFunction(function, [&](const DriverTable& driver, CUfunction loaded) {
    return attributes == nullptr ? CUDA_ERROR_INVALID_VALUE
                                 : FillFunctionAttributes(driver, loaded, attributes);
  });
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return WithFunction(function, [&](const DriverTable& driver, CUfunction loaded) {
    return driver.FuncSetAttribute(loaded, static_cast<CUfunction_attribute>(attribute), value);
  });
}

cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache config) {
  return WithFunction(function, [&](const DriverTable& driver, CUfunction loaded) {
    return driver.FuncSetCacheConfig(loaded, static_cast<CUfunc_cache>(config));
  });
}

cudaError_t cudaFuncSetSharedMemConfig(const void* function, cudaSharedMemConfig config) {
  return WithFunction(function, [&](const DriverTable& driver, CUfunction loaded) {
    return driver.FuncSetSharedMemConfig(loaded, static_cast<CUsharedconfig>(config));
  });
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  return WithKernel(function, [&](const DriverTable& driver, CUkernel kernel) {
    return driver.KernelGetName(name, kernel);
  });
}

cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* size) {
  return WithKernel(function, [&](const DriverTable& driver, CUkernel kernel) {
    return driver.KernelGetParamInfo(kernel, index, offset, size);
  });
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* loaded_out, const void* symbol) {
  return WithFunction(symbol, [&](const DriverTable&, CUfunction loaded) {
    if (loaded_out == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *loaded_out = loaded;
    return CUDA_SUCCESS;
  });
}

cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  return CallWithoutContext([&](const DriverTable&) {
    return kernel == nullptr ? cudaErrorInvalidValue : FindKernel(function, kernel);
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                          int block_size, size_t shared_bytes) {
  return WithFunction(function, [&](const DriverTable& driver, CUfunction loaded) {
    return driver.OccupancyMaxActiveBlocksPerMultiprocessor(blocks, loaded, block_size,
                                                            shared_bytes);
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* function, int block_size, size_t shared_bytes, unsigned flags) {
  return WithFunction(function, [&](const DriverTable& driver, CUfunction loaded) {
    return driver.OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, loaded, block_size,
                                                                     shared_bytes, flags);
  });
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function,
                                                      int blocks, int block_size) {
  return WithFunction(function, [&](const DriverTable& driver, CUfunction loaded) {
    return driver.OccupancyAvailableDynamicSMemPerBlock(bytes, loaded, blocks, block_size);
  });
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* function,
                                                 const cudaLaunchConfig_t* config) {
  return WithFunction(function, [&](const DriverTable& driver, CUfunction loaded) {
    if (config == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    CUlaunchConfig launch = LaunchShape(*config);
    return driver.OccupancyMaxPotentialClusterSize(size, loaded, &launch);
  });
}

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                           const cudaLaunchConfig_t* config) {
  return WithFunction(function, [&](const DriverTable& driver, CUfunction loaded) {
    if (config == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    CUlaunchConfig launch = LaunchShape(*config);
    return driver.OccupancyMaxActiveClusters(clusters, loaded, &launch);
  });
}
