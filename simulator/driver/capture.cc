#include "simulator/driver/capture.h"

namespace vramstow::simulator {

CUresult RefuseUnsafe(Call&) { return CUDA_SUCCESS; }
CUresult RefuseCapturing(Call&, Stream*) { return CUDA_SUCCESS; }
CUresult RefuseWhileCapturing(Call&, Context*) { return CUDA_SUCCESS; }
CUresult RefuseCapturedEvent(Call&, Event*) { return CUDA_SUCCESS; }
bool InvalidateCapturesOf(Call&, Context*) { return false; }
void InvalidateCapture(Stream*, CUresult) {}
CUresult CaptureCopy(Call&, Stream*, const CopyBox&) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult CaptureFill(Call&, Stream*, const FillBox&) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult CaptureLaunch(Call&, Stream*, const Launch&) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult CaptureHostFunction(Call&, Stream*, CUhostFn, void*) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult CaptureEventRecord(Call&, Event*, Stream*, unsigned) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult CaptureEventWait(Call&, Event*, Stream*, unsigned) { return CUDA_ERROR_NOT_SUPPORTED; }

}  // namespace vramstow::simulator

extern "C" {

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::swap(*mode, vramstow::simulator::CurrentThread().capture_mode);
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus* status) {
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

#undef cuStreamGetCaptureInfo
CUresult cuStreamGetCaptureInfo_v3(CUstream, CUstreamCaptureStatus* status, cuuint64_t*, CUgraph*,
                                   const CUgraphNode**, const CUgraphEdgeData**, size_t*) {
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

}  // extern "C"
