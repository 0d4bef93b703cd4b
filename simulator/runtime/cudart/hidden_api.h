// Declares the functions that nvcc's generated code calls in addition to the public ones. The
// declarations are those of crt/host_runtime.h and crt/device_functions.h, which only a CUDA
// compiler can include.
//
// Ownership: the runtime owns a handle of a fat binary. Threads: any. Errors: stored and returned
// by a later call. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_CUDART_HIDDEN_API_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_CUDART_HIDDEN_API_H_

#include "simulator/runtime/cudart/api.h"

#pragma GCC visibility push(default)
extern "C" {

void** __cudaRegisterFatBinary(void* fat_binary);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaUnregisterFatBinary(void** handle);
void __cudaRegisterFunction(void** handle, const char* host_function, char* device_function,
                            const char* device_name, int thread_limit, uint3* thread_id,
                            uint3* block_id, dim3* block, dim3* grid, int* warp_size);
void __cudaRegisterVar(void** handle, char* host_variable, char* device_address,
                       const char* device_name, int external, size_t size, int constant,
                       int global);
void __cudaRegisterManagedVar(void** handle, void** host_pointer, char* device_address,
                              const char* device_name, int external, size_t size, int constant,
                              int global);
void __cudaRegisterTexture(void** handle, const void* host_variable, const void** device_address,
                           const char* device_name, int dimensions, int normalised, int external);
void __cudaRegisterSurface(void** handle, const void* host_variable, const void** device_address,
                           const char* device_name, int dimensions, int external);
char __cudaInitModule(void** handle);

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                     CUstream_st* stream);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream);
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared_bytes, cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                    size_t shared_bytes, cudaStream_t stream);

}  // extern "C"
#pragma GCC visibility pop

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_CUDART_HIDDEN_API_H_
