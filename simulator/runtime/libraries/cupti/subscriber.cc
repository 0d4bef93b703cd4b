// CUPTI's callback interface: who subscribes and what is enabled is kept and answered; no callback
// is ever made.
#include <atomic>
#include <bitset>
#include <mutex>

#include "simulator/runtime/libraries/cupti/cupti.h"

// The type behind the header's CUpti_SubscriberHandle.
struct CUpti_Subscriber_st {};  // NOLINT(readability-identifier-naming): the header's name

namespace vramstow::simulator {
namespace {

constexpr size_t kDomains = 64;
constexpr size_t kCallbacks = 4096;

struct Subscription {
  std::mutex mutex;
  bool taken = false;
  CUpti_Subscriber_st handle;
  std::bitset<kCallbacks> enabled[kDomains];
};

Subscription& TheSubscription() {
  static Subscription* subscription = new Subscription;
  return *subscription;
}

// Sets callbacks from `first` to `last` of a domain.
CUptiResult Enable(uint32_t enable, CUpti_SubscriberHandle subscriber, size_t domain, size_t first,
                   size_t last) {
  Subscription& subscription = TheSubscription();
  const std::lock_guard<std::mutex> lock(subscription.mutex);
  if (!subscription.taken || subscriber != &subscription.handle || domain >= kDomains ||
      last > kCallbacks) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  for (size_t callback = first; callback < last; ++callback) {
    subscription.enabled[domain].set(callback, enable != 0);
  }
  return CUPTI_SUCCESS;
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc /*callback*/,
                           void* /*userdata*/) {
  if (subscriber == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  Subscription& subscription = TheSubscription();
  const std::lock_guard<std::mutex> lock(subscription.mutex);
  if (subscription.taken) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  subscription.taken = true;
  *subscriber = &subscription.handle;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  Subscription& subscription = TheSubscription();
  const std::lock_guard<std::mutex> lock(subscription.mutex);
  if (!subscription.taken || subscriber != &subscription.handle) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  subscription.taken = false;
  for (std::bitset<kCallbacks>& domain : subscription.enabled) domain.reset();
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
  const std::lock_guard<std::mutex> lock(subscription.mutex);
  if (enable == nullptr || !subscription.taken || subscriber != &subscription.handle ||
      domain >= kDomains || cbid >= kCallbacks) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *enable = subscription.enabled[domain].test(cbid) ? 1 : 0;
  return CUPTI_SUCCESS;
}
