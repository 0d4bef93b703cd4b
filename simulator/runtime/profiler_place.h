// The place for a profiler in the simulated driver: the CUPTI stand-in puts its callbacks there,
// and the runtime calls them for its calls as the driver does for its own.
//
// Idea: simulator/simulator_api.h has the structures and explains them. Any other driver has no
// such place.
//
// Ownership: the driver's, for as long as the process lives. Threads: any. Errors: null. Units:
// bytes, virtual nanoseconds.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_PROFILER_PLACE_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_PROFILER_PLACE_H_

#include <atomic>

#include "simulator/simulator_api.h"

namespace vramstow::simulator {

using ProfiledCall = vramstowSimulatorCall;
using ProfiledWork = vramstowSimulatorWork;
using Profiler = vramstowSimulatorProfiler;

using ProfilerPlace = std::atomic<const Profiler*>;

// Looks the place up in libcuda.so.1. Null: the driver is not the simulated one.
ProfilerPlace* FindProfilerPlace();

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_PROFILER_PLACE_H_
