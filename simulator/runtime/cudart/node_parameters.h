// What graph nodes do, in the runtime's words and in the driver's.
//
// Ownership: values; they point to what the caller gave. Threads: pure functions. Errors:
// cudaError_t. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_CUDART_NODE_PARAMETERS_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_CUDART_NODE_PARAMETERS_H_

#include "simulator/runtime/cudart/runtime.h"

namespace vramstow::simulator::cudart {

// The current thread's context, in which nodes copy and set memory.
cudaError_t CurrentContext(CUcontext* context);

cudaError_t ToDriver(const cudaKernelNodeParams& kernel, CUDA_KERNEL_NODE_PARAMS* result);
// The host function is not known to the driver: the kernel's handle stands for it, and every
// function that takes a host function takes that handle, too.
void FromDriver(const CUDA_KERNEL_NODE_PARAMS& kernel, cudaKernelNodeParams* result);

cudaError_t ToDriver(const cudaMemsetParams& memset, CUDA_MEMSET_NODE_PARAMS* result);
void FromDriver(const CUDA_MEMSET_NODE_PARAMS& memset, cudaMemsetParams* result);

// A node of any kind. What the driver returns through it (a conditional node's graphs, an
// allocation node's address) is taken back by CopyResults.
cudaError_t ToDriver(const cudaGraphNodeParams& node, CUgraphNodeParams* result);
void CopyResults(const CUgraphNodeParams& node, cudaGraphNodeParams* result);

}  // namespace vramstow::simulator::cudart

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_CUDART_NODE_PARAMETERS_H_
