// Declares functions of the driver that are newer than the oldest supported headers (CUDA 13.0).
// The declarations are those in cuda.h of CUDA 13.2; with newer headers they are repetitions.
//
// Ownership, threads, errors, units: those of the functions.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_NEWER_FUNCTIONS_H_
#define VRAMSTOW_SIMULATOR_DRIVER_NEWER_FUNCTIONS_H_

#include <cuda.h>

extern "C" {

CUresult cuFuncGetParamCount(CUfunction function, size_t* count);
CUresult cuKernelGetParamCount(CUkernel kernel, size_t* count);
CUresult cuGraphNodeGetContainingGraph(CUgraphNode node, CUgraph* graph);
CUresult cuGraphNodeGetLocalId(CUgraphNode node, unsigned int* id);
CUresult cuGraphNodeGetToolsId(CUgraphNode node, unsigned long long* id);
CUresult cuGraphGetId(CUgraph graph, unsigned int* id);
CUresult cuGraphExecGetId(CUgraphExec executable, unsigned int* id);
CUresult cuGraphNodeGetParams(CUgraphNode node, CUgraphNodeParams* parameters);
CUresult cuLaunchHostFunc_v2(CUstream stream, CUhostFn function, void* user, unsigned int mode);
CUresult cuMemcpyWithAttributesAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                     CUmemcpyAttributes* attributes, CUstream stream);
CUresult cuMemcpy3DWithAttributesAsync(CUDA_MEMCPY3D_BATCH_OP* operation, unsigned long long flags,
                                       CUstream stream);

}  // extern "C"

#endif  // VRAMSTOW_SIMULATOR_DRIVER_NEWER_FUNCTIONS_H_
