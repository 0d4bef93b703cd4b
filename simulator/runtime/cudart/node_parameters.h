// Converts the parameters of graph nodes between the runtime's structures and the driver's.
//
// Ownership: values that point to the caller's data. Threads: pure functions. Errors: returns a
// cudaError_t. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_CUDART_NODE_PARAMETERS_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_CUDART_NODE_PARAMETERS_H_

#include "simulator/runtime/cudart/runtime.h"

namespace vramstow::simulator::cudart {

// Returns the current thread's context, in which nodes copy and set memory.
cudaError_t CurrentContext(CUcontext* context);

cudaError_t ToDriver(const cudaKernelNodeParams& kernel, CUDA_KERNEL_NODE_PARAMS* result);
// The driver does not know the host function, so the result contains the kernel's handle. Every
// function that accepts a host function accepts that handle, too.
void FromDriver(const CUDA_KERNEL_NODE_PARAMS& kernel, cudaKernelNodeParams* result);

cudaError_t ToDriver(const cudaMemsetParams& memset, CUDA_MEMSET_NODE_PARAMS* result);
void FromDriver(const CUDA_MEMSET_NODE_PARAMS& memset, cudaMemsetParams* result);

// Converts a node of any kind. CopyResults copies the values that the driver returns in it (a
// conditional node's graphs, an allocation node's address).
cudaError_t ToDriver(const cudaGraphNodeParams& node, CUgraphNodeParams* result);
void CopyResults(const CUgraphNodeParams& node, cudaGraphNodeParams* result);

}  // namespace vramstow::simulator::cudart

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_CUDART_NODE_PARAMETERS_H_
