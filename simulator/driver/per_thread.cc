// The forms of functions in which stream 0 is the calling thread's own default stream.
#include <cuda.h>

#include "simulator/driver/call.h"
#include "simulator/driver/newer_functions.h"

using vramstow::simulator::PerThreadDefault;

// Parameters have no names of their own here: each form only passes them on.
#define VRAMSTOW_PER_THREAD(symbol, plain, parameters, arguments) \
  CUresult symbol parameters {                                    \
    const PerThreadDefault scope;                                 \
    return plain arguments;                                       \
  }

#undef cuMemcpyBatchAsync
#undef cuMemcpy3DBatchAsync
#undef cuStreamBeginCapture
#undef cuStreamGetCaptureInfo
#undef cuStreamUpdateCaptureDependencies
#undef cuMemPrefetchAsync
#undef cuStreamBatchMemOp
#undef cuStreamWaitValue32
#undef cuStreamWaitValue64
#undef cuStreamWriteValue32
#undef cuStreamWriteValue64

extern "C" {

// Forms that cuda.h renames.
CUresult cuMemcpyBatchAsync(CUdeviceptr*, CUdeviceptr*, size_t*, size_t, CUmemcpyAttributes*,
                            size_t*, size_t, size_t*, CUstream);
CUresult cuMemPrefetchAsync(CUdeviceptr, size_t, CUdevice, CUstream);
CUresult cuMemcpy3DBatchAsync(size_t, CUDA_MEMCPY3D_BATCH_OP*, size_t*, unsigned long long,
                              CUstream);
CUresult cuStreamBeginCapture(CUstream);
CUresult cuStreamGetCaptureInfo(CUstream, CUstreamCaptureStatus*, cuuint64_t*);
CUresult cuStreamGetCaptureInfo_v2(CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*,
                                   const CUgraphNode**, size_t*);
CUresult cuStreamUpdateCaptureDependencies(CUstream, CUgraphNode*, size_t, unsigned int);

VRAMSTOW_PER_THREAD(cuEventRecordWithFlags_ptsz, cuEventRecordWithFlags,
                    (CUevent a, CUstream b, unsigned int c), (a, b, c))
VRAMSTOW_PER_THREAD(cuEventRecord_ptsz, cuEventRecord, (CUevent a, CUstream b), (a, b))
VRAMSTOW_PER_THREAD(cuGraphInstantiateWithParams_ptsz, cuGraphInstantiateWithParams,
                    (CUgraphExec * a, CUgraph b, CUDA_GRAPH_INSTANTIATE_PARAMS* c), (a, b, c))
VRAMSTOW_PER_THREAD(cuGraphLaunch_ptsz, cuGraphLaunch, (CUgraphExec a, CUstream b), (a, b))
VRAMSTOW_PER_THREAD(cuGraphUpload_ptsz, cuGraphUpload, (CUgraphExec a, CUstream b), (a, b))
VRAMSTOW_PER_THREAD(cuLaunchCooperativeKernel_ptsz, cuLaunchCooperativeKernel,
                    (CUfunction a, unsigned int b, unsigned int c, unsigned int d, unsigned int e,
                     unsigned int f, unsigned int g, unsigned int h, CUstream i, void** j),
                    (a, b, c, d, e, f, g, h, i, j))
VRAMSTOW_PER_THREAD(cuLaunchHostFunc_ptsz, cuLaunchHostFunc, (CUstream a, CUhostFn b, void* c),
                    (a, b, c))
VRAMSTOW_PER_THREAD(cuLaunchHostFunc_v2_ptsz, cuLaunchHostFunc_v2,
                    (CUstream a, CUhostFn b, void* c, unsigned int d), (a, b, c, d))
VRAMSTOW_PER_THREAD(cuLaunchKernelEx_ptsz, cuLaunchKernelEx,
                    (const CUlaunchConfig* a, CUfunction b, void** c, void** d), (a, b, c, d))
VRAMSTOW_PER_THREAD(cuLaunchKernel_ptsz, cuLaunchKernel,
                    (CUfunction a, unsigned int b, unsigned int c, unsigned int d, unsigned int e,
                     unsigned int f, unsigned int g, unsigned int h, CUstream i, void** j,
                     void** k),
                    (a, b, c, d, e, f, g, h, i, j, k))
VRAMSTOW_PER_THREAD(cuMemAllocAsync_ptsz, cuMemAllocAsync, (CUdeviceptr * a, size_t b, CUstream c),
                    (a, b, c))
VRAMSTOW_PER_THREAD(cuMemAllocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync,
                    (CUdeviceptr * a, size_t b, CUmemoryPool c, CUstream d), (a, b, c, d))
VRAMSTOW_PER_THREAD(cuMemFreeAsync_ptsz, cuMemFreeAsync, (CUdeviceptr a, CUstream b), (a, b))
VRAMSTOW_PER_THREAD(cuMemPrefetchAsync_ptsz, cuMemPrefetchAsync,
                    (CUdeviceptr a, size_t b, CUdevice c, CUstream d), (a, b, c, d))
VRAMSTOW_PER_THREAD(cuMemPrefetchAsync_v2_ptsz, cuMemPrefetchAsync_v2,
                    (CUdeviceptr a, size_t b, CUmemLocation_v1 c, unsigned int d, CUstream e),
                    (a, b, c, d, e))
VRAMSTOW_PER_THREAD(cuMemcpy2DAsync_v2_ptsz, cuMemcpy2DAsync_v2,
                    (const CUDA_MEMCPY2D* a, CUstream b), (a, b))
VRAMSTOW_PER_THREAD(cuMemcpy2DUnaligned_v2_ptds, cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D* a),
                    (a))
