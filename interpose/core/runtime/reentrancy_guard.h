// ReentrancyGuard marks this thread's calls of the driver as vramstow's own. While it exists, the
// wrappers pass such calls on to the driver unchanged.
//
// Ownership: an object on the stack. Threads: each thread has its own. Errors, units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_REENTRANCY_GUARD_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_REENTRANCY_GUARD_H_

#include "interpose/core/runtime/this_thread.h"

namespace vramstow {

class ReentrancyGuard {
 public:
  ReentrancyGuard() : thread_(ThisThread()) { ++thread_->depth; }
  ~ReentrancyGuard() { --thread_->depth; }
  ReentrancyGuard(const ReentrancyGuard&) = delete;
  ReentrancyGuard& operator=(const ReentrancyGuard&) = delete;

 private:
  VramstowThread* const thread_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_REENTRANCY_GUARD_H_
