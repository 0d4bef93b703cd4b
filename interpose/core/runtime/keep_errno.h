// Gives errno back as it was: what a wrapper does for itself must not show in the caller's errno.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_KEEP_ERRNO_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_KEEP_ERRNO_H_

#include <cerrno>

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

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_KEEP_ERRNO_H_
