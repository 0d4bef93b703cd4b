// Small services around the device: logs, profiler switch, flushes.
#include <cuda.h>
#include <string.h>

#include "simulator/driver/context.h"

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

extern "C" {

// Nothing is ever logged, so a callback is only remembered by its number.
CUresult cuLogsRegisterCallback(CUlogsCallback callback, void* user, CUlogsCallbackHandle* handle) {
  (void)user;
  static std::atomic<uintptr_t> last{0};
  if (callback == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const uintptr_t number = ++last;
  if (handle != nullptr) *handle = reinterpret_cast<CUlogsCallbackHandle>(number);
  return CUDA_SUCCESS;
}

CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle handle) {
  return handle == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuLogsCurrent(CUlogIterator* iterator, unsigned int flags) {
  if (iterator == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *iterator = 0;
  return CUDA_SUCCESS;
}

CUresult cuLogsDumpToMemory(CUlogIterator* iterator, char* buffer, size_t* size,
                            unsigned int flags) {
  (void)iterator;
  if (buffer == nullptr || size == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (*size > 0) *buffer = '\0';
  *size = 0;
  return CUDA_SUCCESS;
}

CUresult cuProfilerStart(void) {
  return Serve("cuProfilerStart", Needs::kContext, [](Call&) { return CUDA_SUCCESS; });
}

CUresult cuProfilerStop(void) {
  return Serve("cuProfilerStop", Needs::kContext, [](Call&) { return CUDA_SUCCESS; });
}

CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
                                    CUflushGPUDirectRDMAWritesScope scope) {
  (void)target, (void)scope;
  return Serve("cuFlushGPUDirectRDMAWrites", Needs::kContext, [](Call&) { return CUDA_SUCCESS; });
}

}  // extern "C"
