// Handlers for the creation and the end of contexts.
//
// record.h describes what all handlers have in common.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_LIFETIME_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_LIFETIME_H_

#include "base/keep_errno.h"
#include "interpose/core/handlers/record.h"
#include "interpose/core/runtime/contexts.h"
#include "interpose/core/runtime/unseen_contexts.h"

namespace vramstow::handlers {

template <typename Call>
CUresult RecordContext(const Call& call, EventKind kind, CUresult result, uint64_t context,
                       int16_t device) {
  Event event;
  event.kind = kind;
  event.result = result;
  event.object = context;
  event.device = device;
  Record(call, event);
  return result;
}

template <typename Call, typename Context>
CUresult RecordNewContext(const Call& call, CUresult result, const Context* context,
                          CUdevice device) {
  const uint64_t handle = Output(result, context);
  if (handle != 0) {
    constexpr bool kIsContext = std::is_same_v<Context, CUcontext>;
    call.context().contexts.Remember(reinterpret_cast<CUcontext>(handle), device, kIsContext);
    call.pools().DeviceUsed(device);
  }
  return RecordContext(call, EventKind::kContextCreate, result, handle,
                       static_cast<int16_t>(device));
}

// Creates a context by `create`, which calls the driver. If the driver lacks memory, the pools
// release what they cache. If other processes share the GPU, they make room, too. The driver then
// tries again.
template <typename Call, typename Create>
CUresult CreateInTurn(const Call& call, CUdevice device, Create create) {
  struct Attempt {
    Create& create;
    CUresult result;
  } attempt = {create, ForwardWithRoom(call, static_cast<int16_t>(device), create)};
  if (attempt.result != CUDA_ERROR_OUT_OF_MEMORY) return attempt.result;
  const auto try_again = [](void* object) {
    auto* const again = static_cast<Attempt*>(object);
    again->result = again->create();
    return again->result != CUDA_ERROR_OUT_OF_MEMORY;
  };
  call.context().serve_context(device, try_again, &attempt);
  return attempt.result;
}

template <typename Call>
CUresult CtxCreate(const Call& call, CUcontext* context, unsigned int flags, CUdevice device) {
  const CUresult result =
      CreateInTurn(call, device, [&] { return call.Forward(context, flags, device); });
  return RecordNewContext(call, result, context, device);
}

template <typename Call>
CUresult CtxCreate(const Call& call, CUcontext* context, CUexecAffinityParam* affinities, int count,
                   unsigned int flags, CUdevice device) {
  const CUresult result = CreateInTurn(
      call, device, [&] { return call.Forward(context, affinities, count, flags, device); });
  return RecordNewContext(call, result, context, device);
}

template <typename Call>
CUresult CtxCreate(const Call& call, CUcontext* context, CUctxCreateParams* parameters,
                   unsigned int flags, CUdevice device) {
  const CUresult result =
      CreateInTurn(call, device, [&] { return call.Forward(context, parameters, flags, device); });
  return RecordNewContext(call, result, context, device);
}

template <typename Call>
CUresult CtxDestroy(const Call& call, CUcontext context) {
  Contexts& contexts = call.context().contexts;
  const int16_t device = contexts.DeviceOf(context);
  contexts.Forget(context);
  const CUresult result = call.Forward(context);
  if (result == CUDA_SUCCESS) {
    call.pools().ContextGone(context);
  } else if (device != kNoDevice) {
    contexts.Remember(context, device);
  }
  return RecordContext(call, EventKind::kContextDestroy, result, ToNumber(context), device);
}

// True if the device's primary context exists.
inline bool IsPrimaryContextActive(const Driver& driver, CUdevice device) {
  auto* state = driver.cuDevicePrimaryCtxGetState();
  unsigned int flags = 0;
  int active = 0;
  KeepErrno keep_errno;
  return state != nullptr && state(device, &flags, &active) == CUDA_SUCCESS && active != 0;
}

// Primary contexts are reference-counted: the first reference creates one, the last release ends
// it.
template <typename Call>
CUresult DevicePrimaryCtxRetain(const Call& call, CUcontext* context, CUdevice device) {
  const bool was_active = IsPrimaryContextActive(call.context().driver, device);
  const CUresult result = CreateInTurn(call, device, [&] { return call.Forward(context, device); });
  if (result == CUDA_SUCCESS && context != nullptr) {
    call.pools().PrimaryRetained(*context, device);
    Contexts& contexts = call.context().contexts;
    if (contexts.DeviceOf(*context) == kNoDevice || contexts.HasEnded(*context)) {
      contexts.Remember(*context, device);
      // A library created this context without a hooked call, so it may also end the context
      // without one.
      if (was_active) call.context().unseen_contexts.Note();
    }
    call.pools().DeviceUsed(device);
  }
  return was_active ? result : RecordNewContext(call, result, context, device);
}

// Called after the device's primary context has ended. A thread may still have it as its current
// context, so it is forgotten before its pool is closed: then no new pool is opened in it.
template <typename Call>
void ForgetPrimary(const Call& call, CUdevice device) {
  const CUcontext context = call.pools().PrimaryOf(device);
  if (context != nullptr) call.context().contexts.Forget(context);
  call.pools().PrimaryContextGone(device);
}

template <typename Call>
CUresult DevicePrimaryCtxRelease(const Call& call, CUdevice device) {
  const CUresult result = call.Forward(device);
  if (result != CUDA_SUCCESS || IsPrimaryContextActive(call.context().driver, device))
    return result;
  ForgetPrimary(call, device);
  return RecordContext(call, EventKind::kContextDestroy, result, 0, static_cast<int16_t>(device));
}

template <typename Call>
CUresult DevicePrimaryCtxReset(const Call& call, CUdevice device) {
  const CUresult result = call.Forward(device);
  if (result == CUDA_SUCCESS) ForgetPrimary(call, device);
  return RecordContext(call, EventKind::kDeviceReset, result, 0, static_cast<int16_t>(device));
}

// Loads code. The driver overwrites some values of options for its compiler, such as the size of a
// buffer, so a call with such options is not repeated.
template <typename Call>
CUresult LoadCode(const Call& call, CUmodule* module, const void* image, unsigned int count,
                  CUjit_option* options, void** values) {
  return count == 0 ? MakeRoom(call, module, image, count, options, values)
                    : call.Forward(module, image, count, options, values);
}
template <typename Call, typename Code>
CUresult LoadCode(const Call& call, CUlibrary* library, const Code* code, CUjit_option* options,
                  void** values, unsigned int count, CUlibraryOption* library_options,
                  void** library_values, unsigned int library_count) {
  const auto load = [&](auto forward) {
    return forward(call, library, code, options, values, count, library_options, library_values,
                   library_count);
  };
  return count == 0 ? load([](const Call& with, auto... all) { return MakeRoom(with, all...); })
                    : load([](const Call& with, auto... all) { return with.Forward(all...); });
}

template <typename Call>
CUresult GreenCtxCreate(const Call& call, CUgreenCtx* context, CUdevResourceDesc description,
                        CUdevice device, unsigned int flags) {
  return RecordNewContext(call, call.Forward(context, description, device, flags), context, device);
}

template <typename Call>
CUresult GreenCtxDestroy(const Call& call, CUgreenCtx context) {
  const uint64_t handle = ToNumber(context);
  const int16_t device = call.context().contexts.DeviceOf(reinterpret_cast<CUcontext>(handle));
  return RecordContext(call, EventKind::kContextDestroy, call.Forward(context), handle, device);
}

template <typename Call>
CUresult CtxEnablePeerAccess(const Call& call, CUcontext peer, unsigned int flags) {
  const CUresult result = call.Forward(peer, flags);
  // The pools also recognise a peer context that no hooked call made.
  if (result == CUDA_SUCCESS) call.pools().PeerEnabled(peer, CurrentDevice(call));
  // The number of the peer's device. All bits are set if the context is unknown.
  const auto device = static_cast<uint64_t>(call.context().contexts.DeviceOf(peer));
  return RecordContext(call, EventKind::kPeerAccess, result, device,
                       result == CUDA_SUCCESS ? CurrentDevice(call) : kNoDevice);
}

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_LIFETIME_H_
