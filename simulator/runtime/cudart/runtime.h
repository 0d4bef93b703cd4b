// What every runtime function does before and after its driver call.
//
// Idea: the driver is loaded and initialised by the first call that needs it; a device's primary
// context is retained, and made current, by the first call of a thread that needs a context. A
// context that the application has made current itself is used as it is. What a call returns, if it
// is no success, is also kept as the thread's last error.
//
// Ownership: nothing is ever destroyed; only cudaDeviceReset gives a primary context back.
// Threads: all state is per thread or guarded by one lock (for retaining contexts).
// Errors: as the runtime documents them; the driver's results are translated by FromDriver.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_CUDART_RUNTIME_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_CUDART_RUNTIME_H_

#include "simulator/runtime/cudart/api.h"
#include "simulator/runtime/cudart/driver_table.h"
#include "simulator/runtime/profiler_place.h"

namespace vramstow::simulator::cudart {

// The runtime's name for a driver's result; the numbers agree except for a few.
cudaError_t FromDriver(CUresult result);

// Loads and initialises the driver.
cudaError_t EnterDriver();
// The same, and makes a context current on this thread.
cudaError_t EnterContext();
// Keeps `error` as the thread's last error if it is one, and returns it.
cudaError_t Leave(cudaError_t error);

// The thread's last error; TakeLastError also forgets it.
cudaError_t LastError();
cudaError_t TakeLastError();

// The thread's device, and the driver's handle and the primary context of a device.
cudaError_t CurrentDevice(int* device);
cudaError_t FindDevice(int device, CUdevice* handle);
cudaError_t RetainPrimary(int device, CUcontext* context);
// Makes `device` the thread's and its primary context current.
cudaError_t SelectDevice(int device);
// Forgets that the device's primary context is retained, after resetting it.
cudaError_t ResetDevice(int device);
// The devices, in order, on which contexts are tried when a thread has chosen none.
cudaError_t SetValidDevices(const int* devices, int count);

inline cudaError_t ToError(CUresult result) { return FromDriver(result); }
inline cudaError_t ToError(cudaError_t error) { return error; }

// The driver functions with the meaning of stream 0 that this file is compiled for (see api.h).
[[maybe_unused]] static const DriverTable& Driver() {
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
  return DriverTable::Get(DefaultStream::kPerThread);
#else
  return DriverTable::Get(DefaultStream::kLegacy);
#endif
}

// Who wants to be told of calls, or null.
const Profiler* CurrentProfiler();
// Runs `run(argument)` as the call `name`, and tells of it.
cudaError_t RunProfiled(const Profiler& profiler, const char* name, cudaError_t (*run)(void*),
                        void* argument);

template <typename Run>
cudaError_t RunNamed(const char* name, Run run) {
  const Profiler* profiler = CurrentProfiler();
  if (profiler == nullptr) [[likely]] {
    return run();
  }
  const auto call = [](void* argument) { return (*static_cast<Run*>(argument))(); };
  return RunProfiled(*profiler, name, call, &run);
}

// Runs `body(driver)`, which returns a CUresult or a cudaError_t, with a context current. `name` is
// that of the function that this is called in.
template <typename Body>
cudaError_t Call(Body body, const char* name = __builtin_FUNCTION()) {
  return RunNamed(name, [&] {
    cudaError_t entered = EnterContext();
    return Leave(entered == cudaSuccess ? ToError(body(Driver())) : entered);
  });
}

// The same for a question whether work has ended, which the driver also answers while it shuts
// down.
template <typename Body>
cudaError_t Ask(Body body, const char* name = __builtin_FUNCTION()) {
  return RunNamed(name, [&] {
    cudaError_t entered = EnterContext();
    if (entered == cudaErrorCudartUnloading) entered = cudaSuccess;
    return Leave(entered == cudaSuccess ? ToError(body(Driver())) : entered);
  });
}

// The same for what needs the driver but no context.
template <typename Body>
cudaError_t CallWithoutContext(Body body, const char* name = __builtin_FUNCTION()) {
  return RunNamed(name, [&] {
    cudaError_t entered = EnterDriver();
    return Leave(entered == cudaSuccess ? ToError(body(Driver())) : entered);
  });
}

inline CUdeviceptr Address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// For structures that the two headers declare under two names with one layout.
template <typename To, typename From>
To* SameLayout(From* from) {
  return reinterpret_cast<To*>(from);
}

}  // namespace vramstow::simulator::cudart

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_CUDART_RUNTIME_H_
