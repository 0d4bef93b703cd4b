// CUPTI's activity interface: kinds are switched on and off, attributes kept, external correlation
// stacked. No records are made, so no buffer is ever asked for.
#include <bitset>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "simulator/runtime/libraries/cupti/cupti.h"

namespace vramstow::simulator {
namespace {

constexpr size_t kKinds = 256;

// Source of sizes and defaults: the comments of CUpti_ActivityAttribute in cupti_activity.h.
struct Attribute {
  size_t bytes;
  uint64_t value;
};

struct Activities {
  std::mutex mutex;
  std::bitset<kKinds> enabled;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  std::map<int, Attribute> attributes = {
      {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, {sizeof(size_t), 3200000}},
      {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_CDP, {sizeof(size_t), 8388608}},
      {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, {sizeof(size_t), 250}},
      {CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_SIZE, {sizeof(size_t), 25000}},
      {CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_LIMIT, {sizeof(size_t), 250}},
      {CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, {sizeof(uint8_t), 0}},
      {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE, {sizeof(size_t), 3}},
      {CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_PRE_ALLOCATE_VALUE, {sizeof(size_t), 3}},
      {CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, {sizeof(uint8_t), 0}},
  };
};

Activities& TheActivities() {
  static Activities* activities = new Activities;
  return *activities;
}

CUptiResult Switch(CUpti_ActivityKind kind, bool on) {
  if (kind <= CUPTI_ACTIVITY_KIND_INVALID || static_cast<size_t>(kind) >= kKinds) {
    return CUPTI_ERROR_INVALID_KIND;
  }
  Activities& activities = TheActivities();
  const std::lock_guard<std::mutex> lock(activities.mutex);
  activities.enabled.set(static_cast<size_t>(kind), on);
  return CUPTI_SUCCESS;
}

CUptiResult MoveAttribute(CUpti_ActivityAttribute name, size_t* bytes, void* value, bool store) {
  if (bytes == nullptr || value == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  Activities& activities = TheActivities();
  const std::lock_guard<std::mutex> lock(activities.mutex);
  const auto known = activities.attributes.find(name);
  if (known == activities.attributes.end()) return CUPTI_ERROR_INVALID_PARAMETER;
  Attribute& attribute = known->second;
  if (*bytes < attribute.bytes) return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
  *bytes = attribute.bytes;
  if (store) {
    memcpy(&attribute.value, value, attribute.bytes);
  } else {
    memcpy(value, &attribute.value, attribute.bytes);
  }
  return CUPTI_SUCCESS;
}

std::map<int, std::vector<uint64_t>>& Correlations() {
  static thread_local std::map<int, std::vector<uint64_t>> stacks;
  return stacks;
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) { return Switch(kind, true); }
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) { return Switch(kind, false); }

CUptiResult cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind) {
  return context == nullptr ? CUPTI_ERROR_INVALID_PARAMETER : Switch(kind, true);
}
CUptiResult cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind) {
  return context == nullptr ? CUPTI_ERROR_INVALID_PARAMETER : Switch(kind, false);
}
CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind) { return Switch(kind, true); }

// Which calls are recorded: without records there is nothing to choose.
CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId /*cbid*/, uint8_t /*enable*/) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId /*cbid*/, uint8_t /*enable*/) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t /*enable*/) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityEnableLaunchAttributes(uint8_t /*enable*/) { return CUPTI_SUCCESS; }
extern "C" __attribute__((visibility("default"))) CUptiResult
cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t /*enable*/) {
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc funcBufferRequested,
                                           CUpti_BuffersCallbackCompleteFunc funcBufferCompleted) {
  if (funcBufferRequested == nullptr || funcBufferCompleted == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  Activities& activities = TheActivities();
  const std::lock_guard<std::mutex> lock(activities.mutex);
  activities.request = funcBufferRequested;
  activities.complete = funcBufferCompleted;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc funcTimestamp) {
  return funcTimestamp == nullptr ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t /*flag*/) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityFlushPeriod(uint32_t /*time*/) { return CUPTI_SUCCESS; }

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t /*validBufferSizeBytes*/,
                                       CUpti_Activity** record) {
  if (buffer == nullptr || record == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  return CUPTI_ERROR_MAX_LIMIT_REACHED;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext /*context*/, uint32_t /*streamId*/,
                                              size_t* dropped) {
  if (dropped == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *dropped = 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attr, size_t* valueSize,
                                      void* value) {
  return MoveAttribute(attr, valueSize, value, false);
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attr, size_t* valueSize,
                                      void* value) {
  return MoveAttribute(attr, valueSize, value, true);
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                   uint64_t id) {
  if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID ||
      kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  Correlations()[kind].push_back(id);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                  uint64_t* lastId) {
  if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID ||
      kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  std::vector<uint64_t>& stack = Correlations()[kind];
  if (stack.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  if (lastId != nullptr) *lastId = stack.back();
  stack.pop_back();
  return CUPTI_SUCCESS;
}