VRAMSTOW_PER_THREAD(cuMemcpy2D_v2_ptds, cuMemcpy2D_v2, (const CUDA_MEMCPY2D* a), (a))
VRAMSTOW_PER_THREAD(cuMemcpy3DAsync_v2_ptsz, cuMemcpy3DAsync_v2,
                    (const CUDA_MEMCPY3D* a, CUstream b), (a, b))
VRAMSTOW_PER_THREAD(cuMemcpy3DPeerAsync_ptsz, cuMemcpy3DPeerAsync,
                    (const CUDA_MEMCPY3D_PEER* a, CUstream b), (a, b))
VRAMSTOW_PER_THREAD(cuMemcpy3DPeer_ptds, cuMemcpy3DPeer, (const CUDA_MEMCPY3D_PEER* a), (a))
VRAMSTOW_PER_THREAD(cuMemcpy3D_v2_ptds, cuMemcpy3D_v2, (const CUDA_MEMCPY3D* a), (a))
VRAMSTOW_PER_THREAD(cuMemcpyAsync_ptsz, cuMemcpyAsync,
                    (CUdeviceptr a, CUdeviceptr b, size_t c, CUstream d), (a, b, c, d))
VRAMSTOW_PER_THREAD(cuMemcpyBatchAsync_ptsz, cuMemcpyBatchAsync,
                    (CUdeviceptr * a, CUdeviceptr* b, size_t* c, size_t d, CUmemcpyAttributes_v1* e,
                     size_t* f, size_t g, size_t* h, CUstream i),
                    (a, b, c, d, e, f, g, h, i))
VRAMSTOW_PER_THREAD(cuMemcpyBatchAsync_v2_ptsz, cuMemcpyBatchAsync_v2,
                    (CUdeviceptr * a, CUdeviceptr* b, size_t* c, size_t d, CUmemcpyAttributes_v1* e,
                     size_t* f, size_t g, CUstream h),
                    (a, b, c, d, e, f, g, h))
VRAMSTOW_PER_THREAD(cuMemcpy3DBatchAsync_ptsz, cuMemcpy3DBatchAsync,
                    (size_t a, CUDA_MEMCPY3D_BATCH_OP* b, size_t* c, unsigned long long d,
                     CUstream e),
                    (a, b, c, d, e))
VRAMSTOW_PER_THREAD(cuMemcpy3DBatchAsync_v2_ptsz, cuMemcpy3DBatchAsync_v2,
                    (size_t a, CUDA_MEMCPY3D_BATCH_OP* b, unsigned long long c, CUstream d),
                    (a, b, c, d))
