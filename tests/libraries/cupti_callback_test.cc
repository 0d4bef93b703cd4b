// Tests the behaviour that CUPTI's documentation specifies for callbacks, on the simulated driver
// and runtime.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "simulator/runtime/profiler_place.h"
#include "simulator/simulator_api.h"

namespace vramstow {
namespace {

using simulator::ProfiledCall;
using simulator::ProfiledWork;

// The driver and the libraries on top of it use the same layout.
static_assert(sizeof(ProfiledCall) == sizeof(vramstowSimulatorCall));
static_assert(offsetof(ProfiledCall, context_id) == offsetof(vramstowSimulatorCall, context_id));
static_assert(offsetof(ProfiledCall, pool) == offsetof(vramstowSimulatorCall, pool));
static_assert(offsetof(ProfiledCall, data) == offsetof(vramstowSimulatorCall, data));
static_assert(sizeof(ProfiledWork) == sizeof(vramstowSimulatorWork));
static_assert(offsetof(ProfiledWork, kernel) == offsetof(vramstowSimulatorWork, kernel));
static_assert(offsetof(ProfiledWork, bytes) == offsetof(vramstowSimulatorWork, bytes));
static_assert(sizeof(simulator::Profiler) == sizeof(vramstowSimulatorProfiler));

struct Seen {
  CUpti_CallbackDomain domain;
  CUpti_CallbackId id;
  CUpti_ApiCallbackSite site;
  std::string function;
  uint32_t correlation;
  int result;
};
std::vector<Seen> seen;

void Callback(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  *static_cast<int*>(user) += 1;
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    seen.push_back({domain, id, CUPTI_API_ENTER, "", 0, 0});
    return;
  }
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  const bool exit = call.callbackSite == CUPTI_API_EXIT;
  seen.push_back({domain, id, call.callbackSite, call.functionName, call.correlationId,
                  exit ? *static_cast<int*>(call.functionReturnValue) : -1});
  // A subscriber may call the driver; its own calls cause no callbacks.
  CUcontext context = nullptr;
  EXPECT_EQ(cuCtxGetCurrent(&context), CUDA_SUCCESS);
}

TEST(CuptiCallbacks, ASubscriberSeesTheBeginAndTheEndOfWhatItEnabled) {
  ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
  seen.clear();
  int calls = 0;
  CUpti_SubscriberHandle subscriber = nullptr;
  ASSERT_EQ(cuptiSubscribe(&subscriber, Callback, &calls), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
                                CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020),
            CUPTI_SUCCESS);
  ASSERT_EQ(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API), CUPTI_SUCCESS);
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 4096), cudaSuccess);
  ASSERT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(cuMemFree(12345), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuptiEnableDomain(0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiUnsubscribe(subscriber), CUPTI_SUCCESS);
  ASSERT_EQ(cudaMalloc(&memory, 4096), cudaSuccess);
  ASSERT_EQ(cudaFree(memory), cudaSuccess);
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(seen[0].function, "cudaMalloc_v3020");
  EXPECT_EQ(seen[0].site, CUPTI_API_ENTER);
  EXPECT_EQ(seen[1].site, CUPTI_API_EXIT);
  EXPECT_EQ(seen[1].result, 0);
  EXPECT_EQ(seen[0].correlation, seen[1].correlation);
  EXPECT_EQ(seen[2].function, "cuMemFree_v2");
  EXPECT_EQ(seen[3].result, static_cast<int>(CUDA_ERROR_INVALID_VALUE));
  EXPECT_NE(seen[2].correlation, seen[0].correlation);
}

TEST(CuptiCallbacks, CreatedContextsAndStreamsAreTold) {
  ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
  seen.clear();
  int calls = 0;
  CUpti_SubscriberHandle subscriber = nullptr;
  ASSERT_EQ(cuptiSubscribe(&subscriber, Callback, &calls), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE), CUPTI_SUCCESS);
  CUstream stream = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
  CUcontext context = nullptr;
  ASSERT_EQ(cuCtxCreate(&context, nullptr, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxDestroy(context), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
  ASSERT_EQ(cuptiUnsubscribe(subscriber), CUPTI_SUCCESS);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].id, unsigned{CUPTI_CBID_RESOURCE_STREAM_CREATED});
  EXPECT_EQ(seen[1].id, unsigned{CUPTI_CBID_RESOURCE_CONTEXT_CREATED});
}

TEST(CuptiNames, FunctionsAreNamedAsTheHeadersNumberThem) {
  const char* name = nullptr;
  EXPECT_EQ(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API,
                                 CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, &name),
            CUPTI_SUCCESS);
  EXPECT_EQ(name, std::string("cudaLaunchKernel_v7000"));
  EXPECT_EQ(cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2,
                                 &name),
            CUPTI_SUCCESS);
  EXPECT_EQ(name, std::string("cuMemAlloc_v2"));
  EXPECT_EQ(cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, 4000, &name),
            CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(name, nullptr);
}

}  // namespace
}  // namespace vramstow
