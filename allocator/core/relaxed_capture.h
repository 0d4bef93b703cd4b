// RelaxedCapture: while an object of this class exists, driver calls of its thread do not
// invalidate stream captures.
//
// Idea: a slow step calls Begin before its first driver call; the mode lasts until the object is
// destroyed. A step that needs no driver call never calls Begin and so costs nothing.
//
// Ownership: none. Threads: one. Errors: a driver that does not support the mode is called without
// it. Units: none.
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