VRAMSTOW_PER_THREAD(cuMemcpy3DWithAttributesAsync_ptsz, cuMemcpy3DWithAttributesAsync,
                    (CUDA_MEMCPY3D_BATCH_OP * a, unsigned long long b, CUstream c), (a, b, c))
VRAMSTOW_PER_THREAD(cuMemcpyWithAttributesAsync_ptsz, cuMemcpyWithAttributesAsync,
                    (CUdeviceptr a, CUdeviceptr b, size_t c, CUmemcpyAttributes* d, CUstream e),
                    (a, b, c, d, e))
VRAMSTOW_PER_THREAD(cuMemcpyDtoDAsync_v2_ptsz, cuMemcpyDtoDAsync_v2,
                    (CUdeviceptr a, CUdeviceptr b, size_t c, CUstream d), (a, b, c, d))
VRAMSTOW_PER_THREAD(cuMemcpyDtoD_v2_ptds, cuMemcpyDtoD_v2, (CUdeviceptr a, CUdeviceptr b, size_t c),
                    (a, b, c))
VRAMSTOW_PER_THREAD(cuMemcpyDtoHAsync_v2_ptsz, cuMemcpyDtoHAsync_v2,
                    (void* a, CUdeviceptr b, size_t c, CUstream d), (a, b, c, d))
VRAMSTOW_PER_THREAD(cuMemcpyDtoH_v2_ptds, cuMemcpyDtoH_v2, (void* a, CUdeviceptr b, size_t c),
                    (a, b, c))
VRAMSTOW_PER_THREAD(cuMemcpyHtoDAsync_v2_ptsz, cuMemcpyHtoDAsync_v2,
                    (CUdeviceptr a, const void* b, size_t c, CUstream d), (a, b, c, d))
VRAMSTOW_PER_THREAD(cuMemcpyHtoD_v2_ptds, cuMemcpyHtoD_v2, (CUdeviceptr a, const void* b, size_t c),
                    (a, b, c))
VRAMSTOW_PER_THREAD(cuMemcpyPeerAsync_ptsz, cuMemcpyPeerAsync,
                    (CUdeviceptr a, CUcontext b, CUdeviceptr c, CUcontext d, size_t e, CUstream f),
                    (a, b, c, d, e, f))
VRAMSTOW_PER_THREAD(cuMemcpyPeer_ptds, cuMemcpyPeer,
                    (CUdeviceptr a, CUcontext b, CUdeviceptr c, CUcontext d, size_t e),
                    (a, b, c, d, e))
VRAMSTOW_PER_THREAD(cuMemcpy_ptds, cuMemcpy, (CUdeviceptr a, CUdeviceptr b, size_t c), (a, b, c))
VRAMSTOW_PER_THREAD(cuMemsetD16Async_ptsz, cuMemsetD16Async,
                    (CUdeviceptr a, unsigned short b, size_t c, CUstream d), (a, b, c, d))
VRAMSTOW_PER_THREAD(cuMemsetD16_v2_ptds, cuMemsetD16_v2,
                    (CUdeviceptr a, unsigned short b, size_t c), (a, b, c))
VRAMSTOW_PER_THREAD(cuMemsetD2D16Async_ptsz, cuMemsetD2D16Async,
                    (CUdeviceptr a, size_t b, unsigned short c, size_t d, size_t e, CUstream f),
                    (a, b, c, d, e, f))
VRAMSTOW_PER_THREAD(cuMemsetD2D16_v2_ptds, cuMemsetD2D16_v2,
                    (CUdeviceptr a, size_t b, unsigned short c, size_t d, size_t e),
                    (a, b, c, d, e))
VRAMSTOW_PER_THREAD(cuMemsetD2D32Async_ptsz, cuMemsetD2D32Async,
                    (CUdeviceptr a, size_t b, unsigned int c, size_t d, size_t e, CUstream f),
                    (a, b, c, d, e, f))
VRAMSTOW_PER_THREAD(cuMemsetD2D32_v2_ptds, cuMemsetD2D32_v2,
                    (CUdeviceptr a, size_t b, unsigned int c, size_t d, size_t e), (a, b, c, d, e))
