// Declares the classes of the core's parts, so that a header of one room (folder) can refer to a
// part without including it. Each part is described in its own header; only wiring.cc connects
// them.
//
// Ownership, threads, errors, units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_CORE_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_CORE_H_

namespace vramstow {

class CallerTable;  // tracer/capture

// runtime
class Contexts;
class Driver;
class HandleKinds;
class KernelArguments;
class Process;
class Routing;
class UnseenContexts;
struct CallSite;

// record
class Activity;
class Annotations;
class FreeBytes;
class InterceptionReport;
class Launches;
class ModelClock;
class NvtxMemory;
class ObservedMemory;
class Trace;
class UncomputedReads;

// pools
class Application;
class ApplicationHooks;
class Exports;
class Imports;
class Offloaders;
class Offloading;
class OpenCollectives;
class PoolService;
class PoolTrace;
class Pools;
class Regions;
class RegistrationTable;
class Registrations;
class Residency;
class RoomRequest;
class RoomRequests;
class TurnGate;

// share
class Sharer;

// service
class ControlSocket;
class ControlVerbs;
class MetricsServer;
class MetricsText;
class Service;

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_CORE_H_
