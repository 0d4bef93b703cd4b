// The wrappers: one for each row of the table. Each one checks the guard, calls the handler and
// returns.
#include "interpose/core/handlers/arrays.h"
#include "interpose/core/handlers/copies.h"
#include "interpose/core/handlers/device_memory.h"
#include "interpose/core/handlers/graph_memory.h"
#include "interpose/core/handlers/hook_guard.h"
#include "interpose/core/handlers/host_memory.h"
#include "interpose/core/handlers/lifetime.h"
#include "interpose/core/handlers/queries.h"
#include "interpose/core/handlers/shaped_copies.h"
#include "interpose/core/handlers/sharing.h"
#include "interpose/core/handlers/start.h"
#include "interpose/core/handlers/stream_ordered.h"
#include "interpose/core/handlers/streams.h"
#include "interpose/core/handlers/submissions.h"
#include "interpose/core/handlers/virtual_memory.h"

namespace vramstow {
namespace {

#define VRAMSTOW_WITHOUT_BRACKETS(...) __VA_ARGS__
#define VRAMSTOW_HOOK(symbol, name, version, stream, group, function, parameters, arguments, what) \
  CUresult CUDAAPI Enter_##symbol parameters {                                                     \
    using Real = CUresult(CUDAAPI*) parameters;                                                    \
    static_assert(std::is_same_v<Real, decltype(&::symbol)>,                                       \
                  "the table must say what cuda.h says");                                          \
    const HookGuard guard(handler_context, Hook::k##symbol, __builtin_return_address(0));          \
    const Call<Real> call(guard);                                                                  \
    if (!guard.active()) return call.Forward arguments;                                            \
    return handlers::function(call, VRAMSTOW_WITHOUT_BRACKETS arguments);                          \
  }
#include "interpose/shim/hooks.def"

void* const kWrappers[] = {
#define VRAMSTOW_HOOK(symbol, name, version, stream, group, function, parameters, arguments, what) \
  reinterpret_cast<void*>(Enter_##symbol),
#include "interpose/shim/hooks.def"
};

}  // namespace

void* WrapperOf(Hook hook) { return kWrappers[static_cast<size_t>(hook)]; }

}  // namespace vramstow