VRAMSTOW_PER_THREAD(cuMemsetD2D8Async_ptsz, cuMemsetD2D8Async,
                    (CUdeviceptr a, size_t b, unsigned char c, size_t d, size_t e, CUstream f),
                    (a, b, c, d, e, f))
VRAMSTOW_PER_THREAD(cuMemsetD2D8_v2_ptds, cuMemsetD2D8_v2,
                    (CUdeviceptr a, size_t b, unsigned char c, size_t d, size_t e), (a, b, c, d, e))
VRAMSTOW_PER_THREAD(cuMemsetD32Async_ptsz, cuMemsetD32Async,
                    (CUdeviceptr a, unsigned int b, size_t c, CUstream d), (a, b, c, d))
VRAMSTOW_PER_THREAD(cuMemsetD32_v2_ptds, cuMemsetD32_v2, (CUdeviceptr a, unsigned int b, size_t c),
                    (a, b, c))
VRAMSTOW_PER_THREAD(cuMemsetD8Async_ptsz, cuMemsetD8Async,
                    (CUdeviceptr a, unsigned char b, size_t c, CUstream d), (a, b, c, d))
VRAMSTOW_PER_THREAD(cuMemsetD8_v2_ptds, cuMemsetD8_v2, (CUdeviceptr a, unsigned char b, size_t c),
                    (a, b, c))
VRAMSTOW_PER_THREAD(cuStreamAddCallback_ptsz, cuStreamAddCallback,
                    (CUstream a, CUstreamCallback b, void* c, unsigned int d), (a, b, c, d))
VRAMSTOW_PER_THREAD(cuStreamAttachMemAsync_ptsz, cuStreamAttachMemAsync,
                    (CUstream a, CUdeviceptr b, size_t c, unsigned int d), (a, b, c, d))
VRAMSTOW_PER_THREAD(cuStreamBeginCaptureToGraph_ptsz, cuStreamBeginCaptureToGraph,
                    (CUstream a, CUgraph b, const CUgraphNode* c, const CUgraphEdgeData* d,
                     size_t e, CUstreamCaptureMode f),
                    (a, b, c, d, e, f))
VRAMSTOW_PER_THREAD(cuStreamBeginCapture_ptsz, cuStreamBeginCapture, (CUstream a), (a))
VRAMSTOW_PER_THREAD(cuStreamBeginCapture_v2_ptsz, cuStreamBeginCapture_v2,
                    (CUstream a, CUstreamCaptureMode b), (a, b))
VRAMSTOW_PER_THREAD(cuStreamCopyAttributes_ptsz, cuStreamCopyAttributes, (CUstream a, CUstream b),
                    (a, b))
VRAMSTOW_PER_THREAD(cuStreamEndCapture_ptsz, cuStreamEndCapture, (CUstream a, CUgraph* b), (a, b))
VRAMSTOW_PER_THREAD(cuStreamGetAttribute_ptsz, cuStreamGetAttribute,
                    (CUstream a, CUstreamAttrID b, CUstreamAttrValue_v1* c), (a, b, c))
VRAMSTOW_PER_THREAD(cuStreamGetCaptureInfo_ptsz, cuStreamGetCaptureInfo,
                    (CUstream a, CUstreamCaptureStatus* b, cuuint64_t* c), (a, b, c))
VRAMSTOW_PER_THREAD(cuStreamGetCaptureInfo_v2_ptsz, cuStreamGetCaptureInfo_v2,
                    (CUstream a, CUstreamCaptureStatus* b, cuuint64_t* c, CUgraph* d,
                     const CUgraphNode** e, size_t* f),
                    (a, b, c, d, e, f))
VRAMSTOW_PER_THREAD(cuStreamGetCaptureInfo_v3_ptsz, cuStreamGetCaptureInfo_v3,
                    (CUstream a, CUstreamCaptureStatus* b, cuuint64_t* c, CUgraph* d,
                     const CUgraphNode** e, const CUgraphEdgeData** f, size_t* g),
                    (a, b, c, d, e, f, g))
