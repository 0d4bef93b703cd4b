// Includes cuda.h so that every ABI of a function has its own name: cuMemAlloc is the ABI of CUDA
// 2, and cuMemAlloc_v2 is the current one. Include this file in place of <cuda.h>.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_CUDA_ABI_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_CUDA_ABI_H_

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#if CUDA_VERSION < 13010
// Declares functions of the hook table that older CUDA headers do not declare.
extern "C" {
CUresult CUDAAPI cuMulticastBindMem_v2(CUmemGenericAllocationHandle mcHandle, CUdevice dev,
                                       size_t mcOffset, CUmemGenericAllocationHandle memHandle,
                                       size_t memOffset, size_t size, unsigned long long flags);
CUresult CUDAAPI cuMulticastBindAddr_v2(CUmemGenericAllocationHandle mcHandle, CUdevice dev,
                                        size_t mcOffset, CUdeviceptr memptr, size_t size,
                                        unsigned long long flags);
typedef struct CUstreamCigCaptureParams_st CUstreamCigCaptureParams;
CUresult CUDAAPI cuStreamBeginCaptureToCig(CUstream hStream,
                                           CUstreamCigCaptureParams* streamCigCaptureParams);
CUresult CUDAAPI cuStreamBeginCaptureToCig_ptsz(CUstream hStream,
                                                CUstreamCigCaptureParams* streamCigCaptureParams);
CUresult CUDAAPI cuStreamEndCaptureToCig(CUstream hStream);
CUresult CUDAAPI cuStreamEndCaptureToCig_ptsz(CUstream hStream);
}
#endif
#if CUDA_VERSION < 13020
extern "C" {
CUresult CUDAAPI cuMemcpyWithAttributesAsync(CUdeviceptr dst, CUdeviceptr src, size_t size,
                                             CUmemcpyAttributes* attr, CUstream hStream);
CUresult CUDAAPI cuMemcpyWithAttributesAsync_ptsz(CUdeviceptr dst, CUdeviceptr src, size_t size,
                                                  CUmemcpyAttributes* attr, CUstream hStream);
CUresult CUDAAPI cuMemcpy3DWithAttributesAsync(CUDA_MEMCPY3D_BATCH_OP* op, unsigned long long flags,
                                               CUstream hStream);
CUresult CUDAAPI cuMemcpy3DWithAttributesAsync_ptsz(CUDA_MEMCPY3D_BATCH_OP* op,
                                                    unsigned long long flags, CUstream hStream);
}
#endif

namespace vramstow {

// The newest CUDA version whose functions the table of hooks knows.
inline constexpr int kKnownCudaVersion = 13020;

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_CUDA_ABI_H_
