// RelaxedCapture: driver calls of this thread that disturb no capture.
//
// Idea: from Begin on, which is called before the first call of the driver that a slow step makes,
// until the object ends. A step that needs no driver asks it for nothing.
//
// Ownership: none. Threads: one. Errors: a driver that cannot goes on as it was. Units: none.
#ifndef VRAMSTOW_ALLOCATOR_CORE_RELAXED_CAPTURE_H_
#define VRAMSTOW_ALLOCATOR_CORE_RELAXED_CAPTURE_H_

#include "allocator/core/driver.h"

namespace vramstow {

class RelaxedCapture {
 public:
  explicit RelaxedCapture(const DriverTable* driver) : driver_(driver) {}
  ~RelaxedCapture() {
    if (relaxed_) driver_->restore_capture(driver_->self, previous_);
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

  void Begin() {
    if (begun_) return;
    begun_ = true;
    relaxed_ = driver_->relax_capture(driver_->self, &previous_) == kDriverSuccess;
  }

 private:
  const DriverTable* driver_;
  int32_t previous_ = 0;
  bool begun_ = false;
  bool relaxed_ = false;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_CORE_RELAXED_CAPTURE_H_