VRAMSTOW_PER_THREAD(cuStreamGetCtx_ptsz, cuStreamGetCtx, (CUstream a, CUcontext* b), (a, b))
VRAMSTOW_PER_THREAD(cuStreamGetCtx_v2_ptsz, cuStreamGetCtx_v2,
                    (CUstream a, CUcontext* b, CUgreenCtx* c), (a, b, c))
VRAMSTOW_PER_THREAD(cuStreamGetDevice_ptsz, cuStreamGetDevice, (CUstream a, CUdevice* b), (a, b))
VRAMSTOW_PER_THREAD(cuStreamGetFlags_ptsz, cuStreamGetFlags, (CUstream a, unsigned int* b), (a, b))
VRAMSTOW_PER_THREAD(cuStreamGetId_ptsz, cuStreamGetId, (CUstream a, unsigned long long* b), (a, b))
VRAMSTOW_PER_THREAD(cuStreamGetPriority_ptsz, cuStreamGetPriority, (CUstream a, int* b), (a, b))
VRAMSTOW_PER_THREAD(cuStreamIsCapturing_ptsz, cuStreamIsCapturing,
                    (CUstream a, CUstreamCaptureStatus* b), (a, b))
VRAMSTOW_PER_THREAD(cuStreamQuery_ptsz, cuStreamQuery, (CUstream a), (a))
VRAMSTOW_PER_THREAD(cuStreamSetAttribute_ptsz, cuStreamSetAttribute,
                    (CUstream a, CUstreamAttrID b, const CUstreamAttrValue_v1* c), (a, b, c))
VRAMSTOW_PER_THREAD(cuStreamSynchronize_ptsz, cuStreamSynchronize, (CUstream a), (a))
VRAMSTOW_PER_THREAD(cuStreamUpdateCaptureDependencies_ptsz, cuStreamUpdateCaptureDependencies,
                    (CUstream a, CUgraphNode* b, size_t c, unsigned int d), (a, b, c, d))
VRAMSTOW_PER_THREAD(cuStreamUpdateCaptureDependencies_v2_ptsz, cuStreamUpdateCaptureDependencies_v2,
                    (CUstream a, CUgraphNode* b, const CUgraphEdgeData* c, size_t d,
                     unsigned int e),
                    (a, b, c, d, e))
VRAMSTOW_PER_THREAD(cuStreamWaitEvent_ptsz, cuStreamWaitEvent,
                    (CUstream a, CUevent b, unsigned int c), (a, b, c))

CUresult cuStreamWaitValue32_v2(CUstream, CUdeviceptr, cuuint32_t, unsigned int);
CUresult cuStreamWaitValue64_v2(CUstream, CUdeviceptr, cuuint64_t, unsigned int);
CUresult cuStreamWriteValue32_v2(CUstream, CUdeviceptr, cuuint32_t, unsigned int);
CUresult cuStreamWriteValue64_v2(CUstream, CUdeviceptr, cuuint64_t, unsigned int);
CUresult cuStreamBatchMemOp_v2(CUstream, unsigned int, CUstreamBatchMemOpParams*, unsigned int);
VRAMSTOW_PER_THREAD(cuStreamWaitValue32_ptsz, cuStreamWaitValue32_v2,
                    (CUstream a, CUdeviceptr b, cuuint32_t c, unsigned int d), (a, b, c, d))
VRAMSTOW_PER_THREAD(cuStreamWaitValue32_v2_ptsz, cuStreamWaitValue32_v2,
                    (CUstream a, CUdeviceptr b, cuuint32_t c, unsigned int d), (a, b, c, d))
VRAMSTOW_PER_THREAD(cuStreamWaitValue64_ptsz, cuStreamWaitValue64_v2,
                    (CUstream a, CUdeviceptr b, cuuint64_t c, unsigned int d), (a, b, c, d))
VRAMSTOW_PER_THREAD(cuStreamWaitValue64_v2_ptsz, cuStreamWaitValue64_v2,
                    (CUstream a, CUdeviceptr b, cuuint64_t c, unsigned int d), (a, b, c, d))
