// Handlers for functions that register memory with a network adapter without a call of the driver:
// verbs (libibverbs) and NCCL.
//
// A call is passed on with unchanged arguments, and its result is the library's. The library is not
// called if memory of a pool cannot be restored to the device. A LibraryCall (library_call.h)
// provides what these functions need.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_REGISTRATIONS_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_REGISTRATIONS_H_

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "interpose/core/handlers/nccl_results.h"
#include "interpose/core/pools/registrations.h"

namespace vramstow::handlers {

// --- Verbs. A region is an address, or null after a failure; other functions return an errno
// value.

template <typename Call, typename... Arguments>
void* RegisterRegion(const Call& call, void* address, size_t size, Arguments... arguments) {
  Registrations& registrations = call.registrations();
  HeldRange held;
  if (!registrations.Hold(address, size, &held)) {
    errno = ENOMEM;
    return nullptr;
  }
  void* const region = call.Forward(arguments...);
  if (region == nullptr) {
    registrations.Release(held);
  } else {
    registrations.Keep(region, held);
  }
  return region;
}

template <typename Call>
void* RegMr(const Call& call, void* domain, void* address, size_t size, int access) {
  return RegisterRegion(call, address, size, domain, address, size, access);
}

// Registers memory; `iova` is the address by which other machines name it.
template <typename Call, typename Access>
void* RegMrIova(const Call& call, void* domain, void* address, size_t size, uint64_t iova,
                Access access) {
  return RegisterRegion(call, address, size, domain, address, size, iova, access);
}

// Removes the handle before the library is called, because another thread may get the same handle
// as soon as the region has ended.
template <typename Call>
int DeregMr(const Call& call, void* region) {
  Registrations& registrations = call.registrations();
  const HeldRange held = registrations.Take(region);
  const int result = call.Forward(region);
  if (result == 0) {
    registrations.Release(held);
  } else {
    registrations.Keep(region, held);
  }
  return result;
}

// --- NCCL

// A library that does not support registration returns success and no handle.
template <typename Call>
int CommRegister(const Call& call, const void* communicator, void* address, size_t size,
                 void** handle) {
  Registrations& registrations = call.registrations();
  HeldRange held;
  if (!registrations.Hold(address, size, &held)) return kNcclSystemError;
  const int result = call.Forward(communicator, address, size, handle);
  if (!IsNcclSuccess(result) || handle == nullptr || *handle == nullptr) {
    registrations.Release(held);
  } else {
    registrations.Keep(*handle, held);
  }
  return result;
}

// Inside a group NCCL returns the window only when the group ends. A range whose window is not
// known after the call is pinned for good.
template <typename Call>
int CommWindowRegister(const Call& call, void* communicator, void* address, size_t size,
                       void** window, int flags) {
  Registrations& registrations = call.registrations();
  HeldRange held;
  if (!registrations.Hold(address, size, &held)) return kNcclSystemError;
  const int result = call.Forward(communicator, address, size, window, flags);
  if (!IsNcclSuccess(result)) {
    registrations.Release(held);
  } else if (window != nullptr) {
    registrations.Keep(*window, held);
  }
  return result;
}

template <typename Call>
int CommDeregister(const Call& call, const void* communicator, void* handle) {
  Registrations& registrations = call.registrations();
  const HeldRange held = registrations.Take(handle);
  const int result = call.Forward(communicator, handle);
  if (IsNcclSuccess(result)) {
    registrations.Release(held);
  } else {
    registrations.Keep(handle, held);
  }
  return result;
}

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_REGISTRATIONS_H_
