// All that the core holds, in one place.
//
// Idea: one object in static storage whose parts have constexpr constructors and no destructors, so
// that it is ready before any constructor of the process has run and still there after the last
// destructor.
//
// Ownership: static. Threads: each part says for itself. Errors: none. Units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_CORE_H_
#define VRAMSTOW_INTERPOSE_CORE_CORE_H_

#include "interpose/core/pools/application.h"
#include "interpose/core/pools/ipc.h"
#include "interpose/core/pools/offloading.h"
#include "interpose/core/pools/pools.h"
#include "interpose/core/pools/regions.h"
#include "interpose/core/record/activity.h"
#include "interpose/core/record/interception_report.h"
#include "interpose/core/record/launches.h"
#include "interpose/core/record/nvtx_memory.h"
#include "interpose/core/record/trace.h"
#include "interpose/core/runtime/contexts.h"
#include "interpose/core/runtime/driver.h"
#include "interpose/core/runtime/process.h"
#include "interpose/core/service/service.h"
#include "interpose/shim/seam.h"
#include "tracer/capture/caller.h"

namespace vramstow {

struct Core {
  const VramstowShim* shim = nullptr;  // set at attach, always to the same value
  Process process;
  Driver driver;
  Contexts contexts;
  CallerTable callers;
  Coverage coverage;
  Trace trace;
  Activity activity;
  Launches launches;
  Pools pools;
  NvtxMemory nvtx_memory;
  Offloading offloading;
  Regions regions;
  ApplicationHooks hooks;
  Service service;
  Imports imports;

  // In a forked child, async-signal-safe: forgets what belongs to the parent.
  void AbandonAfterFork() {
    if (shim != nullptr) {
      shim->thread()->recorder = nullptr;
      shim->thread()->pool_call = nullptr;
      shim->thread()->lane = 0;
      shim->thread()->launches = 0;
    }
    activity.Abandon();
    launches.AbandonAfterFork();
    trace.AbandonAfterFork();
    contexts.Clear();
    pools.AbandonAfterFork();
    nvtx_memory.AbandonAfterFork();
    offloading.AbandonAfterFork();
    regions.AbandonAfterFork();
    hooks.AbandonAfterFork();
    service.Abandon();
    imports.AbandonAfterFork();
  }
};

extern Core the_core;  // NOLINT(bugprone-dynamic-static-initializers): it is constinit
inline Core& TheCore() { return the_core; }

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_CORE_H_
