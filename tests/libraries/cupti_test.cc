// Tests the CUPTI stand-in without a driver: a profiler starts, stops and finds nothing, without an
// error. The records are tested in cupti_activity_test.cc.
#include <cupti.h>
#include <gtest/gtest.h>

#include <string>

namespace vramstow {
namespace {

void Ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}
void Request(uint8_t** buffer, size_t* size, size_t* records) {
  static uint8_t memory[4096];
  *buffer = memory;
  *size = sizeof(memory);
  *records = 0;
}
void Complete(CUcontext, uint32_t, uint8_t*, size_t, size_t) {}

TEST(Cupti, ThereIsOneSubscriberAndItsCallbacksAreKept) {
  CUpti_SubscriberHandle first = nullptr;
  CUpti_SubscriberHandle second = nullptr;
  ASSERT_EQ(cuptiSubscribe(&first, Ignore, nullptr), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiSubscribe(&second, Ignore, nullptr),
            CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  EXPECT_EQ(cuptiEnableCallback(1, first, CUPTI_CB_DOMAIN_RUNTIME_API, 13), CUPTI_SUCCESS);
  uint32_t enabled = 0;
  EXPECT_EQ(cuptiGetCallbackState(&enabled, first, CUPTI_CB_DOMAIN_RUNTIME_API, 13), CUPTI_SUCCESS);
  EXPECT_EQ(enabled, 1u);
  EXPECT_EQ(cuptiEnableDomain(0, first, CUPTI_CB_DOMAIN_RUNTIME_API), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiGetCallbackState(&enabled, first, CUPTI_CB_DOMAIN_RUNTIME_API, 13), CUPTI_SUCCESS);
  EXPECT_EQ(enabled, 0u);
  EXPECT_EQ(cuptiEnableDomain(1, second, CUPTI_CB_DOMAIN_RUNTIME_API),
            CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiUnsubscribe(first), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiUnsubscribe(first), CUPTI_ERROR_INVALID_PARAMETER);
}

TEST(Cupti, ActivitiesAreSwitchedAndFlushedWithoutRecords) {
  // By the documentation, a flush before callbacks are registered is an invalid operation.
  EXPECT_EQ(cuptiActivityFlushAll(0), CUPTI_ERROR_INVALID_OPERATION);
  EXPECT_EQ(cuptiActivityRegisterCallbacks(Request, Complete), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiActivityRegisterCallbacks(nullptr, Complete), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_INVALID), CUPTI_ERROR_INVALID_KIND);
  EXPECT_EQ(cuptiActivityFlushAll(1), CUPTI_SUCCESS);
  uint8_t buffer[64] = {};
  CUpti_Activity* record = nullptr;
  EXPECT_EQ(cuptiActivityGetNextRecord(buffer, 0, &record), CUPTI_ERROR_MAX_LIMIT_REACHED);
  size_t dropped = 1;
  EXPECT_EQ(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped), CUPTI_SUCCESS);
  EXPECT_EQ(dropped, 0u);
  EXPECT_EQ(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiFinalize(), CUPTI_SUCCESS);
}

TEST(Cupti, AttributesAreKeptWithTheirSizes) {
  size_t value = 123456;
  size_t bytes = sizeof(value);
  EXPECT_EQ(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &bytes, &value),
            CUPTI_SUCCESS);
  value = 0;
  EXPECT_EQ(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &bytes, &value),
            CUPTI_SUCCESS);
  EXPECT_EQ(value, 123456u);
  bytes = 1;
  EXPECT_EQ(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &bytes, &value),
            CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
}

TEST(Cupti, ExternalCorrelationIsAStack) {
  const auto kind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
  uint64_t last = 0;
  EXPECT_EQ(cuptiActivityPopExternalCorrelationId(kind, &last), CUPTI_ERROR_QUEUE_EMPTY);
  EXPECT_EQ(cuptiActivityPushExternalCorrelationId(kind, 7), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiActivityPushExternalCorrelationId(kind, 8), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiActivityPopExternalCorrelationId(kind, &last), CUPTI_SUCCESS);
  EXPECT_EQ(last, 8u);
  EXPECT_EQ(cuptiActivityPopExternalCorrelationId(kind, nullptr), CUPTI_SUCCESS);
}

TEST(Cupti, WhatIsNotSimulatedSaysSoOnce) {
  uint32_t count = 0;
  testing::internal::CaptureStderr();
  EXPECT_EQ(cuptiGetNumEventDomains(&count), CUPTI_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuptiGetNumEventDomains(&count), CUPTI_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "vramstow simulator: cuptiGetNumEventDomains is not part of the simulated CUPTI; it "
            "returned CUPTI_ERROR_NOT_SUPPORTED.\n");
  const char* text = nullptr;
  EXPECT_EQ(cuptiGetResultString(CUPTI_ERROR_NOT_SUPPORTED, &text), CUPTI_SUCCESS);
  EXPECT_EQ(text, std::string("CUPTI_ERROR_NOT_SUPPORTED"));
}

}  // namespace
}  // namespace vramstow
