#include "interpose/core/handlers/record.h"

#include "interpose/core/core.h"
#include "interpose/core/record/free_bytes.h"
#include "interpose/core/runtime/keep_errno.h"

namespace vramstow::handlers {

uint64_t Record(const Entry& entry, const Event& event) {
  const uint64_t sequence = TheCore().trace.Record(entry.hook(), entry.return_address(), event);
  entry.NoteRecorded(sequence);
  return sequence;
}

int16_t CurrentDevice() {
  KeepErrno keep_errno;
  const Driver& driver = TheCore().driver;
  if (driver.cuCtxGetCurrent() == nullptr || driver.cuCtxGetDevice() == nullptr) return kNoDevice;
  // The first question has an answer without a context, too; the second would be an error, which
  // the driver may log.
  CUcontext context = nullptr;
  if (driver.cuCtxGetCurrent()(&context) != CUDA_SUCCESS || context == nullptr) return kNoDevice;
  CUdevice device = -1;
  if (driver.cuCtxGetDevice()(&device) != CUDA_SUCCESS) return kNoDevice;
  return static_cast<int16_t>(device);
}

int16_t DeviceBeforeAllocation() {
  const int16_t device = CurrentDevice();
  DescribeFreeBytes(device);
  SampleFreeBytes(device);
  return device;
}

int16_t DeviceOf(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? static_cast<int16_t>(location.id)
                                                      : kNoDevice;
}

uint64_t StreamOf(const Entry& entry, CUstream stream) {
  if (stream == nullptr && RowOf(entry.hook()).per_thread_stream) {
    return ToNumber(CU_STREAM_PER_THREAD);
  }
  return ToNumber(stream);
}

bool IsCapturing(const Entry& entry, CUstream stream) {
  const bool per_thread = RowOf(entry.hook()).per_thread_stream;
  // The legacy default stream cannot be captured, and the question alone is an error while others
  // are.
  if (stream == CU_STREAM_LEGACY || (stream == nullptr && !per_thread)) return false;
  const Driver& driver = TheCore().driver;
  auto* is_capturing =
      per_thread ? driver.cuStreamIsCapturing_ptsz() : driver.cuStreamIsCapturing();
  if (is_capturing == nullptr) return false;
  KeepErrno keep_errno;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return is_capturing(stream, &status) == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

}  // namespace vramstow::handlers
