// Implements libraries of kernels, loaded from code or a file. The numbers of the options are those
// of the driver.
#include "simulator/runtime/cudart/registry.h"
#include "simulator/runtime/cudart/runtime.h"

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption* options,
                                void** option_values, unsigned option_count,
                                cudaLibraryOption* library_options, void** library_option_values,
                                unsigned library_option_count) {
  return CallWithoutContext([&](const DriverTable& driver) {
    return driver.LibraryLoadData(library, code, SameLayout<CUjit_option>(options), option_values,
                                  option_count, SameLayout<CUlibraryOption>(library_options),
                                  library_option_values, library_option_count);
  });
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* file,
                                    cudaJitOption* options, void** option_values,
                                    unsigned option_count, cudaLibraryOption* library_options,
                                    void** library_option_values, unsigned library_option_count) {
  return CallWithoutContext([&](const DriverTable& driver) {
    return driver.LibraryLoadFromFile(
        library, file, SameLayout<CUjit_option>(options), option_values, option_count,
        SameLayout<CUlibraryOption>(library_options), library_option_values, library_option_count);
  });
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return CallWithoutContext(
      [&](const DriverTable& driver) { return driver.LibraryUnload(library); });
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  return CallWithoutContext([&](const DriverTable& driver) {
    CUresult result = driver.LibraryGetKernel(kernel, library, name);
    if (result == CUDA_SUCCESS) {
      RememberKernel(*kernel);
    }
    return result;
  });
}

cudaError_t cudaLibraryGetGlobal(void** pointer, size_t* bytes, cudaLibrary_t library,
                                 const char* name) {
  return Call([&](const DriverTable& driver) {
    return driver.LibraryGetGlobal(reinterpret_cast<CUdeviceptr*>(pointer), bytes, library, name);
  });
}

cudaError_t cudaLibraryGetManaged(void** pointer, size_t* bytes, cudaLibrary_t library,
                                  const char* name) {
  return Call([&](const DriverTable& driver) {
    return driver.LibraryGetManaged(reinterpret_cast<CUdeviceptr*>(pointer), bytes, library, name);
  });
}

cudaError_t cudaLibraryGetUnifiedFunction(void** function, cudaLibrary_t library,
                                          const char* symbol) {
  return Call([&](const DriverTable& driver) {
    return driver.LibraryGetUnifiedFunction(function, library, symbol);
  });
}

cudaError_t cudaLibraryGetKernelCount(unsigned* count, cudaLibrary_t library) {
  return CallWithoutContext(
      [&](const DriverTable& driver) { return driver.LibraryGetKernelCount(count, library); });
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
