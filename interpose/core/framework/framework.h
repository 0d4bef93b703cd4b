// Provides the first table of include/vramstow/framework.h, by which a framework's adapter uses the
// pool as the framework's allocator.
//
// Idea: a call of cuMemAlloc names neither stream nor purpose, but a framework's adapter knows
// both. The framework's blocks lie in the same pools as all others and belong to layer kFramework.
//
// Ownership: static storage. Threads: any. Errors: codes of the two C headers. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_FRAMEWORK_H_
#define VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_FRAMEWORK_H_

#include <cstdint>

#include "interpose/core/runtime/core.h"

struct vramstow_table;

namespace vramstow {

// The parts of the core that the table's functions use. An adapter cannot pass them as arguments,
// so they are members of a global object, which wiring.cc defines.
struct FrameworkContext {
  Process& process;
  Trace& trace;
  FreeBytes& free_bytes;
  Pools& pools;
  PoolTrace& pool_trace;
  void (*start_service)();  // lets vramstow ctl send requests
  Driver& driver;
  ObservedMemory& observed;
  void (*end_service)();  // its thread has ended when this returns
};
extern const FrameworkContext framework_context;

// Returns the table of this kind and version, or null if there is none.
const vramstow_table* TableOf(uint32_t kind, uint32_t version);

// True if a framework's adapter allocates from the pools.
bool HasFramework();

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_FRAMEWORK_H_
