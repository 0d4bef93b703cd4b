#include "simulator/runtime/libraries/cupti/observer.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "simulator/runtime/libraries/cupti/call_names.h"
#include "simulator/runtime/libraries/cupti/cupti_clock.h"
#include "simulator/runtime/libraries/cupti/record_makers.h"
#include "simulator/runtime/libraries/cupti/records.h"
#include "simulator/runtime/libraries/cupti/subscriber.h"

namespace vramstow::simulator {
namespace {

struct Thread {
  uint32_t depth = 0;
  uint32_t correlation = 0;
  bool inside_client = false;
  CUcontext context = nullptr;  // context of the latest driver call
  uint32_t context_id = 0;
  const char* symbol = nullptr;
  // Ids pushed beyond this depth are counted, but not recorded. The struct has no destructor,
  // because it is used until the very end of the thread.
  static constexpr size_t kDepth = 128;
  uint64_t external[CUPTI_EXTERNAL_CORRELATION_KIND_SIZE][kDepth] = {};
  size_t pushed[CUPTI_EXTERNAL_CORRELATION_KIND_SIZE] = {};
};

Thread& TheThread() {
  static thread_local constinit Thread thread;
  return thread;
}

std::atomic<uint32_t> next_correlation = 1;
std::atomic<CUpti_ActivityThreadIdType> thread_id_type = CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;

uint32_t ThreadId() {
  if (thread_id_type.load(std::memory_order_relaxed) == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM) {
    return static_cast<uint32_t>(syscall(SYS_gettid));
  }
  return static_cast<uint32_t>(pthread_self());
}

CallDomain DomainOf(const ProfiledCall& call) {
  return call.runtime != 0 ? CallDomain::kRuntime : CallDomain::kDriver;
}

// Adds the records of the external ids that the program has pushed. They must precede the record of
// the call.
void AddExternal(const Thread& thread) {
  if (!TheObserver().IsOn(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) return;
  for (size_t kind = 0; kind < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE; ++kind) {
    if (thread.pushed[kind] == 0) continue;
    CUpti_ActivityExternalCorrelation record = {};
    record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    record.externalKind = static_cast<CUpti_ExternalCorrelationKind>(kind);
    record.externalId = thread.external[kind][std::min(thread.pushed[kind], Thread::kDepth) - 1];
    record.correlationId = thread.correlation;
    TheRecords().Add(record);
  }
}

void Call(CUpti_ApiCallbackSite site, ProfiledCall* call, uint32_t id, Thread* thread) {
  const CUpti_CallbackDomain domain =
      call->runtime != 0 ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
  if (id == 0 || !IsSubscribed(domain, id)) return;
  CUpti_CallbackData data = {};
  data.callbackSite = site;
  data.functionName = CallName(DomainOf(*call), id);
  data.functionReturnValue = site == CUPTI_API_EXIT ? &call->result : nullptr;
  data.symbolName = site == CUPTI_API_EXIT ? thread->symbol : nullptr;
  data.context = thread->context;
  data.contextUid = thread->context_id;
  data.correlationData = &call->data;
  data.correlationId = call->correlation;
  CallSubscriber(domain, id, &data);
}

void Enter(ProfiledCall* call) {
  Thread& thread = TheThread();
  call->outermost = thread.depth++ == 0 && !thread.inside_client ? 1 : 0;
  if (thread.inside_client) return;
  if (call->outermost != 0) {
    thread.correlation = next_correlation.fetch_add(1, std::memory_order_relaxed);
    thread.symbol = nullptr;
  }
  call->correlation = thread.correlation;
  if (call->outermost != 0) {
    const uint32_t id = CallId(DomainOf(*call), call->name, call->per_thread != 0);
    AddExternal(thread);
    Call(CUPTI_API_ENTER, call, id, &thread);
  }
  call->begin = TheClock().Now();
}

bool RecordsWork() {
  const Observer& observer = TheObserver();
  return observer.IsOn(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) ||
         observer.IsOn(CUPTI_ACTIVITY_KIND_KERNEL) || observer.IsOn(CUPTI_ACTIVITY_KIND_MEMCPY) ||
         observer.IsOn(CUPTI_ACTIVITY_KIND_MEMCPY2) || observer.IsOn(CUPTI_ACTIVITY_KIND_MEMSET);
}

// Handles the data that only calls of the driver report, not calls of the runtime.
void LeaveDriver(const ProfiledCall& call, Thread* thread) {
  if (call.context != nullptr) {
    thread->context = call.context;
    thread->context_id = call.context_id;
  }
  if (call.symbol != nullptr) thread->symbol = call.symbol;
  if (call.time_ns != 0 && RecordsWork()) TheClock().Pace(call.time_ns);
  AddDriverRecords(call, TheClock().Now());
  EmitResources(call);
}

void Leave(ProfiledCall* call) {
  Thread& thread = TheThread();
  // `depth` is 0 at the end of a call that began before the observer was attached.
  if (thread.depth > 0) --thread.depth;
  if (thread.inside_client) return;
  if (call->runtime == 0) LeaveDriver(*call, &thread);
  if (call->outermost == 0) return;
  const bool runtime = call->runtime != 0;
  const uint32_t id = CallId(DomainOf(*call), call->name, call->per_thread != 0);
  const CUpti_ActivityKind kind =
      runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
  const uint64_t end = TheClock().Now();
  if (id != 0 && TheObserver().IsOn(kind) && TheObserver().RecordsCall(runtime, id)) {
    CUpti_ActivityAPI record = {};
    record.kind = kind;
    record.cbid = id;
    record.start = call->begin;
    record.end = end;
    record.processId = static_cast<uint32_t>(getpid());
    record.threadId = ThreadId();
    record.correlationId = call->correlation;
    record.returnValue = static_cast<uint32_t>(call->result);
    TheRecords().Add(record);
  }
  Call(CUPTI_API_EXIT, call, id, &thread);
  TheRecords().Deliver(false);
}

void Queue(ProfiledWork* work) {
  work->correlation = TheThread().correlation;
  work->host_offset_ns = TheClock().OffsetAt(work->queued_ns);
}

void End(const ProfiledWork* work) { AddWorkRecord(*work); }

void Memory(const ProfiledCall* call, uint64_t address, uint64_t bytes) {
  if (!TheThread().inside_client) AddMemoryRecord(*call, address, bytes);
}

constexpr Profiler kProfiler = {Enter, Leave, Queue, End, Memory};

}  // namespace

Observer& TheObserver() {
  static auto* observer = new Observer;
  return *observer;
}

void Observer::UpdateProfilerSlot() {
  static ProfilerPlace* place = FindProfilerPlace();
  if (place == nullptr) return;
  bool any = callbacks_.load(std::memory_order_relaxed);
  for (const std::atomic<bool>& on : on_) any |= on.load(std::memory_order_relaxed);
  place->store(any ? &kProfiler : nullptr, std::memory_order_release);
}

void Observer::Switch(CUpti_ActivityKind kind, bool on) {
  on_[static_cast<size_t>(kind)].store(on, std::memory_order_relaxed);
  UpdateProfilerSlot();
}

void Observer::SwitchAllOff() {
  for (std::atomic<bool>& on : on_) on.store(false, std::memory_order_relaxed);
  UpdateProfilerSlot();
}

void Observer::SwitchCallbacks(bool on) {
  callbacks_.store(on, std::memory_order_relaxed);
  UpdateProfilerSlot();
}

void Observer::SwitchCall(bool runtime, uint32_t id, bool on) {
  if (id < kCalls) call_off_[runtime ? 1 : 0][id].store(!on, std::memory_order_relaxed);
}

bool Observer::RecordsCall(bool runtime, uint32_t id) const {
  return id >= kCalls || !call_off_[runtime ? 1 : 0][id].load(std::memory_order_relaxed);
}

InsideClient::InsideClient() : before_(TheThread().inside_client) {
  TheThread().inside_client = true;
}
InsideClient::~InsideClient() { TheThread().inside_client = before_; }

CUptiResult SetThreadIdType(CUpti_ActivityThreadIdType type) {
  if (type != CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT &&
      type != CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM) {
    return CUPTI_ERROR_NOT_SUPPORTED;
  }
  thread_id_type.store(type, std::memory_order_relaxed);
  return CUPTI_SUCCESS;
}

CUpti_ActivityThreadIdType ThreadIdType() { return thread_id_type.load(std::memory_order_relaxed); }

CUptiResult PushExternal(CUpti_ExternalCorrelationKind kind, uint64_t id) {
  if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID ||
      kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  Thread& thread = TheThread();
  const size_t at = thread.pushed[kind]++;
  if (at < Thread::kDepth) thread.external[kind][at] = id;
  return CUPTI_SUCCESS;
}

CUptiResult PopExternal(CUpti_ExternalCorrelationKind kind, uint64_t* last) {
  if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID ||
      kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  Thread& thread = TheThread();
  if (thread.pushed[kind] == 0) return CUPTI_ERROR_QUEUE_EMPTY;
  const size_t at = --thread.pushed[kind];
  if (last != nullptr) *last = at < Thread::kDepth ? thread.external[kind][at] : 0;
  return CUPTI_SUCCESS;
}

}  // namespace vramstow::simulator
