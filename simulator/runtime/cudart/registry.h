// What compiled programs register: fat binaries, and the kernels and variables in them.
//
// Idea: a program built by nvcc registers everything before main, tens of thousands of kernels in
// the case of a framework. So registering only stores pointers. A fat binary is loaded into the
// driver when the first of its kernels or variables is asked for, a kernel when it is asked for
// itself.
//
// Ownership: registered strings and images belong to the registering library, which keeps them
// until it unregisters. Nothing is unloaded from the driver then: programs unregister from exit
// handlers, when the driver may be gone. Threads: every function may be called from any thread.
// Errors: CUDA's.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_CUDART_REGISTRY_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_CUDART_REGISTRY_H_

#include <cstddef>

#include "simulator/runtime/cudart/runtime.h"

namespace vramstow::simulator::cudart {

struct FatBinary;

// `wrapper` is what nvcc emits (fatbinary_section.h). Null only without memory.
FatBinary* RegisterFatBinary(const void* wrapper);
void RegisterKernel(FatBinary* binary, const void* host_function, const char* name);
void RegisterVariable(FatBinary* binary, const void* host_variable, const char* name, size_t size,
                      bool managed);
void UnregisterFatBinary(FatBinary* binary);

// Loads the binary and points its managed variables at their memory. Needs a context.
cudaError_t InitialiseManaged(FatBinary* binary);

// The kernel of a host function that was registered, or `function` itself if it is a kernel handle
// that this library gave out. cudaErrorInvalidDeviceFunction otherwise. Needs the driver.
cudaError_t FindKernel(const void* function, CUkernel* kernel);
// From now on a handle may be the host function of a kernel that has no image for this card;
// MayMissImages says whether that is so. FindKernel tells such handles from others.
void NoteMissingImage();
bool MayMissImages();
// Lets FindKernel know a handle that was got on another way (from a library, by name).
void RememberKernel(CUkernel kernel);

// The device address and size of a registered host variable. Needs a context.
cudaError_t FindVariable(const void* host_variable, CUdeviceptr* address, size_t* size);

}  // namespace vramstow::simulator::cudart

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_CUDART_REGISTRY_H_
