// Implements libraries of kernels, loaded from code or a file. The numbers of the options are those
// of the driver.
#include "simulator/runtime/cudart/registry.h"
#include "simulator/runtime/cudart/runtime.h"

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  return CallWithoutContext([&](const DriverTable& driver) {
    CUresult result = driver.LibraryGetKernel(kernel, library, name);
    if (result == CUDA_SUCCESS) {
      RememberKernel(*kernel);
    }
    return result;
  });
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned count,
                                        cudaLibrary_t library) {
  return CallWithoutContext([&](const DriverTable& driver) {
    CUresult result = driver.LibraryEnumerateKernels(kernels, count, library);
    for (unsigned i = 0; result == CUDA_SUCCESS && i < count; ++i) {
      RememberKernel(kernels[i]);
    }
    return result;
  });
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute,
                                            int value, int device) {
  return CallWithoutContext([&](const DriverTable& driver) {
    CUdevice handle = 0;
    cudaError_t error = FindDevice(device, &handle);
    return error != cudaSuccess
               ? error
               : FromDriver(driver.KernelSetAttribute(static_cast<CUfunction_attribute>(attribute),
                                                      value, kernel, handle));
  });
}
