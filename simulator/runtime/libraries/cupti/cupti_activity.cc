// Implements CUPTI's activity interface: enables and disables kinds, stores attributes, and returns
// records.
#include <cstdio>
#include <cstring>
#include <map>

#include "base/mutex.h"
#include "simulator/runtime/libraries/common/refusal.h"
#include "simulator/runtime/libraries/cupti/call_names.h"
#include "simulator/runtime/libraries/cupti/cupti_clock.h"
#include "simulator/runtime/libraries/cupti/observer.h"
#include "simulator/runtime/libraries/cupti/record_makers.h"
#include "simulator/runtime/libraries/cupti/records.h"

namespace vramstow::simulator {
namespace {

// The size and default of an attribute. Source: the comments of CUpti_ActivityAttribute in
// cupti_activity.h.
struct Attribute {
  size_t bytes;
  uint64_t value;
};

struct Attributes {
  Mutex mutex;
  std::map<int, Attribute> known VRAMSTOW_GUARDED_BY(mutex) = {
      {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, {sizeof(size_t), 3200000}},
      {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_CDP, {sizeof(size_t), 8388608}},
      {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, {sizeof(size_t), 250}},
      {CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_SIZE, {sizeof(size_t), 25000}},
      {CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_LIMIT, {sizeof(size_t), 250}},
      {CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, {sizeof(uint8_t), 0}},
      {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE, {sizeof(size_t), 3}},
      {CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_PRE_ALLOCATE_VALUE, {sizeof(size_t), 3}},
      {CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, {sizeof(uint8_t), 0}},
      {CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, {sizeof(uint8_t), 1}},
  };
};

Attributes& TheAttributes() {
  static Attributes* attributes = new Attributes;
  return *attributes;
}

// Prints once for each kind of activity that no records of the kind will be made.
CUptiResult RefuseKind(CUpti_ActivityKind kind) {
  static std::atomic<bool> said[kActivityKinds];
  if (!said[kind].exchange(true)) {
    char sentence[160];
    snprintf(sentence, sizeof(sentence),
             "records of activity kind %d are not part of the simulated CUPTI; "
             "it returned CUPTI_ERROR_NOT_SUPPORTED.",
             static_cast<int>(kind));
    LogOnStderr(sentence);
  }
  return CUPTI_ERROR_NOT_SUPPORTED;
}

CUptiResult Switch(CUpti_ActivityKind kind, bool on) {
  if (kind <= CUPTI_ACTIVITY_KIND_INVALID || static_cast<size_t>(kind) >= kActivityKinds) {
    return CUPTI_ERROR_INVALID_KIND;
  }
  if (RecordBytes(kind) == 0) return on ? RefuseKind(kind) : CUPTI_SUCCESS;
  TheObserver().Switch(kind, on);
  return CUPTI_SUCCESS;
}

CUptiResult SwitchCall(CallDomain domain, CUpti_CallbackId id, bool on) {
  if (CallName(domain, id) == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  TheObserver().SwitchCall(domain == CallDomain::kRuntime, id, on);
  return CUPTI_SUCCESS;
}

CUptiResult MoveAttribute(CUpti_ActivityAttribute name, size_t* bytes, void* value, bool store) {
  if (bytes == nullptr || value == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  Attributes& attributes = TheAttributes();
  const MutexLock lock(&attributes.mutex);
  const auto known = attributes.known.find(name);
  if (known == attributes.known.end()) return CUPTI_ERROR_INVALID_PARAMETER;
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

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable) {
  return SwitchCall(CallDomain::kRuntime, cbid, enable != 0);
}
CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable) {
  return SwitchCall(CallDomain::kDriver, cbid, enable != 0);
}
// Two facts are not known: the time stamps of submission, and the launch attributes. Records
// contain zeros for them.
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
  TheRecords().SetCallbacks(funcBufferRequested, funcBufferCompleted);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc funcTimestamp) {
  if (funcTimestamp == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  TheClock().UseClient(funcTimestamp);
  return CUPTI_SUCCESS;
}

// A record is made after its work has ended, so a forced flush has no more records than an ordinary
// one.
CUptiResult cuptiActivityFlushAll(uint32_t /*flag*/) {
  if (!TheRecords().has_callbacks()) return CUPTI_ERROR_INVALID_OPERATION;
  const uint64_t start = TheClock().Now();
  TheRecords().Deliver(false);
  AddFlushOverhead(start, TheClock().Now());
  TheRecords().Deliver(true);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushPeriod(uint32_t /*time*/) { return CUPTI_SUCCESS; }

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t validBufferSizeBytes,
                                       CUpti_Activity** record) {
  if (buffer == nullptr || record == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const uint8_t* at = buffer;
  if (*record != nullptr) {
    const size_t bytes = RecordBytes((*record)->kind);
    if (bytes == 0) return CUPTI_ERROR_INVALID_KIND;
    at = reinterpret_cast<const uint8_t*>(*record) + bytes;
  }
  if (at < buffer || at >= buffer + validBufferSizeBytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(const_cast<uint8_t*>(at));
  return RecordBytes((*record)->kind) == 0 ? CUPTI_ERROR_INVALID_KIND : CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext /*context*/, uint32_t /*streamId*/,
                                              size_t* dropped) {
  if (dropped == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *dropped = TheRecords().PopDropped();
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
  return PushExternal(kind, id);
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                  uint64_t* lastId) {
  return PopExternal(kind, lastId);
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) { return SetThreadIdType(type); }

CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType* type) {
  if (type == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *type = ThreadIdType();
  return CUPTI_SUCCESS;
}
