// Provides functions that all handlers use: they record the effect of a call, and ask the driver
// short questions.
//
// Idea: a handler knows what its call means for memory. It forwards the call and records one event
// or several. A free is recorded before the driver is called (base/event.h says why). Outputs are
// read only after success, and only if the caller's pointer is not null.
//
// Ownership: none. Threads: any. Errors: none; the driver's result is never changed. Units: bytes,
// device numbers. No function here invalidates or joins a stream capture.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_RECORD_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_RECORD_H_

#include "base/typed_event.h"
#include "interpose/core/handlers/hook_guard.h"
#include "interpose/core/pools/pool_service.h"
#include "interpose/core/record/free_bytes.h"
#include "interpose/core/record/trace.h"
#include "interpose/core/runtime/cuda_abi.h"

namespace vramstow::handlers {

// Records the event with the call's function and caller. Returns its sequence number, or 0.
template <typename Call>
uint64_t Record(const Call& call, const Event& event) {
  return call.context().trace.RecordCall(call.site(), event);
}

// Records a free, calls the driver, and records a refusal if the driver returns an error. A driver
// that is shutting down has freed all memory already, so its error is not recorded as a refusal.
template <typename Call, typename... Arguments>
CUresult RecordThenForward(const Call& call, const Event& event, Arguments... arguments) {
  const uint64_t sequence = Record(call, event);
  const CUresult result = call.Forward(arguments...);
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_DEINITIALIZED && sequence != 0) {
    Record(call, RefusalOf(event, sequence, result));
  }
  return result;
}

// Calls the driver by `forward` for memory that no pool serves. If the driver lacks memory, pools
// release the memory that they cache on the device, first without waiting for work, and the driver
// tries again: the program has freed that memory, so it expects the driver to have it. kNoDevice
// stands for the device of the current context, and kEveryDevice for all devices.
template <typename Call, typename Forward>
CUresult ForwardWithRoom(const Call& call, int16_t device, Forward forward) {
  constexpr uint64_t kWaitNs = 1'000'000'000;
  CUresult result = forward();
  for (const uint64_t wait_ns : {uint64_t{0}, kWaitNs}) {
    if (result != CUDA_ERROR_OUT_OF_MEMORY) [[likely]]
      break;
    if (call.pools().ReleaseCached(device, wait_ns)) result = forward();
  }
  return result;
}

// Handles functions for which the driver may need memory of its own, as for the memory nodes of
// graphs, for code and for the variables of modules. The memory may be of any device.
template <typename Call, typename... Arguments>
CUresult MakeRoom(const Call& call, Arguments... arguments) {
  return ForwardWithRoom(call, kEveryDevice, [&] { return call.Forward(arguments...); });
}

// Returns the device of this thread's current context, or kNoDevice.
template <typename Call>
int16_t CurrentDevice(const Call& call) {
  return call.context().driver.CurrentDevice();
}

// Returns the device of this thread's current context, or kNoDevice. Called before an allocation.
// Records the free memory of the device when the device is used for the first time, and then from
// time to time.
template <typename Call>
int16_t DeviceBeforeAllocation(const Call& call) {
  const int16_t device = CurrentDevice(call);
  call.context().free_bytes.Describe(device);
  call.context().free_bytes.Sample(device);
  return device;
}

// Returns the device of a location, or kNoDevice.
int16_t DeviceOf(const CUmemLocation& location);

// Returns a stream's number in events. In the per-thread variant of a function, a null stream means
// the thread's own default stream.
uint64_t StreamOf(const CallSite& site, CUstream stream);

// True if work that is submitted to the stream now becomes part of a graph.
bool IsCapturing(const Driver& driver, const CallSite& site, CUstream stream);
template <typename Call>
bool IsCapturing(const Call& call, CUstream stream) {
  return IsCapturing(call.context().driver, call.site(), stream);
}

template <typename T>
uint64_t ToNumber(T* handle) {
  return reinterpret_cast<uint64_t>(handle);
}
constexpr uint64_t ToNumber(unsigned long long handle) { return handle; }
constexpr uint64_t ToNumber(unsigned int handle) { return handle; }

// Returns the value of an output argument, or 0 if it cannot be read.
template <typename T>
uint64_t Output(CUresult result, const T* place) {
  return result == CUDA_SUCCESS && place != nullptr ? ToNumber(*place) : 0;
}
inline uint64_t Output(CUresult result, const unsigned long* place) {
  return result == CUDA_SUCCESS && place != nullptr ? *place : 0;
}

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_RECORD_H_
