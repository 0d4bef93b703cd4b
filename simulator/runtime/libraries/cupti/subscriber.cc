// Implements CUPTI's callback interface: calls of the runtime and the driver, and the creation of
// contexts and streams. Other callbacks can be enabled and queried, but are never called.
#include "simulator/runtime/libraries/cupti/subscriber.h"

#include <atomic>

#include "base/mutex.h"
#include "simulator/runtime/libraries/cupti/call_names.h"
#include "simulator/runtime/libraries/cupti/observer.h"

// The type behind the header's CUpti_SubscriberHandle.
struct CUpti_Subscriber_st {};  // NOLINT(readability-identifier-naming): the header's name

namespace vramstow::simulator {
namespace {

constexpr size_t kDomains = 64;
constexpr size_t kCallbacks = 4096;

// The enabled callbacks are read without the lock, in every call of the program.
struct Subscription {
  Mutex mutex;
  bool taken VRAMSTOW_GUARDED_BY(mutex) = false;
  CUpti_Subscriber_st handle;
  std::atomic<CUpti_CallbackFunc> function = nullptr;
  std::atomic<void*> user = nullptr;
  std::atomic<bool> enabled[kDomains][kCallbacks] = {};
};

Subscription& TheSubscription() {
  static Subscription* subscription = new Subscription;
  return *subscription;
}

// Enables or disables the callbacks from `first` to `last` of a domain.
CUptiResult Enable(uint32_t enable, CUpti_SubscriberHandle subscriber, size_t domain, size_t first,
                   size_t last) {
  Subscription& subscription = TheSubscription();
  const MutexLock lock(&subscription.mutex);
  if (!subscription.taken || subscriber != &subscription.handle || domain >= kDomains ||
      last > kCallbacks) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  for (size_t callback = first; callback < last; ++callback) {
    subscription.enabled[domain][callback].store(enable != 0, std::memory_order_relaxed);
  }
  bool any = false;
  for (const auto& row : subscription.enabled) {
    for (const std::atomic<bool>& one : row) any |= one.load(std::memory_order_relaxed);
  }
  TheObserver().SwitchCallbacks(any);
  return CUPTI_SUCCESS;
}

}  // namespace

bool IsSubscribed(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  return static_cast<size_t>(domain) < kDomains && id < kCallbacks &&
         TheSubscription().enabled[domain][id].load(std::memory_order_relaxed);
}

void CallSubscriber(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  const Subscription& subscription = TheSubscription();
  const CUpti_CallbackFunc function = subscription.function.load(std::memory_order_acquire);
  if (function == nullptr) return;
  const InsideClient inside;
  function(subscription.user.load(std::memory_order_relaxed), domain, id,
           static_cast<const CUpti_CallbackData*>(data));
}

void EmitResources(const ProfiledCall& call) {
  CUpti_ResourceData data = {};
  data.context = call.made_context != nullptr ? call.made_context : call.context;
  if (call.made_context != nullptr &&
      IsSubscribed(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED)) {
    CallSubscriber(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, &data);
  }
  if (call.made_stream != nullptr &&
      IsSubscribed(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_STREAM_CREATED)) {
    data.resourceHandle.stream = call.made_stream;
    CallSubscriber(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_STREAM_CREATED, &data);
  }
}

}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file
using vramstow::MutexLock;

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                           void* userdata) {
  if (subscriber == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  Subscription& subscription = TheSubscription();
  const MutexLock lock(&subscription.mutex);
  if (subscription.taken) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  subscription.taken = true;
  subscription.user.store(userdata, std::memory_order_relaxed);
  subscription.function.store(callback, std::memory_order_release);
  *subscriber = &subscription.handle;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  Subscription& subscription = TheSubscription();
  const MutexLock lock(&subscription.mutex);
  if (!subscription.taken || subscriber != &subscription.handle) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  subscription.taken = false;
  subscription.function.store(nullptr, std::memory_order_release);
  for (auto& row : subscription.enabled) {
    for (std::atomic<bool>& one : row) one.store(false, std::memory_order_relaxed);
  }
  TheObserver().SwitchCallbacks(false);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  return Enable(enable, subscriber, domain, cbid, size_t{cbid} + 1);
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
                              CUpti_CallbackDomain domain) {
  return Enable(enable, subscriber, domain, 0, kCallbacks);
}

CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber) {
  CUptiResult result = CUPTI_SUCCESS;
  for (size_t domain = 1; domain < CUPTI_CB_DOMAIN_SIZE && result == CUPTI_SUCCESS; ++domain) {
    result = Enable(enable, subscriber, domain, 0, kCallbacks);
  }
  return result;
}

CUptiResult cuptiGetCallbackState(uint32_t* enable, CUpti_SubscriberHandle subscriber,
                                  CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  Subscription& subscription = TheSubscription();
  const MutexLock lock(&subscription.mutex);
  if (enable == nullptr || !subscription.taken || subscriber != &subscription.handle ||
      domain >= kDomains || cbid >= kCallbacks) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *enable = IsSubscribed(domain, cbid) ? 1 : 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char** name) {
  if (name == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *name = nullptr;
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) *name = CallName(CallDomain::kDriver, cbid);
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) *name = CallName(CallDomain::kRuntime, cbid);
  return *name == nullptr ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}
