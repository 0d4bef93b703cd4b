// CallSite describes one call of a hooked function: the function, the calling thread and the
// caller's address.
//
// Ownership: a value on the wrapper's stack. Threads: each thread has its own. Errors, units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_CALL_SITE_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_CALL_SITE_H_

#include "interpose/core/runtime/hook_table.h"
#include "interpose/shim/seam.h"

namespace vramstow {

struct CallSite {
  VramstowThread* thread;
  const void* return_address;
  Hook hook;
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_CALL_SITE_H_
