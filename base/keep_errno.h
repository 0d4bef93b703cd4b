// KeepErrno: restores errno when it is destroyed, because vramstow's own calls must not change the
// caller's errno.
//
// Ownership: none. Threads: errno belongs to the thread. Errors: none. Units: none.
#ifndef VRAMSTOW_BASE_KEEP_ERRNO_H_
#define VRAMSTOW_BASE_KEEP_ERRNO_H_

#include <errno.h>

namespace vramstow {

class KeepErrno {
 public:
  KeepErrno() : value_(errno) {}
  ~KeepErrno() { errno = value_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  const int value_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_KEEP_ERRNO_H_
