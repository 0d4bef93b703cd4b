// The pool as a framework's own allocator: the table of include/vramstow/framework.h.
//
// Idea: where cuMemAlloc knows neither stream nor purpose, the adapter of a framework knows both.
// Its blocks lie in the same pools, of layer kFramework.
//
// Ownership: static storage. Threads: any. Errors: codes of the two C headers. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_FRAMEWORK_H_
#define VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_FRAMEWORK_H_

#include "base/event.h"

struct vramstow_framework;

namespace vramstow {

// Null: not this version.
const vramstow_framework* FrameworkTable(uint32_t version);

// Whether a framework's adapter serves from the pools.
bool HasFramework();

// What the observer of a framework wants to know; called for every event of the pools.
void TellFramework(const Event& event);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_FRAMEWORK_H_
