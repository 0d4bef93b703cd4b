// Does what every runtime function needs before and after its driver call.
//
// Idea: the first call that needs the driver loads and initialises it; the first call of a thread
// that needs a context retains a device's primary context and makes it current. A context that the
// application has made current itself is used as it is. A result that is not a success is also
// stored as the thread's last error.
//
// Ownership: nothing is ever destroyed; only cudaDeviceReset releases a primary context. Threads:
// all state is per thread or guarded by one lock (for retaining contexts). Errors: as the runtime
// documents them; FromDriver converts the driver's results.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_CUDART_RUNTIME_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_CUDART_RUNTIME_H_

#include <bit>
#include <type_traits>

#include "simulator/runtime/cudart/api.h"
#include "simulator/runtime/cudart/driver_table.h"
#include "simulator/runtime/profiler_place.h"

namespace vramstow::simulator::cudart {

// Converts a driver's result to the runtime's error; the numbers agree except for a few.
cudaError_t FromDriver(CUresult result);

// Loads and initialises the driver.
cudaError_t EnterDriver();
// Loads and initialises the driver, and makes a context current on this thread.
cudaError_t EnterContext();
// Stores `error` as the thread's last error unless it is a success, and returns it.
cudaError_t Leave(cudaError_t error);

// Return the thread's last error; PopLastError also resets it.
cudaError_t LastError();
cudaError_t PopLastError();

// Return the thread's current device, and the driver's handle and the primary context of a device.
cudaError_t CurrentDevice(int* device);
cudaError_t FindDevice(int device, CUdevice* handle);
cudaError_t RetainPrimary(int device, CUcontext* context);
// Selects `device` for the thread and makes its primary context current.
cudaError_t SelectDevice(int device);
// Resets the device's primary context, which then no longer counts as retained.
cudaError_t ResetDevice(int device);
// Sets the list of devices that are tried, in this order, for a thread that has not selected a
// device.
cudaError_t SetValidDevices(const int* devices, int count);

inline cudaError_t ToError(CUresult result) { return FromDriver(result); }
inline cudaError_t ToError(cudaError_t error) { return error; }

// Returns the driver functions with the meaning of stream 0 that this file is compiled for (see
// api.h).
[[maybe_unused]] static const DriverTable& Driver() {
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
  return DriverTable::Get(DefaultStream::kPerThread);
#else
  return DriverTable::Get(DefaultStream::kLegacy);
#endif
}

// Returns the profiler that receives calls, or null.
const Profiler* CurrentProfiler();
// Runs `run(argument)` as the call `name`, and reports it to the profiler.
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
// the name of the API function that calls this helper.
template <typename Body>
cudaError_t Call(Body body, const char* name = __builtin_FUNCTION()) {
  return RunNamed(name, [&] {
    cudaError_t entered = EnterContext();
    return Leave(entered == cudaSuccess ? ToError(body(Driver())) : entered);
  });
}

// Runs `body(driver)` with a context current, for a query whether work has ended. The driver
// answers such a query even while it shuts down.
template <typename Body>
cudaError_t Ask(Body body, const char* name = __builtin_FUNCTION()) {
  return RunNamed(name, [&] {
    cudaError_t entered = EnterContext();
    if (entered == cudaErrorCudartUnloading) entered = cudaSuccess;
    return Leave(entered == cudaSuccess ? ToError(body(Driver())) : entered);
  });
}

// Runs `body(driver)` for functions that need the driver but no context.
template <typename Body>
cudaError_t CallWithoutContext(Body body, const char* name = __builtin_FUNCTION()) {
  return RunNamed(name, [&] {
    cudaError_t entered = EnterDriver();
    return Leave(entered == cudaSuccess ? ToError(body(Driver())) : entered);
  });
}

inline CUdeviceptr Address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// Converts between two structures of the same layout. The headers of the runtime and of the driver
// declare them under different names.
template <typename To, typename From>
To* SameLayout(From* from) {
  return reinterpret_cast<To*>(from);
}

// An argument for which the headers of the runtime and of the driver have different types of the
// same layout. It converts to the type that the driver's function has.
template <typename From>
class Same {
 public:
  explicit Same(From value) : value_(value) {}

  template <typename To>
  operator To() const {  // NOLINT(google-explicit-constructor): what it is for
    if constexpr (std::is_pointer_v<To> && std::is_pointer_v<From>) {
      if constexpr (requires { sizeof(*To()) + sizeof(*From()); }) {
        static_assert(sizeof(*To()) == sizeof(*From()));
      }
      return reinterpret_cast<To>(value_);
    } else if constexpr (std::is_pointer_v<To> || std::is_pointer_v<From>) {
      return reinterpret_cast<To>(value_);
    } else if constexpr (std::is_class_v<To>) {
      return std::bit_cast<To>(value_);
    } else {
      return static_cast<To>(value_);
    }
  }

 private:
  From value_;
};

}  // namespace vramstow::simulator::cudart

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_CUDART_RUNTIME_H_