VRAMSTOW_PER_THREAD(cuStreamWriteValue32_ptsz, cuStreamWriteValue32_v2,
                    (CUstream a, CUdeviceptr b, cuuint32_t c, unsigned int d), (a, b, c, d))
VRAMSTOW_PER_THREAD(cuStreamWriteValue32_v2_ptsz, cuStreamWriteValue32_v2,
                    (CUstream a, CUdeviceptr b, cuuint32_t c, unsigned int d), (a, b, c, d))
VRAMSTOW_PER_THREAD(cuStreamWriteValue64_ptsz, cuStreamWriteValue64_v2,
                    (CUstream a, CUdeviceptr b, cuuint64_t c, unsigned int d), (a, b, c, d))
VRAMSTOW_PER_THREAD(cuStreamWriteValue64_v2_ptsz, cuStreamWriteValue64_v2,
                    (CUstream a, CUdeviceptr b, cuuint64_t c, unsigned int d), (a, b, c, d))
VRAMSTOW_PER_THREAD(cuStreamBatchMemOp_ptsz, cuStreamBatchMemOp_v2,
                    (CUstream a, unsigned int b, CUstreamBatchMemOpParams* c, unsigned int d),
                    (a, b, c, d))
VRAMSTOW_PER_THREAD(cuStreamBatchMemOp_v2_ptsz, cuStreamBatchMemOp_v2,
                    (CUstream a, unsigned int b, CUstreamBatchMemOpParams* c, unsigned int d),
                    (a, b, c, d))

VRAMSTOW_PER_THREAD(cuMemcpyAtoH_v2_ptds, cuMemcpyAtoH, (void* a, CUarray b, size_t c, size_t d),
                    (a, b, c, d))
VRAMSTOW_PER_THREAD(cuMemcpyHtoA_v2_ptds, cuMemcpyHtoA,
                    (CUarray a, size_t b, const void* c, size_t d), (a, b, c, d))
VRAMSTOW_PER_THREAD(cuMemcpyAtoD_v2_ptds, cuMemcpyAtoD,
                    (CUdeviceptr a, CUarray b, size_t c, size_t d), (a, b, c, d))
VRAMSTOW_PER_THREAD(cuMemcpyDtoA_v2_ptds, cuMemcpyDtoA,
                    (CUarray a, size_t b, CUdeviceptr c, size_t d), (a, b, c, d))
VRAMSTOW_PER_THREAD(cuMemcpyAtoA_v2_ptds, cuMemcpyAtoA,
                    (CUarray a, size_t b, CUarray c, size_t d, size_t e), (a, b, c, d, e))
VRAMSTOW_PER_THREAD(cuMemcpyAtoHAsync_v2_ptsz, cuMemcpyAtoHAsync,
                    (void* a, CUarray b, size_t c, size_t d, CUstream e), (a, b, c, d, e))
VRAMSTOW_PER_THREAD(cuMemcpyHtoAAsync_v2_ptsz, cuMemcpyHtoAAsync,
                    (CUarray a, size_t b, const void* c, size_t d, CUstream e), (a, b, c, d, e))

VRAMSTOW_PER_THREAD(cuMemPrefetchBatchAsync_ptsz, cuMemPrefetchBatchAsync,
                    (CUdeviceptr * a, size_t* b, size_t c, CUmemLocation* d, size_t* e, size_t f,
                     unsigned long long g, CUstream h),
                    (a, b, c, d, e, f, g, h))
VRAMSTOW_PER_THREAD(cuMemDiscardAndPrefetchBatchAsync_ptsz, cuMemDiscardAndPrefetchBatchAsync,
                    (CUdeviceptr * a, size_t* b, size_t c, CUmemLocation* d, size_t* e, size_t f,
                     unsigned long long g, CUstream h),
                    (a, b, c, d, e, f, g, h))
VRAMSTOW_PER_THREAD(cuMemDiscardBatchAsync_ptsz, cuMemDiscardBatchAsync,
                    (CUdeviceptr * a, size_t* b, size_t c, unsigned long long d, CUstream e),
                    (a, b, c, d, e))

#undef VRAMSTOW_PER_THREAD

}  // extern "C"
