// What the handlers share: recording what a call did, and small questions to the driver.
//
// Idea: a handler knows what its call means for memory. It forwards the call and records one event
// (or several); memory that is given back is recorded before the driver is asked, see base/event.h.
// Outputs are read only after success, and only where the caller gave a place for them.
//
// Ownership: none. Threads: any. Errors: none; the driver's result is never changed. Units: bytes,
// device numbers. Nothing here breaks or joins a stream capture.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_RECORD_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_RECORD_H_

#include "base/typed_event.h"
#include "interpose/core/handlers/entry.h"
#include "interpose/core/pools/pool_service.h"
#include "interpose/core/record/free_bytes.h"
#include "interpose/core/record/trace.h"
#include "interpose/core/runtime/cuda_abi.h"

namespace vramstow::handlers {

// Stores the event under the call's function and caller. Gives its sequence number or 0.
template <typename Call>
uint64_t Record(const Call& call, const Event& event) {
  return call.context().trace.RecordCall(call.site(), event);
}

// Records what gives memory away, asks the driver, and records its refusal. A driver that is
// shutting down has freed everything already: that is no refusal.
template <typename Call, typename... Arguments>
CUresult RecordThenForward(const Call& call, const Event& event, Arguments... arguments) {
  const uint64_t sequence = Record(call, event);
  const CUresult result = call.Forward(arguments...);
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_DEINITIALIZED && sequence != 0) {
    Record(call, RefusalOf(event, sequence, result));
  }
  return result;
}

// The device of this thread's current context, or kNoDevice.
template <typename Call>
int16_t CurrentDevice(const Call& call) {
  return call.context().driver.CurrentDevice();
}

// As CurrentDevice, before an allocation: the first time that a device is used, its free memory is
// written down.
template <typename Call>
int16_t DeviceBeforeAllocation(const Call& call) {
  const int16_t device = CurrentDevice(call);
  call.context().free_bytes.Describe(device);
  call.context().free_bytes.Sample(device);
  return device;
}

// The device of a location, or kNoDevice.
int16_t DeviceOf(const CUmemLocation& location);

// A stream as events name it: a null stream of a per-thread variant is the thread's own.
uint64_t StreamOf(const CallSite& site, CUstream stream);

// Whether work given to the stream now goes into a graph.
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

// What an output argument holds, or 0 if it cannot be read.
template <typename T>
uint64_t Output(CUresult result, const T* place) {
  return result == CUDA_SUCCESS && place != nullptr ? ToNumber(*place) : 0;
}
inline uint64_t Output(CUresult result, const unsigned long* place) {
  return result == CUDA_SUCCESS && place != nullptr ? *place : 0;
}

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_RECORD_H_
