// Implements streams, and the work in streams that is neither a copy nor a launch. Compiled twice
// (see api.h).
#include <new>

#include "simulator/runtime/cudart/runtime.h"

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

namespace {

// The runtime's stream callback takes a cudaError_t, but the driver passes a CUresult, so this
// structure stores what is needed to convert it.
struct Callback {
  cudaStreamCallback_t function;
  void* user_data;
};

void CUDA_CB RunCallback(CUstream stream, CUresult status, void* data) {
  auto* callback = static_cast<Callback*>(data);
  callback->function(stream, FromDriver(status), callback->user_data);
  delete callback;
}

}  // namespace

// Creating and destroying streams has no per-thread variant.
#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return Call(
      [&](const DriverTable& driver) { return driver.StreamCreate(stream, CU_STREAM_DEFAULT); });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return Call([&](const DriverTable& driver) {
    // The default streams cannot be destroyed.
    if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    return driver.StreamDestroy(stream);
  });
}

#endif

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return Call([&](const DriverTable& driver) {
    CUdevice handle = 0;
    CUresult result = driver.StreamGetDevice(stream, &handle);
    if (result == CUDA_SUCCESS) {
      *device = handle;
    }
    return result;
  });
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function,
                                  void* user_data, unsigned flags) {
  return Call([&](const DriverTable& driver) {
    if (function == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    auto* callback = new (std::nothrow) Callback{function, user_data};
    if (callback == nullptr) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult result = driver.StreamAddCallback(stream, RunCallback, callback, flags);
    if (result != CUDA_SUCCESS) {
      delete callback;
    }
    return result;
  });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, size_t* count) {
  return Call([&](const DriverTable& driver) {
    static_assert(sizeof(cuuint64_t) == sizeof(unsigned long long));
    return driver.StreamGetCaptureInfo(stream, SameLayout<CUstreamCaptureStatus>(status),
                                       SameLayout<cuuint64_t>(id), graph, dependencies,
                                       SameLayout<const CUgraphEdgeData*>(edges), count);
  });
}
