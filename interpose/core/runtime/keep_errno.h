// The core's handlers find KeepErrno here; the class is the shim's, which may not look into the
// core.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_KEEP_ERRNO_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_KEEP_ERRNO_H_

#include "interpose/shim/keep_errno.h"

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_KEEP_ERRNO_H_
