// While a RelaxedCaptureMode exists, this thread's calls of the driver do not invalidate a stream
// capture, whatever capture mode the program chose.
//
// Ownership: none. Threads: the mode belongs to the thread. Errors: if the driver lacks the
// function, the mode does not change. Units: none.
// Source: cuThreadExchangeStreamCaptureMode in the documentation of the CUDA driver API.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_RELAXED_CAPTURE_MODE_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_RELAXED_CAPTURE_MODE_H_

#include "interpose/core/runtime/driver.h"

namespace vramstow {

class RelaxedCaptureMode {
 public:
  explicit RelaxedCaptureMode(const Driver& driver)
      : exchange_(driver.cuThreadExchangeStreamCaptureMode()) {
    if (exchange_ != nullptr) exchange_(&mode_);
  }
  ~RelaxedCaptureMode() {
    if (exchange_ != nullptr) exchange_(&mode_);
  }
  RelaxedCaptureMode(const RelaxedCaptureMode&) = delete;
  RelaxedCaptureMode& operator=(const RelaxedCaptureMode&) = delete;

 private:
  decltype(&::cuThreadExchangeStreamCaptureMode) const exchange_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

// Relaxes the capture mode of this thread until the thread ends: its calls of the driver then do
// not invalidate a stream capture.
inline void RelaxCaptureMode(const Driver& driver) {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  const auto exchange = driver.cuThreadExchangeStreamCaptureMode();
  if (exchange != nullptr) exchange(&mode);
}

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_RELAXED_CAPTURE_MODE_H_
