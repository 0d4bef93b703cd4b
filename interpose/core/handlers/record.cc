#include "interpose/core/handlers/record.h"

#include "base/keep_errno.h"

namespace vramstow::handlers {

int16_t DeviceOf(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? static_cast<int16_t>(location.id)
                                                      : kNoDevice;
}

uint64_t StreamOf(const CallSite& site, CUstream stream) {
  if (stream == nullptr && RowOf(site.hook).per_thread_stream) {
    return ToNumber(CU_STREAM_PER_THREAD);
  }
  return ToNumber(stream);
}

bool IsCapturing(const Driver& driver, const CallSite& site, CUstream stream) {
  const bool per_thread = RowOf(site.hook).per_thread_stream;
  // The legacy default stream cannot be captured, and asking about it is an error while other
  // streams are captured.
  if (stream == CU_STREAM_LEGACY || (stream == nullptr && !per_thread)) return false;
  auto* is_capturing =
      per_thread ? driver.cuStreamIsCapturing_ptsz() : driver.cuStreamIsCapturing();
  if (is_capturing == nullptr) return false;
  KeepErrno keep_errno;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return is_capturing(stream, &status) == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

}  // namespace vramstow::handlers
