#include "interpose/core/delegate/record.h"

#include "interpose/core/core.h"
#include "interpose/core/keep_errno.h"

namespace vramstow::delegate {
namespace {

// The next calls of this thread are not held against a capture, whatever mode the program chose.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const Driver& driver)
      : exchange_(driver.cuThreadExchangeStreamCaptureMode()) {
    if (exchange_ != nullptr) exchange_(&mode_);
  }
  ~RelaxedCapture() {
    if (exchange_ != nullptr) exchange_(&mode_);
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  decltype(&::cuThreadExchangeStreamCaptureMode) const exchange_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

// Of the current device. False: the driver does not say.
bool AskFreeBytes(size_t* free_bytes, size_t* total_bytes) {
  Core& core = TheCore();
  KeepErrno keep_errno;
  auto* memory_info =
      reinterpret_cast<decltype(&::cuMemGetInfo_v2)>(core.driver.real(Hook::kcuMemGetInfo_v2));
  if (memory_info == nullptr) return false;
  RelaxedCapture relaxed(core.driver);
  return memory_info(free_bytes, total_bytes) == CUDA_SUCCESS;
}

}  // namespace

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
  if (TheCore().trace.WantsFreeBytes(device)) DescribeFreeBytes(device);
  SampleFreeBytes(device);
  return device;
}

void DescribeFreeBytes(int16_t device) {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  if (AskFreeBytes(&free_bytes, &total_bytes)) {
    TheCore().trace.DescribeFreeBytes(device, free_bytes);
  }
}

void SampleFreeBytes(int16_t device) {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  if (TheCore().trace.WantsSample(device) && AskFreeBytes(&free_bytes, &total_bytes)) {
    TheCore().trace.RecordFreeBytes(device, free_bytes, total_bytes);
  }
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

}  // namespace vramstow::delegate
