#include "interpose/core/runtime/unseen_contexts.h"

#include "base/keep_errno.h"
#include "interpose/core/runtime/driver.h"
#include "interpose/core/runtime/hook_table.h"

namespace vramstow {

// True if the context is the device's primary one. The driver is asked to retain the primary
// context only if that is active, because it would otherwise create it.
bool UnseenContexts::IsPrimary(CUcontext context, CUdevice device) const {
  auto* const state = driver_.cuDevicePrimaryCtxGetState();
  auto* const retain = reinterpret_cast<decltype(&::cuDevicePrimaryCtxRetain)>(
      driver_.real(Hook::kcuDevicePrimaryCtxRetain));
  auto* const release = reinterpret_cast<decltype(&::cuDevicePrimaryCtxRelease_v2)>(
      driver_.real(Hook::kcuDevicePrimaryCtxRelease_v2));
  if (state == nullptr || retain == nullptr || release == nullptr) return false;
  unsigned flags = 0;
  int active = 0;
  if (state(device, &flags, &active) != CUDA_SUCCESS || active == 0) return false;
  CUcontext primary = nullptr;
  if (retain(&primary, device) != CUDA_SUCCESS) return false;
  release(device);
  return primary == context;
}

int16_t UnseenContexts::Recognise(CUcontext context) {
  if (context == nullptr || stranger_.load(std::memory_order_relaxed) == context) return kNoDevice;
  const KeepErrno keep_errno;
  int devices = 0;
  auto* const count = driver_.cuDeviceGetCount();
  auto* const get = driver_.cuDeviceGet();
  if (count == nullptr || get == nullptr || count(&devices) != CUDA_SUCCESS) return kNoDevice;
  for (int ordinal = 0; ordinal < devices; ++ordinal) {
    CUdevice device = 0;
    if (get(&device, ordinal) != CUDA_SUCCESS || !IsPrimary(context, device)) continue;
    contexts_.Remember(context, device);
    Note();
    return static_cast<int16_t>(device);
  }
  stranger_.store(context, std::memory_order_relaxed);
  return kNoDevice;
}

CUresult UnseenContexts::AskNumber(CUcontext context, uint64_t* number) const {
  const KeepErrno keep_errno;
  unsigned long long answer = 0;  // NOLINT(google-runtime-int): the driver's type
  auto* const ask = driver_.cuCtxGetId();
  const CUresult result = ask == nullptr ? CUDA_ERROR_NOT_SUPPORTED : ask(context, &answer);
  *number = answer;
  return result;
}

uint64_t UnseenContexts::NumberOf(CUcontext context) const {
  uint64_t number = 0;
  return AskNumber(context, &number) == CUDA_SUCCESS ? number : 0;
}

// Returns false if the context has ended. Other errors of the driver, for example during its
// shutdown, do not show that the context has ended.
bool UnseenContexts::Lives(CUcontext context, uint64_t number) const {
  uint64_t now = 0;
  const CUresult result = AskNumber(context, &now);
  if (result == CUDA_ERROR_INVALID_CONTEXT || result == CUDA_ERROR_CONTEXT_IS_DESTROYED)
    return false;
  return result != CUDA_SUCCESS || number == 0 || now == number;
}

void UnseenContexts::AbandonAfterFork() {
  any_.store(false, std::memory_order_relaxed);
  stranger_.store(nullptr, std::memory_order_relaxed);
}

}  // namespace vramstow
