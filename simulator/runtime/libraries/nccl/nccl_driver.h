// NcclDriver has the driver functions that the NCCL stand-in calls, found once as in
// driver_access.h. ContextScope restores the thread's state after a call of the library.
//
// Ownership: the table lives as long as the process. Threads: any. Errors: the driver's results;
// every pointer is null if `complete` is false. Units: none.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_NCCL_DRIVER_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_NCCL_DRIVER_H_

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace vramstow::simulator {

// Macro arguments are types here, which cannot be put in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)

// Lists names, the CUDA version of each ABI, and the function's parameters.
#define VRAMSTOW_NCCL_DRIVER_FUNCTIONS(X)                                           \
  X(cuInit, 2000, (unsigned))                                                       \
  X(cuCtxGetCurrent, 4000, (CUcontext*))                                            \
  X(cuCtxSetCurrent, 4000, (CUcontext))                                             \
  X(cuCtxGetDevice, 2000, (CUdevice*))                                              \
  X(cuDeviceGet, 2000, (CUdevice*, int))                                            \
  X(cuDevicePrimaryCtxRetain, 7000, (CUcontext*, CUdevice))                         \
  X(cuMemAlloc, 3020, (CUdeviceptr*, size_t))                                       \
  X(cuMemFree, 3020, (CUdeviceptr))                                                 \
  X(cuMemHostAlloc, 2020, (void**, size_t, unsigned))                               \
  X(cuMemFreeHost, 2000, (void*))                                                   \
  X(cuMemcpyDtoHAsync, 3020, (void*, CUdeviceptr, size_t, CUstream))                \
  X(cuMemcpyHtoDAsync, 3020, (CUdeviceptr, const void*, size_t, CUstream))          \
  X(cuMemcpyDtoDAsync, 3020, (CUdeviceptr, CUdeviceptr, size_t, CUstream))          \
  X(cuLaunchHostFunc, 10000, (CUstream, CUhostFn, void*))                           \
  X(cuStreamGetCaptureInfo, 10010, (CUstream, CUstreamCaptureStatus*, cuuint64_t*)) \
  X(cuThreadExchangeStreamCaptureMode, 10010, (CUstreamCaptureMode*))               \
  X(cuStreamWaitEvent, 3020, (CUstream, CUevent, unsigned))                         \
  X(cuEventCreate, 2000, (CUevent*, unsigned))                                      \
  X(cuEventRecord, 2000, (CUevent, CUstream))                                       \
  X(cuEventRecordWithFlags, 11010, (CUevent, CUstream, unsigned))                   \
  X(cuEventQuery, 2000, (CUevent))                                                  \
  X(cuEventDestroy, 4000, (CUevent))

struct NcclDriver {
#define VRAMSTOW_MEMBER(name, version, parameters) CUresult(*name) parameters = nullptr;
  VRAMSTOW_NCCL_DRIVER_FUNCTIONS(VRAMSTOW_MEMBER)
#undef VRAMSTOW_MEMBER
  bool complete = true;

  static const NcclDriver& Get();

 private:
  NcclDriver();
};
// NOLINTEND(bugprone-macro-parentheses)

// Returns the calling thread's context. If it has none, device 0's primary context becomes current,
// as with the CUDA runtime. Returns null if there is no device.
CUcontext CurrentContext();

// While this object lives, `context` is current, and the thread may make calls that are forbidden
// in captures.
class ContextScope {
 public:
  explicit ContextScope(CUcontext context);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  CUcontext before_ = nullptr;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

// Returns the id of the capture in which the stream is, or 0 if it is in none.
uint64_t CaptureOf(CUstream stream);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_NCCL_DRIVER_H_
