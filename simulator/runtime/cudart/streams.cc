// Implements streams, and work in streams other than copies and launches. Compiled twice (see
// api.h).
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

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return Call([&](const DriverTable& driver) { return driver.StreamCreate(stream, flags); });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return Call([&](const DriverTable& driver) {
    return driver.StreamCreateWithPriority(stream, flags, priority);
  });
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

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return CallWithoutContext([&](const DriverTable& driver) {
    return driver.ThreadExchangeStreamCaptureMode(SameLayout<CUstreamCaptureMode>(mode));
  });
}
#endif

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return Call(
      [&](const DriverTable& driver) { return driver.StreamGetPriority(stream, priority); });
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return Call([&](const DriverTable& driver) { return driver.StreamGetFlags(stream, flags); });
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return Call([&](const DriverTable& driver) { return driver.StreamGetId(stream, id); });
}

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

cudaError_t cudaStreamCopyAttributes(cudaStream_t destination, cudaStream_t source) {
  return Call(
      [&](const DriverTable& driver) { return driver.StreamCopyAttributes(destination, source); });
}

cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaLaunchAttributeID attribute,
                                   cudaLaunchAttributeValue* value) {
  return Call([&](const DriverTable& driver) {
    return driver.StreamGetAttribute(stream, static_cast<CUstreamAttrID>(attribute),
                                     SameLayout<CUstreamAttrValue>(value));
  });
}

cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID attribute,
                                   const cudaLaunchAttributeValue* value) {
  return Call([&](const DriverTable& driver) {
    return driver.StreamSetAttribute(stream, static_cast<CUstreamAttrID>(attribute),
                                     SameLayout<const CUstreamAttrValue>(value));
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return Call(
      [&](const DriverTable& driver) { return driver.StreamWaitEvent(stream, event, flags); });
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

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return Call([&](const DriverTable& driver) { return driver.StreamSynchronize(stream); });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return Ask([&](const DriverTable& driver) { return driver.StreamQuery(stream); });
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, size_t bytes,
                                     unsigned flags) {
  return Call([&](const DriverTable& driver) {
    return driver.StreamAttachMemAsync(stream, Address(pointer), bytes, flags);
  });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return Call([&](const DriverTable& driver) {
    return driver.StreamBeginCapture(stream, static_cast<CUstreamCaptureMode>(mode));
  });
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                          const cudaGraphNode_t* dependencies,
                                          const cudaGraphEdgeData* edges, size_t count,
                                          cudaStreamCaptureMode mode) {
  return Call([&](const DriverTable& driver) {
    return driver.StreamBeginCaptureToGraph(stream, graph, dependencies,
                                            SameLayout<const CUgraphEdgeData>(edges), count,
                                            static_cast<CUstreamCaptureMode>(mode));
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return Call([&](const DriverTable& driver) { return driver.StreamEndCapture(stream, graph); });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return Call([&](const DriverTable& driver) {
    return driver.StreamIsCapturing(stream, SameLayout<CUstreamCaptureStatus>(status));
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

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                const cudaGraphEdgeData* edges, size_t count,
                                                unsigned flags) {
  return Call([&](const DriverTable& driver) {
    return driver.StreamUpdateCaptureDependencies(
        stream, dependencies, SameLayout<const CUgraphEdgeData>(edges), count, flags);
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return Call([&](const DriverTable& driver) { return driver.EventRecord(event, stream); });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return Call(
      [&](const DriverTable& driver) { return driver.EventRecordWithFlags(event, stream, flags); });
}
