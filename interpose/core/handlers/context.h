// HandlerContext refers to all parts of the core that the handlers use.
//
// Idea: the wrappers have the signatures of the driver's functions, so they get no other arguments.
// They use this one object, which wiring.cc defines.
//
// Ownership: references to parts in static storage. Threads: constant. Errors, units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_CONTEXT_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_CONTEXT_H_

#include "interpose/core/runtime/core.h"

namespace vramstow {

struct HandlerContext {
  Process& process;
  Driver& driver;
  Contexts& contexts;
  UnseenContexts& unseen_contexts;
  HandleKinds& handle_kinds;
  const Routing& routing;
  Trace& trace;
  FreeBytes& free_bytes;
  Launches& launches;
  Activity& activity;
  InterceptionReport& report;
  const PoolService& pools;
  Registrations& registrations;
  OpenCollectives& open_collectives;
  void (*on_cuda_initialised)();  // called after each successful cuInit
  // Called after the driver lacked memory for a context. Waits for room, and calls `create` until
  // it returns true: until the driver does not lack memory. Returns false if no room can be made.
  bool (*serve_context)(int device, bool (*create)(void* object), void* object);
};

extern const HandlerContext handler_context;

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_CONTEXT_H_
