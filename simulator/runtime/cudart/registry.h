// Stores what compiled programs register: fat binaries, and the kernels and variables in them.
//
// Idea: a program built by nvcc registers everything before main; a framework registers tens of
// thousands of kernels. So registering only stores pointers. A fat binary is loaded into the driver
// when the first of its kernels or variables is requested. A kernel is loaded when it is requested
// itself.
//
// Ownership: the registering library owns its strings and images until it unregisters. Nothing is
// unloaded from the driver then, because programs unregister from exit handlers, when the driver
// may already be closed. Threads: every function may be called from any thread. Errors: CUDA's.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_CUDART_REGISTRY_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_CUDART_REGISTRY_H_

#include <cstddef>

#include "simulator/runtime/cudart/runtime.h"

namespace vramstow::simulator::cudart {

struct FatBinary;

// `wrapper` is the structure that nvcc emits (fatbinary_section.h). Returns null only if there is
// no memory.
FatBinary* RegisterFatBinary(const void* wrapper);
void RegisterKernel(FatBinary* binary, const void* host_function, const char* name);
void RegisterVariable(FatBinary* binary, const void* host_variable, const char* name, size_t size,
                      bool managed);
void UnregisterFatBinary(FatBinary* binary);

// Loads the binary and points its managed variables at their memory. Needs a context.
cudaError_t InitialiseManaged(FatBinary* binary);

// Returns the kernel of a registered host function, or `function` itself if it is a kernel handle
// that this library returned. Otherwise returns cudaErrorInvalidDeviceFunction. Needs the driver.
cudaError_t FindKernel(const void* function, CUkernel* kernel);
// After NoteMissingImage a handle may be the host function of a kernel that has no image for this
// GPU, and MayMissImages returns true. FindKernel recognizes such handles.
void NoteMissingImage();
bool MayMissImages();
// Makes FindKernel accept a handle that was obtained in another way (from a library, by name).
void RememberKernel(CUkernel kernel);

// Returns the device address and size of a registered host variable. Needs a context.
cudaError_t FindVariable(const void* host_variable, CUdeviceptr* address, size_t* size);

}  // namespace vramstow::simulator::cudart

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_CUDART_REGISTRY_H_
