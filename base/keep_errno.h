// KeepErrno: gives errno back as it was, because nothing that vramstow does for itself may show in
// the caller's errno.
//
// Ownership, errors, units: none. Threads: errno is the thread's own.
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
