// Implements stream, memory and copy functions whose parameters changed with CUDA 13. Each has two
// forms: one for the legacy default stream, and one for the per-thread default stream (with the
// suffix _ptsz).
#include <cstdint>

#include "simulator/runtime/cudart/twelve/abi.h"

namespace {

// CUDA 12 names a location by a device's number, or cudaCpuDeviceId.
cudaMemLocation LocationOf(int device) {
  cudaMemLocation location = {};
  location.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  location.id = device == cudaCpuDeviceId ? 0 : device;
  return location;
}

// The driver does not report which copy of a batch failed.
cudaError_t NoteFailure(cudaError_t error, size_t* failed) {
  if (error != cudaSuccess && failed != nullptr) *failed = SIZE_MAX;
  return error;
}

}  // namespace

VRAMSTOW_THIRTEEN(cudaMemAdvise, const void*, size_t, cudaMemoryAdvise, cudaMemLocation);

VRAMSTOW_TWELVE(cudaMemAdvise, const void* memory, size_t bytes, cudaMemoryAdvise advice,
                int device) {
  return Thirteen_cudaMemAdvise(memory, bytes, advice, LocationOf(device));
}
VRAMSTOW_TWELVE(cudaMemAdvise_v2, const void* memory, size_t bytes, cudaMemoryAdvise advice,
                cudaMemLocation location) {
  return Thirteen_cudaMemAdvise(memory, bytes, advice, location);
}

