#include "interpose/core/framework/observed.h"

#include <cstdio>

#include "base/keep_errno.h"
#include "interpose/core/framework/card_processes.h"
#include "interpose/core/framework/census.h"
#include "interpose/core/framework/framework.h"
#include "interpose/core/record/observed_memory.h"
#include "interpose/core/record/trace.h"
#include "interpose/core/runtime/driver.h"
#include "interpose/core/runtime/process.h"
#include "interpose/core/runtime/settings.h"

#define VRAMSTOW_IMPLEMENTATION
#include "include/vramstow/framework.h"
#include "include/vramstow/vramstow.h"

namespace vramstow {
namespace {

EventKind KindOf(int32_t kind) {
  switch (kind) {
    case VRAMSTOW_EVENT_ALLOCATE:
    case VRAMSTOW_EVENT_OUT_OF_MEMORY:
      return EventKind::kAllocate;
    case VRAMSTOW_EVENT_FREE:
      return EventKind::kFree;
    case VRAMSTOW_EVENT_FREE_COMPLETED:
      return EventKind::kFreeCompleted;
    default:
      return EventKind::kNone;
  }
}

// A framework says what it may take of a device when it refuses; the last refusal decides.
void DescribeLimit(Trace* trace, const vramstow_framework_event& refused) {
  char key[48];
  char value[24];
  std::snprintf(key, sizeof key, "device.%d.allowed_bytes", static_cast<int>(refused.device));
  std::snprintf(value, sizeof value, "%llu", static_cast<unsigned long long>(refused.address));
  trace->Describe(key, value);
}

// Also where there is no trace.
void Count(const vramstow_framework_event& event) {
  ObservedMemory& observed = framework_context.observed;
  switch (event.kind) {
    case VRAMSTOW_EVENT_ALLOCATE:
      observed.Allocate(event.device, event.size, event.requested);
      break;
    case VRAMSTOW_EVENT_FREE:
      observed.Free(event.device, event.size, event.requested);
      break;
    case VRAMSTOW_EVENT_FREE_COMPLETED:
      observed.Complete(event.device, event.size);
      break;
    default:
      observed.Refuse(event.device);
  }
}

int Reserve(int device, int64_t bytes, uint64_t retries) {
  framework_context.observed.Reserve(device, bytes, retries);
  return VRAMSTOW_OK;
}

// The last event of each device, if that was a free. Most blocks may be handed out again at once:
// then nothing comes between the two events, and the second one need not be recorded by itself. As
// what is counted of a device, it has one user at a time.
struct LastFree {
  uint64_t sequence;  // as the trace knows it; 0: the last event was another one
  uint64_t address;
  uint64_t size;
  uint64_t requested;
  uint64_t stream;
};
LastFree last_frees[ObservedMemory::kMaxDevices];

bool CompletesLastFree(Trace* trace, const vramstow_framework_event& observed) {
  const LastFree& last = last_frees[observed.device];
  const uint64_t difference = (last.address ^ observed.address) | (last.size ^ observed.size) |
                              (last.requested ^ observed.requested) |
                              (last.stream ^ observed.stream);
  return last.sequence != 0 && difference == 0 && trace->CompleteFree(last.sequence);
}

int Emit(const vramstow_framework_event* observed) {
  const EventKind kind = KindOf(observed->kind);
  if (kind == EventKind::kNone) return VRAMSTOW_INVALID;
  Count(*observed);
  Trace& trace = framework_context.trace;
  const uint16_t library = trace.observer();
  if (library == kUnknownName || trace.is_off()) return VRAMSTOW_NOT_ACTIVE;
  const bool is_in_range = observed->device >= 0 && observed->device < ObservedMemory::kMaxDevices;
  if (kind == EventKind::kFreeCompleted && is_in_range && CompletesLastFree(&trace, *observed)) {
    return VRAMSTOW_OK;
  }
  const KeepErrno keep_errno;
  Event event;
  event.kind = kind;
  event.layer = Layer::kFramework;
  event.memory = MemoryKind::kDevice;
  event.device = static_cast<int16_t>(observed->device);
  const bool is_refusal = observed->kind == VRAMSTOW_EVENT_OUT_OF_MEMORY;
  if (is_refusal && observed->address != 0) DescribeLimit(&trace, *observed);
  event.address = is_refusal ? 0 : observed->address;
  event.size = observed->size;
  event.requested = observed->requested;
  event.stream = observed->stream;
  if (is_refusal) event.result = CUDA_ERROR_OUT_OF_MEMORY;
  const uint64_t sequence = trace.RecordObserved(library, &event);
  if (is_in_range && !is_refusal) {
    LastFree& last = last_frees[observed->device];
    last.sequence = kind == EventKind::kFree ? sequence : 0;
    if (kind == EventKind::kFree) {
      last = {sequence, event.address, event.size, event.requested, event.stream};
    }
  }
  // PyTorch tells of these without its locks.
  if (event.result != 0) {
    trace.NoteOutOfMemory();
    DescribeOtherProcesses(event.device);
    TakeCensusAfterFailure(event.device);
  }
  return sequence != 0 ? VRAMSTOW_OK : VRAMSTOW_NOT_ACTIVE;
}

// Here the driver may be asked: no lock of the framework is held.
void NoteDevices() {
  const Driver& driver = framework_context.driver;
  const auto count = driver.cuDeviceGetCount();
  const auto get = driver.cuDeviceGet();
  const auto total_of = driver.cuDeviceTotalMem_v2();
  int devices = 0;
  if (count == nullptr || get == nullptr || total_of == nullptr) return;
  if (count(&devices) != CUDA_SUCCESS) return;
  for (int i = 0; i < devices && i < ObservedMemory::kMaxDevices; ++i) {
    CUdevice device = 0;
    size_t total = 0;
    if (get(&device, i) == CUDA_SUCCESS && total_of(&total, device) == CUDA_SUCCESS) {
      framework_context.observed.NoteSize(i, total);
    }
  }
}

int Attach(const void* code) {
  Trace& trace = framework_context.trace;
  const uint16_t framework = trace.Library(code);
  const uint16_t observer = trace.Library(__builtin_return_address(0));
  const bool has_trace = framework != kUnknownName && observer != kUnknownName;
  if (has_trace) trace.FollowFramework(framework, observer);
  if (!has_trace && !WantsMetrics(framework_context.process.options())) return VRAMSTOW_NOT_ACTIVE;
  framework_context.observed.Begin(has_trace);
  NoteDevices();
  framework_context.start_service();
  return VRAMSTOW_OK;
}

constexpr vramstow_framework_trace kTable = {
    {VRAMSTOW_TABLE_TRACE, VRAMSTOW_TABLE_TRACE_VERSION, sizeof(vramstow_framework_trace), 0},
    Attach,
    Emit,
    Reserve};

}  // namespace

const vramstow_table* TraceTable() {
  Process& process = framework_context.process;
  const Options& options = process.options();
  if (!process.Start() || WantsPool(options)) return nullptr;
  return options.trace || WantsMetrics(options) ? &kTable.head : nullptr;
}

}  // namespace vramstow
