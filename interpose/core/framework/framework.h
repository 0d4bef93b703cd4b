// The pool as a framework's own allocator: the table of include/vramstow/framework.h.
//
// Idea: where cuMemAlloc knows neither stream nor purpose, the adapter of a framework knows both.
// Its blocks lie in the same pools, of layer kFramework.
//
// Ownership: static storage. Threads: any. Errors: codes of the two C headers. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_FRAMEWORK_H_
#define VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_FRAMEWORK_H_

#include <cstdint>

#include "interpose/core/runtime/core.h"

struct vramstow_table;

namespace vramstow {

// All that the functions of the table reach of the core: an adapter hands them nothing. Defined in
// wiring.cc.
struct FrameworkContext {
  Process& process;
  Trace& trace;
  FreeBytes& free_bytes;
  Pools& pools;
  PoolTrace& pool_trace;
  void (*start_service)();  // from now on vramstow ctl may ask
  Driver& driver;
  ObservedMemory& observed;
  void (*end_service)();  // its thread is gone when this returns
};
extern const FrameworkContext framework_context;

// Null: not this version.
const vramstow_table* TableOf(uint32_t kind, uint32_t version);

// Whether a framework's adapter serves from the pools.
bool HasFramework();

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_FRAMEWORK_H_