// All functions below exist with and without `suffix`.
#define VRAMSTOW_BOTH_STREAMS(suffix)                                                              \
  VRAMSTOW_THIRTEEN(cudaMemPrefetchAsync##suffix, const void*, size_t, cudaMemLocation, unsigned,  \
                    cudaStream_t);                                                                 \
  VRAMSTOW_THIRTEEN(cudaMemcpyBatchAsync##suffix, void* const*, const void* const*, const size_t*, \
                    size_t, cudaMemcpyAttributes*, size_t*, size_t, cudaStream_t);                 \
  VRAMSTOW_THIRTEEN(cudaMemcpy3DBatchAsync##suffix, size_t, cudaMemcpy3DBatchOp*,                  \
                    unsigned long long, cudaStream_t);                                             \
  VRAMSTOW_THIRTEEN(cudaStreamGetCaptureInfo##suffix, cudaStream_t, cudaStreamCaptureStatus*,      \
                    unsigned long long*, cudaGraph_t*, const cudaGraphNode_t**,                    \
                    const cudaGraphEdgeData**, size_t*);                                           \
  VRAMSTOW_THIRTEEN(cudaStreamUpdateCaptureDependencies##suffix, cudaStream_t, cudaGraphNode_t*,   \
                    const cudaGraphEdgeData*, size_t, unsigned);                                   \
  VRAMSTOW_THIRTEEN(cudaSignalExternalSemaphoresAsync##suffix, const cudaExternalSemaphore_t*,     \
                    const cudaExternalSemaphoreSignalParams*, unsigned, cudaStream_t);             \
  VRAMSTOW_THIRTEEN(cudaWaitExternalSemaphoresAsync##suffix, const cudaExternalSemaphore_t*,       \
                    const cudaExternalSemaphoreWaitParams*, unsigned, cudaStream_t);               \
  VRAMSTOW_THIRTEEN(cudaGetDriverEntryPointByVersion##suffix, const char*, void**, unsigned,       \
                    unsigned long long, cudaDriverEntryPointQueryResult*);                         \
                                                                                                   \
  VRAMSTOW_TWELVE(cudaMemPrefetchAsync##suffix, const void* memory, size_t bytes, int device,      \
                  cudaStream_t stream) {                                                           \
    return Thirteen_cudaMemPrefetchAsync##suffix(memory, bytes, LocationOf(device), 0, stream);    \
  }                                                                                                \
  VRAMSTOW_TWELVE(cudaMemPrefetchAsync_v2##suffix, const void* memory, size_t bytes,               \
                  cudaMemLocation location, unsigned flags, cudaStream_t stream) {                 \
    return Thirteen_cudaMemPrefetchAsync##suffix(memory, bytes, location, flags, stream);          \
  }                                                                                                \
  VRAMSTOW_TWELVE(cudaMemcpyBatchAsync##suffix, void** targets, void** sources, size_t* sizes,     \
                  size_t count, cudaMemcpyAttributes* attributes, size_t* indices,                 \
                  size_t attribute_count, size_t* failed, cudaStream_t stream) {                   \
    return NoteFailure(                                                                            \
        Thirteen_cudaMemcpyBatchAsync##suffix(targets, sources, sizes, count, attributes, indices, \
                                              attribute_count, stream),                            \
        failed);                                                                                   \
  }                                                                                                \
  VRAMSTOW_TWELVE(cudaMemcpy3DBatchAsync##suffix, size_t count, cudaMemcpy3DBatchOp* operations,   \
                  size_t* failed, unsigned long long flags, cudaStream_t stream) {                 \
    return NoteFailure(Thirteen_cudaMemcpy3DBatchAsync##suffix(count, operations, flags, stream),  \
                       failed);                                                                    \
  }                                                                                                \
  VRAMSTOW_TWELVE(cudaStreamGetCaptureInfo##suffix, cudaStream_t stream,                           \
                  cudaStreamCaptureStatus* status, unsigned long long* id) {                       \
    return Thirteen_cudaStreamGetCaptureInfo##suffix(stream, status, id, nullptr, nullptr,         \
                                                     nullptr, nullptr);                            \
  }                                                                                                \
  VRAMSTOW_TWELVE(cudaStreamGetCaptureInfo_v2##suffix, cudaStream_t stream,                        \
                  cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,     \
                  const cudaGraphNode_t** dependencies, size_t* count) {                           \
    return Thirteen_cudaStreamGetCaptureInfo##suffix(stream, status, id, graph, dependencies,      \
                                                     nullptr, count);                              \
  }                                                                                                \
  VRAMSTOW_TWELVE(cudaStreamGetCaptureInfo_v3##suffix, cudaStream_t stream,                        \
                  cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,     \
                  const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,           \
                  size_t* count) {                                                                 \
    return Thirteen_cudaStreamGetCaptureInfo##suffix(stream, status, id, graph, dependencies,      \
                                                     edges, count);                                \
  }                                                                                                \
  VRAMSTOW_TWELVE(cudaStreamUpdateCaptureDependencies##suffix, cudaStream_t stream,                \
                  cudaGraphNode_t* dependencies, size_t count, unsigned flags) {                   \
    return Thirteen_cudaStreamUpdateCaptureDependencies##suffix(stream, dependencies, nullptr,     \
                                                                count, flags);                     \
  }                                                                                                \
  VRAMSTOW_TWELVE(cudaStreamUpdateCaptureDependencies_v2##suffix, cudaStream_t stream,             \
                  cudaGraphNode_t* dependencies, const cudaGraphEdgeData* edges, size_t count,     \
                  unsigned flags) {                                                                \
    return Thirteen_cudaStreamUpdateCaptureDependencies##suffix(stream, dependencies, edges,       \
                                                                count, flags);                     \
  }                                                                                                \
  VRAMSTOW_TWELVE(                                                                                 \
      cudaSignalExternalSemaphoresAsync_v2##suffix, const cudaExternalSemaphore_t* semaphores,     \
      const cudaExternalSemaphoreSignalParams* parameters, unsigned count, cudaStream_t stream) {  \
    return Thirteen_cudaSignalExternalSemaphoresAsync##suffix(semaphores, parameters, count,       \
                                                              stream);                             \
  }                                                                                                \
  VRAMSTOW_TWELVE(                                                                                 \
      cudaWaitExternalSemaphoresAsync_v2##suffix, const cudaExternalSemaphore_t* semaphores,       \
      const cudaExternalSemaphoreWaitParams* parameters, unsigned count, cudaStream_t stream) {    \
    return Thirteen_cudaWaitExternalSemaphoresAsync##suffix(semaphores, parameters, count,         \
                                                            stream);                               \
  }                                                                                                \
  VRAMSTOW_TWELVE(cudaGetDriverEntryPointByVersion##suffix, const char* symbol, void** function,   \
                  unsigned version, unsigned long long flags,                                      \
                  cudaDriverEntryPointQueryResult* result) {                                       \
    return Thirteen_cudaGetDriverEntryPointByVersion##suffix(symbol, function, version, flags,     \
                                                             result);                              \
  }                                                                                                \
  VRAMSTOW_TWELVE(cudaGetDriverEntryPoint##suffix, const char* symbol, void** function,            \
                  unsigned long long flags, cudaDriverEntryPointQueryResult* result) {             \
    return Thirteen_cudaGetDriverEntryPointByVersion##suffix(symbol, function, 12080, flags,       \
                                                             result);                              \
  }

VRAMSTOW_BOTH_STREAMS()
VRAMSTOW_BOTH_STREAMS(_ptsz)
