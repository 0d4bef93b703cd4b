#include "interpose/core/record/free_bytes.h"

#include "interpose/core/core.h"
#include "interpose/core/runtime/keep_errno.h"

namespace vramstow {
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

void DescribeFreeBytes(int16_t device) {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  if (TheCore().trace.WantsFreeBytes(device) && AskFreeBytes(&free_bytes, &total_bytes)) {
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

}  // namespace vramstow
