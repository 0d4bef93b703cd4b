// RelaxedCaptureMode: this thread's calls of the driver are not held against a stream capture,
// whatever mode the program chose, until the object ends.
//
// Ownership: none. Threads: the mode is the thread's own. Errors: a driver without the call goes on
// as it was. Units: none.
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

// The same until the end of the thread.
inline void RelaxCaptureMode(const Driver& driver) {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  const auto exchange = driver.cuThreadExchangeStreamCaptureMode();
  if (exchange != nullptr) exchange(&mode);
}

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_RELAXED_CAPTURE_MODE_H_
