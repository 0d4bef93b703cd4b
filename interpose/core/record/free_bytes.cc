#include "interpose/core/record/free_bytes.h"

#include "base/keep_errno.h"
#include "interpose/core/record/trace.h"
#include "interpose/core/runtime/driver.h"
#include "interpose/core/runtime/relaxed_capture_mode.h"

namespace vramstow {

// Gets the free and total memory of the current device. Returns false if the driver does not
// answer.
bool FreeBytes::Ask(size_t* free_bytes, size_t* total_bytes) const {
  KeepErrno keep_errno;
  auto* memory_info =
      reinterpret_cast<decltype(&::cuMemGetInfo_v2)>(driver_.real(Hook::kcuMemGetInfo_v2));
  if (memory_info == nullptr) return false;
  RelaxedCaptureMode relaxed(driver_);
  return memory_info(free_bytes, total_bytes) == CUDA_SUCCESS;
}

void FreeBytes::Describe(int16_t device) const {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  if (trace_.WantsFreeBytes(device) && Ask(&free_bytes, &total_bytes)) {
    trace_.DescribeFreeBytes(device, free_bytes);
  }
}

void FreeBytes::Sample(int16_t device) const {
  if (trace_.WantsSample(device)) Record(device);
}

void FreeBytes::Record(int16_t device) const {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  if (Ask(&free_bytes, &total_bytes)) trace_.RecordFreeBytes(device, free_bytes, total_bytes);
}

}  // namespace vramstow
