// Defines the parts of the core and connects them; this is the only file that includes all of them.
// It also contains the entry points for the shim, for NVTX and for the end of the process. See
// interpose/shim/seam.h.
//
// Idea: every part lies in static storage, has a constexpr constructor that takes references to the
// parts it needs, and no destructor. So all of them are ready before any constructor of the process
// has run, and still exist after the last destructor. A part notifies a part above it through a
// function that is defined here.
//
// Ownership: static. Threads: each part documents its own. Errors, units: none.
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "interpose/core/framework/adapter.h"
#include "interpose/core/framework/census.h"
#include "interpose/core/framework/collection.h"
#include "interpose/core/framework/framework.h"
#include "interpose/core/handlers/context.h"
#include "interpose/core/handlers/hook_guard.h"
#include "interpose/core/handlers/library_call.h"
#include "interpose/core/pools/application.h"
#include "interpose/core/pools/exports.h"
#include "interpose/core/pools/imports.h"
#include "interpose/core/pools/live_streams.h"
#include "interpose/core/pools/offloaders.h"
#include "interpose/core/pools/offloading.h"
#include "interpose/core/pools/open_collectives.h"
#include "interpose/core/pools/pool_service.h"
#include "interpose/core/pools/pool_trace.h"
#include "interpose/core/pools/pools.h"
#include "interpose/core/pools/regions.h"
#include "interpose/core/pools/registrations.h"
#include "interpose/core/pools/residency.h"
#include "interpose/core/pools/room_request.h"
#include "interpose/core/pools/turn_gate.h"
#include "interpose/core/record/activity.h"
#include "interpose/core/record/annotations.h"
#include "interpose/core/record/facts.h"
#include "interpose/core/record/free_bytes.h"
#include "interpose/core/record/interception_report.h"
#include "interpose/core/record/launches.h"
#include "interpose/core/record/nvtx.h"
#include "interpose/core/record/nvtx_memory.h"
#include "interpose/core/record/observed_memory.h"
#include "interpose/core/record/trace.h"
#include "interpose/core/record/uncomputed_reads.h"
#include "interpose/core/record/unwinder.h"
#include "interpose/core/runtime/contexts.h"
#include "interpose/core/runtime/core.h"
#include "interpose/core/runtime/driver.h"
#include "interpose/core/runtime/handle_kinds.h"
#include "interpose/core/runtime/kernel_arguments.h"
#include "interpose/core/runtime/log.h"
#include "interpose/core/runtime/process.h"
#include "interpose/core/runtime/routing.h"
#include "interpose/core/runtime/settings.h"
#include "interpose/core/runtime/this_thread.h"
#include "interpose/core/runtime/unseen_contexts.h"
#include "interpose/core/service/control_socket.h"
#include "interpose/core/service/control_verbs.h"
#include "interpose/core/service/metrics_server.h"
#include "interpose/core/service/metrics_text.h"
#include "interpose/core/service/service.h"
#include "interpose/core/share/sharer.h"
#include "interpose/shim/fingerprint.h"
#include "interpose/shim/seam.h"
#include "tracer/capture/caller.h"

namespace vramstow {
namespace {

// Functions through which a part notifies the parts above it. They are defined below, after all
// parts.
void AbandonAfterFork();
void RecordLaunches();
void StartService();
void NoteFrameworkRefused(int device);
void OnPoolOpened();
void ForgetFunctions();
void OnCudaInitialised();
void OnNoMemory(int device, bool is_framework);

// All parts. A member takes only members above it.
struct Parts {
  // --- runtime
  Process process{AbandonAfterFork};
  Driver driver;
  Contexts contexts;
  UnseenContexts unseen_contexts{driver, contexts};
  HandleKinds handle_kinds;
  KernelArguments kernel_arguments{driver, handle_kinds};
  Routing routing{process, driver, WrapperOf};

  // --- record
  CallerTable callers;
  InterceptionReport::Counters interception_counters;
  InterceptionReport interception_report{process, driver, callers, interception_counters};
  Trace trace{
      process, driver, callers, {RecordLaunches, StartService, OnNoMemory, NoteFrameworkRefused}};
  FreeBytes free_bytes{driver, trace};
  Launches launches{process, driver, handle_kinds, trace};
  Activity activity{process, trace};
  Annotations annotations{trace};
  NvtxMemory nvtx_memory;
  ObservedMemory observed_memory;
  UncomputedReads uncomputed_reads{process, driver, trace};

