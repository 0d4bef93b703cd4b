#include "simulator/runtime/cudart/runtime.h"

#include <algorithm>
#include <atomic>

#include "base/mutex.h"

namespace vramstow::simulator::cudart {

namespace {

constexpr int kMaxDevices = 256;
constexpr int kNoDevice = -1;

struct Device {
  CUcontext primary = nullptr;
  bool retained = false;
};

struct ThreadState {
  cudaError_t last_error = cudaSuccess;
  int device = kNoDevice;
  // The context that was current, and usable, at generation `generation`.
  CUcontext context = nullptr;
  unsigned generation = 0;
};

constinit thread_local ThreadState thread_state;

// Held while the tables below are filled, or a primary context is retained or reset.
constinit Mutex mutex;
// Written before `initialised` is set, and read without the lock after that.
constinit CUdevice handles[kMaxDevices] = {};
constinit Device devices[kMaxDevices] VRAMSTOW_GUARDED_BY(mutex);
constinit int valid_devices[kMaxDevices] VRAMSTOW_GUARDED_BY(mutex) = {};
constinit int valid_count VRAMSTOW_GUARDED_BY(mutex) = 0;
constinit std::atomic<int> device_count = 0;
constinit std::atomic<bool> initialised = false;
// Number of resets, plus 1. A thread's cached context is valid only for the same generation.
constinit std::atomic<unsigned> generation = 1;
// Set once, when the driver has been found.
constinit std::atomic<ProfilerPlace*> profiler_place = nullptr;

cudaError_t Initialise() {
  const DriverAccess& access = DriverAccess::Get();
  // A runtime refuses drivers that are older than its own major version.
  if (!access.present() || access.version() < 13000) {
    return cudaErrorInsufficientDriver;
  }
  const DriverTable& driver = DriverTable::Get(DefaultStream::kLegacy);
  if (CUresult result = driver.Init(0); result != CUDA_SUCCESS) {
    return FromDriver(result);
  }
  profiler_place.store(FindProfilerPlace(), std::memory_order_release);
  const MutexLock lock(&mutex);
  if (initialised.load(std::memory_order_relaxed)) {
    return cudaSuccess;
  }
  int count = 0;
  if (CUresult result = driver.DeviceGetCount(&count); result != CUDA_SUCCESS) {
    return FromDriver(result);
  }
  count = std::min(count, kMaxDevices);
  for (int i = 0; i < count; ++i) {
    if (CUresult result = driver.DeviceGet(&handles[i], i); result != CUDA_SUCCESS) {
      return FromDriver(result);
    }
  }
  device_count.store(count, std::memory_order_relaxed);
  initialised.store(true, std::memory_order_release);
  return count > 0 ? cudaSuccess : cudaErrorNoDevice;
}

// Returns the device of a thread that has not selected one.
int DefaultDevice() {
  const MutexLock lock(&mutex);
  return valid_count > 0 ? valid_devices[0] : 0;
}

// Returns true, and the device's number, if `context` is the primary context of a device.
bool IsPrimary(CUcontext context, int* device, bool* retained) {
  const MutexLock lock(&mutex);
  for (int i = 0; i < device_count.load(std::memory_order_relaxed); ++i) {
    if (devices[i].primary == context) {
      *device = i;
      *retained = devices[i].retained;
      return true;
    }
  }
  return false;
}

}  // namespace

cudaError_t EnterDriver() {
  if (initialised.load(std::memory_order_acquire)) [[likely]] {
    return device_count.load(std::memory_order_relaxed) > 0 ? cudaSuccess : cudaErrorNoDevice;
  }
  return Initialise();
}

cudaError_t EnterContext() {
  if (cudaError_t error = EnterDriver(); error != cudaSuccess) {
    return error;
  }
  const DriverTable& driver = DriverTable::Get(DefaultStream::kLegacy);
  ThreadState& state = thread_state;
  CUcontext current = nullptr;
  if (CUresult result = driver.CtxGetCurrent(&current); result != CUDA_SUCCESS) {
    return FromDriver(result);
  }
  unsigned now = generation.load(std::memory_order_acquire);
  if (current != nullptr && current == state.context && state.generation == now) [[likely]] {
    return cudaSuccess;
  }
  int device = state.device == kNoDevice ? DefaultDevice() : state.device;
  if (current != nullptr) {
    bool retained = false;
    // If the current context is not a primary context, it is used as it is. A primary context is
    // used only if this library still retains it, because another thread may have reset it.
    if (!IsPrimary(current, &device, &retained) || retained) {
      state.context = current;
      state.generation = now;
      return cudaSuccess;
    }
  }
  return SelectDevice(device);
}

const Profiler* CurrentProfiler() {
  const ProfilerPlace* place = profiler_place.load(std::memory_order_acquire);
  return place == nullptr ? nullptr : place->load(std::memory_order_acquire);
}

cudaError_t RunProfiled(const Profiler& profiler, const char* name, cudaError_t (*run)(void*),
                        void* argument) {
  ProfiledCall call = {};
  call.name = name;
  call.runtime = 1;
  profiler.enter(&call);
  const cudaError_t error = run(argument);
  call.result = static_cast<int>(error);
  profiler.leave(&call);
  return error;
}

cudaError_t Leave(cudaError_t error) {
  if (error != cudaSuccess) [[unlikely]] {
    thread_state.last_error = error;
  }
  return error;
}

cudaError_t LastError() { return thread_state.last_error; }

cudaError_t PopLastError() {
  cudaError_t error = thread_state.last_error;
  thread_state.last_error = cudaSuccess;
  return error;
}

cudaError_t FindDevice(int device, CUdevice* handle) {
  if (device < 0 || device >= device_count.load(std::memory_order_acquire)) {
    return cudaErrorInvalidDevice;
  }
  *handle = handles[device];
  return cudaSuccess;
}

cudaError_t CurrentDevice(int* device) {
  const DriverTable& driver = DriverTable::Get(DefaultStream::kLegacy);
  CUcontext current = nullptr;
  CUdevice handle = 0;
  if (CUresult result = driver.CtxGetCurrent(&current); result != CUDA_SUCCESS) {
    return FromDriver(result);
  }
  if (current == nullptr) {
    *device = thread_state.device == kNoDevice ? DefaultDevice() : thread_state.device;
    return cudaSuccess;
  }
  if (CUresult result = driver.CtxGetDevice(&handle); result != CUDA_SUCCESS) {
    return FromDriver(result);
  }
  for (int i = 0; i < device_count.load(std::memory_order_relaxed); ++i) {
    if (handles[i] == handle) {
      *device = i;
      return cudaSuccess;
    }
  }
  return cudaErrorInvalidDevice;
}

cudaError_t RetainPrimary(int device, CUcontext* context) {
  CUdevice handle = 0;
  if (cudaError_t error = FindDevice(device, &handle); error != cudaSuccess) {
    return error;
  }
  const MutexLock lock(&mutex);
  Device& entry = devices[device];
  if (!entry.retained) {
    const DriverTable& driver = DriverTable::Get(DefaultStream::kLegacy);
    CUresult result = driver.DevicePrimaryCtxRetain(&entry.primary, handle);
    if (result != CUDA_SUCCESS) {
      return FromDriver(result);
    }
    entry.retained = true;
  }
  *context = entry.primary;
  return cudaSuccess;
}

cudaError_t SelectDevice(int device) {
  CUcontext context = nullptr;
  if (cudaError_t error = RetainPrimary(device, &context); error != cudaSuccess) {
    return error;
  }
  unsigned now = generation.load(std::memory_order_acquire);
  CUresult result = DriverTable::Get(DefaultStream::kLegacy).CtxSetCurrent(context);
  if (result == CUDA_SUCCESS) {
    thread_state.device = device;
    thread_state.context = context;
    thread_state.generation = now;
  }
  return FromDriver(result);
}

cudaError_t ResetDevice(int device) {
  CUdevice handle = 0;
  if (cudaError_t error = FindDevice(device, &handle); error != cudaSuccess) {
    return error;
  }
  const DriverTable& driver = DriverTable::Get(DefaultStream::kLegacy);
  const MutexLock lock(&mutex);
  CUresult result = driver.DevicePrimaryCtxReset(handle);
  if (result != CUDA_SUCCESS) {
    return FromDriver(result);
  }
  if (devices[device].retained) {
    devices[device].retained = false;
    // The reset does not release the reference of this library, but may have destroyed the context.
    result = driver.DevicePrimaryCtxRelease(handle);
    result = result == CUDA_ERROR_INVALID_CONTEXT ? CUDA_SUCCESS : result;
  }
  generation.fetch_add(1, std::memory_order_release);
  CUresult unbound = driver.CtxSetCurrent(nullptr);
  thread_state.device = device;
  return FromDriver(result != CUDA_SUCCESS ? result : unbound);
}

cudaError_t SetValidDevices(const int* chosen, int count) {
  for (int i = 0; i < count; ++i) {
    CUdevice handle = 0;
    if (cudaError_t error = FindDevice(chosen[i], &handle); error != cudaSuccess) {
      return error;
    }
  }
  const MutexLock lock(&mutex);
  std::copy(chosen, chosen + count, valid_devices);
  valid_count = count;
  return cudaSuccess;
}

}  // namespace vramstow::simulator::cudart

// A process may have several copies of the runtime, all of the same name. An interposer recognizes
// this one by this exported function.
extern "C" __attribute__((visibility("default"))) int vramstowSimulatedRuntime() { return 1; }
