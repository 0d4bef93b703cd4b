// Offers the pool as a framework's own allocator: the table of include/vramstow/framework.h.
//
// Idea: a call of cuMemAlloc names neither stream nor purpose, but a framework's adapter knows
// both. Its blocks lie in the same pools, in layer kFramework.
//
// Ownership: static storage. Threads: any. Errors: codes of the two C headers. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_FRAMEWORK_H_
#define VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_FRAMEWORK_H_

#include <cstdint>

#include "interpose/core/runtime/core.h"

struct vramstow_table;

namespace vramstow {

// The parts of the core that the table's functions use. An adapter cannot pass them as arguments,
// so they stand in a global object, which wiring.cc defines.
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

// Returns null if there is no table of this version.
const vramstow_table* TableOf(uint32_t kind, uint32_t version);

// True if a framework's adapter allocates from the pools.
bool HasFramework();

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_FRAMEWORK_H_