  // --- pools
  Regions regions;
  LiveStreams live_streams;
  ApplicationHooks hooks{process};
  PoolTrace pool_trace{trace, nvtx_memory};
  TurnGate turn_gate;
  RoomRequests room_requests;
  Offloaders offloaders{process, driver, turn_gate};
  Pools pools{{process,
               driver,
               contexts,
               unseen_contexts,
               live_streams,
               trace,
               pool_trace,
               offloaders,
               room_requests,
               hooks,
               OnPoolOpened,
               ForgetFunctions,
               {CanCollect, CollectGarbage, nullptr}}};
  Offloading offloading{driver, pools, offloaders, kernel_arguments};
  Application application{process, trace, pools, observed_memory};
  OpenCollectives open_collectives;
  Residency residency{process, pools, offloaders, regions, open_collectives};
  Exports exports{driver, pools};
  Imports imports{process, driver, pool_trace};
  PoolService pool_service{{process, driver, callers, trace, free_bytes, pools, offloaders,
                            offloading, kernel_arguments, handle_kinds, launches, exports,
                            imports}};

  RegistrationTable registration_table;
  Registrations registrations{pools, registration_table};

  // --- share
  Sharer sharer{{process, driver, trace, pools, turn_gate, room_requests}};

  // --- service
  ControlVerbs control_verbs{{application, residency, trace, exports, sharer, RunCensusFor}};
  ControlSocket control_socket;
  MetricsText metrics_text{application, sharer};
  MetricsServer metrics_server{metrics_text};
  Service service{{process, driver, trace, pools, offloading, exports, control_socket,
                   control_verbs, metrics_server}};
};

// A part that is missing here does not compile: the names must be as many as the members.
#define VRAMSTOW_PARTS                                                                           \
  process, driver, contexts, unseen_contexts, handle_kinds, kernel_arguments, routing, callers,  \
      interception_counters, interception_report, trace, free_bytes, launches, activity,         \
      annotations, nvtx_memory, observed_memory, uncomputed_reads, regions, live_streams, hooks, \
      pool_trace, turn_gate, room_requests, offloaders, pools, offloading, application,          \
      open_collectives, residency, exports, imports, pool_service, registration_table,           \
      registrations, sharer, control_verbs, control_socket, metrics_text, metrics_server, service

constinit Parts parts;
auto& [VRAMSTOW_PARTS] = parts;

void RecordLaunches() { launches.Emit(); }

void StartService() { service.Start(); }

void NoteFrameworkRefused(int device) { observed_memory.NoteDriverRefusal(device); }

// The driver shuts down in an exit handler that it registered before any pool existed. Exit
// handlers run in the opposite order of their registration. So this handler stops the service's
// thread before the driver shuts down.
void OnPoolOpened() {
  static constinit std::atomic<bool> registered{false};
  if (!registered.exchange(true)) {
    std::atexit([] {
      sharer.Stop();
      service.Stop();
    });
  }
  service.Start();
  sharer.Start();
}

bool ServeContext(int device, bool (*create)(void*), void* object) {
  return sharer.ServeContext(device, {create, object});
}

// Called when a context has ended, and its modules with it.
void ForgetFunctions() {
  kernel_arguments.Forget();
  launches.ForgetFunctions();
  handle_kinds.ForgetFunctions();
}

// Without the pool the service starts here, so that metrics can be read before there are figures.
void StartMetrics() {
  const Options& options = process.options();
  if (WantsMetrics(options) && !WantsPool(options)) service.Start();
}

void ComplainOfMetrics() {
  const Options& options = process.options();
  if (!metrics_server.is_open() || WantsPool(options) || observed_memory.is_followed()) return;
  Log("there were no metrics, because no PyTorch was observed: with --pool=on there are the "
      "numbers of the pool.");
}

// PyTorch releases its free cache and retries. Garbage that is collected now helps that retry.
// Another library does not retry, so a census records which objects held the memory.
void OnNoMemory(int device, bool is_framework) {
  if (is_framework) {
    if (CanCollect(nullptr)) CollectGarbage(nullptr, device, true);
  } else {
    RunCensusAfterFailure(device);
  }
}

constexpr int kNotKnown = -1;
constinit std::atomic<int> exit_status{kNotKnown};

// Registers a function that exit() calls before libraries are unloaded. It must be registered after
// main() has begun.
void FollowExit() {
  static constinit std::atomic<bool> is_followed{false};
  if (is_followed.exchange(true, std::memory_order_relaxed)) return;
  constexpr int kMask = 0xff;  // the bits that the parent process sees
  on_exit([](int status, void*) { exit_status.store(status & kMask, std::memory_order_relaxed); },
          nullptr);
}

void DescribeExit() {
  const int status = exit_status.load(std::memory_order_relaxed);
  if (status == kNotKnown) return;
  char text[8];
  std::snprintf(text, sizeof text, "%d", status);
  trace.Describe("process.exit_status", text);
}

void OnCudaInitialised() {
  process.Wake();
  FollowExit();
  trace.Open();
  StartMetrics();
  activity.Start();
  uncomputed_reads.Watch();
  offloading.WatchUses();
  nvtx_memory.Open(process.options());
  LoadAdapter(process.options());
  LoadValues(process.options());
}

template <typename Part>
void Abandon(Part* part) {
  if constexpr (requires { part->AbandonAfterFork(); }) part->AbandonAfterFork();
}

template <typename... All>
void AbandonEach(All&... all) {
  (Abandon(&all), ...);
}

// Called in a forked child, async-signal-safe: forgets what belongs to the parent.
void AbandonAfterFork() {
  if (ShimOrNull() != nullptr) {
    VramstowThread* const thread = ThisThread();
    thread->recorder = nullptr;
    thread->pool_call = nullptr;
    thread->lane = 0;
    thread->collectives = 0;
    thread->launches = 0;
  }
  AbandonEach(VRAMSTOW_PARTS);
  AbandonCensusAfterFork();
  AbandonCollectionAfterFork();
}

// --- The functions for the shim -----------------------------------------------------------------

void* Replace(unsigned hook, void* real, void* library, VramstowWay way, const void* caller) {
  const Routed routed = routing.Replace(hook, real, library);
  interception_report.NoteLookUp(routed.outcome, way, caller);
  return routed.address;
}

// Ends vramstow's work at exit. Other threads may still be inside the driver, which may be shutting
// down, too. So nothing here calls the driver.
void Finish() {
  const bool is_forked_child = process.is_forked_child();
  if (!process.Finish() || is_forked_child) return;
  ComplainOfMetrics();
  sharer.Stop();
  service.Stop();
  activity.Finish();
  uncomputed_reads.Finish();
  const char* why = WantsPool(process.options()) ? pools.WhyNothingWasServed() : nullptr;
  if (why != nullptr) trace.Describe("pool.nothing_served", why);
  why = WhyHookIsMissing(process.options());
  if (why != nullptr) trace.Describe("python.no_hook", why);
  DescribeExit();
  trace.Close();
  if (process.options().coverage) interception_report.Report();
}

void NoteExit(int status) {
  if (process.IsSameProcessId()) trace.NoteExit(status);
}

constexpr VramstowApi kApi = {
#define VRAMSTOW_API(version, name, function, core, parameters, arguments) \
  .name = [] parameters { return function arguments; },
#include "interpose/shim/api.def"
};
constexpr VramstowCore kCore = {Replace, ReplaceInLibrary, Finish, NoteExit, &kApi, TableOf};

}  // namespace

// --- Objects for functions that get no context argument -----------------------------------------

constinit const HandlerContext handler_context = {process,
                                                  driver,
                                                  contexts,
                                                  unseen_contexts,
                                                  handle_kinds,
                                                  routing,
                                                  trace,
                                                  free_bytes,
                                                  launches,
                                                  activity,
                                                  interception_report,
                                                  pool_service,
                                                  registrations,
                                                  open_collectives,
                                                  OnCudaInitialised,
                                                  ServeContext};

constinit const FrameworkContext framework_context = {
    process, trace,           free_bytes,           pools, pool_trace, StartService,
    driver,  observed_memory, [] { service.End(); }};

}  // namespace vramstow

extern "C" __attribute__((visibility("default"))) const VramstowCore* vramstow_core_attach(
    const VramstowShim* shim) {
  if (shim->hooks_fingerprint != vramstow::HooksFingerprint()) return nullptr;
  vramstow::SetShim(shim);
  vramstow::FindUtcOffset();
  // The process is started even if no look-up follows, because the report at exit needs the
  // settings.
  vramstow::process.Start();
  const vramstow::Options& options = vramstow::process.options();
  if (vramstow::WantsStacks(options)) vramstow::OpenUnwinder(*shim);
  return &vramstow::kCore;
}

// Called once by each library into which NVTX is compiled. Returns 0 if there is no tool here.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    vramstow::nvtx::ExportTable export_table) {
  return vramstow::InstallNvtxTool(export_table, &vramstow::trace) ? 1 : 0;
}
