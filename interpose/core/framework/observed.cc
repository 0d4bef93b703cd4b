#include "interpose/core/framework/observed.h"

#include <array>
#include <cstdio>

#include "base/keep_errno.h"
#include "base/typed_event.h"
#include "interpose/core/framework/attachment.h"
#include "interpose/core/framework/card_processes.h"
#include "interpose/core/framework/census.h"
#include "interpose/core/framework/framework.h"
#include "interpose/core/record/free_bytes.h"
#include "interpose/core/record/observed_memory.h"
#include "interpose/core/record/trace.h"
#include "interpose/core/runtime/driver.h"
#include "interpose/core/runtime/process.h"
#include "interpose/core/runtime/settings.h"
#include "interpose/core/runtime/this_thread.h"

#define VRAMSTOW_IMPLEMENTATION
#include "include/vramstow/framework.h"
#include "include/vramstow/vramstow.h"

namespace vramstow {
namespace {

// Records the limit of a device that the framework reports with a failed request. A later failure
// overwrites it.
void DescribeLimit(Trace* trace, const vramstow_framework_event& refused) {
  char key[48];
  char value[24];
  std::snprintf(key, sizeof key, "device.%d.allowed_bytes", static_cast<int>(refused.device));
  std::snprintf(value, sizeof value, "%llu", static_cast<unsigned long long>(refused.address));
  trace->Describe(key, value);
}

int Reserve(int device, int64_t bytes, uint64_t retries) {
  framework_context.observed.Reserve(device, bytes, retries);
  return VRAMSTOW_OK;
}

// The last event of each device, if it was a free. A free is followed by its completion, after
// which the memory may be allocated again. For most blocks no event comes between the two; such a
// completion is not recorded as a separate event. Only one thread at a time uses the entry of a
// device, as in ObservedMemory.
struct alignas(64) LastFree {
  uint64_t sequence;  // its sequence in the trace; 0 if the last event was no free
  uint64_t address;
  uint64_t size;
  uint64_t requested;
  uint64_t stream;
};
LastFree last_frees[ObservedMemory::kMaxDevices];

bool IsInRange(int32_t device) { return device >= 0 && device < ObservedMemory::kMaxDevices; }

bool CompletesLastFree(const LastFree& last, const vramstow_framework_event& observed) {
  const uint64_t difference = (last.address ^ observed.address) | (last.size ^ observed.size) |
                              (last.requested ^ observed.requested) |
                              (last.stream ^ observed.stream);
  return last.sequence != 0 && difference == 0 &&
         framework_context.trace.CompleteFree(last.sequence);
}

// Returns the trace if events are recorded, else null. Sets *library to the number of the
// observer's library.
Trace* OpenTrace(uint16_t* library) {
  Trace& trace = framework_context.trace;
  *library = trace.observer();
  return *library == kUnknownName || trace.is_off() ? nullptr : &trace;
}

inline BlockEvent BlockOf(EventKind kind, const vramstow_framework_event& observed) {
  BlockEvent block;
  block.kind = kind;
  block.device = static_cast<int16_t>(observed.device);
  block.address = observed.address;
  block.size = observed.size;
  block.requested = observed.requested;
  block.stream = observed.stream;
  return block;
}

// Counts an event of the observer, even without a trace.
template <EventKind kKind>
inline void Count(const vramstow_framework_event& observed) {
  ObservedMemory& counted = framework_context.observed;
  if constexpr (kKind == EventKind::kAllocate) {
    counted.Allocate(observed.device, observed.size, observed.requested);
  } else if constexpr (kKind == EventKind::kFree) {
    counted.Free(observed.device, observed.size, observed.requested);
  } else {
    counted.Complete(observed.device, observed.size);
  }
}

// Counts and records an event of the observer. There is one function for each kind of event, so
// that the compiler removes the checks for all other kinds, and each saves few registers.
template <EventKind kKind>
int RecordEvent(const vramstow_framework_event& observed) {
  Trace& trace = framework_context.trace;
  BlockEvent block = BlockOf(kKind, observed);
  if (!IsInRange(observed.device)) [[unlikely]]
    return trace.RecordFrameworkBlock(&block) != 0 ? VRAMSTOW_OK : VRAMSTOW_NOT_ACTIVE;
  Count<kKind>(observed);
  LastFree& last = last_frees[observed.device];
  if (kKind == EventKind::kFreeCompleted && CompletesLastFree(last, observed)) return VRAMSTOW_OK;
  last.sequence = 0;
  const uint64_t sequence = trace.RecordFrameworkBlock(&block);
  if (kKind == EventKind::kFree) {
    last = {sequence, observed.address, observed.size, observed.requested, observed.stream};
  }
  return sequence != 0 ? VRAMSTOW_OK : VRAMSTOW_NOT_ACTIVE;
}

// Records a failed request. PyTorch reports it without its locks.
int Refuse(const vramstow_framework_event& observed, FailureEnd end) {
  uint16_t library;
  Trace* const trace = OpenTrace(&library);
  if (trace == nullptr) return VRAMSTOW_NOT_ACTIVE;
  const KeepErrno keep_errno;
  Event event = BlockOf(EventKind::kAllocate, observed).ToEvent();
  if (observed.address != 0) DescribeLimit(trace, observed);
  // Without hooks, nothing else in the trace tells how much memory the device has left. No lock of
  // the framework is held, and the device is the current one.
  if (IsAttached()) framework_context.free_bytes.Record(event.device);
  event.address = 0;
  event.object = ObjectOf(end);
  event.result = CUDA_ERROR_OUT_OF_MEMORY;
  const uint64_t sequence = trace->RecordFrameworkRefusal(library, &event);
  // The search for the reason takes time. It is skipped if the framework handles the failure itself
  // and the program does not see it.
  if (end != FailureEnd::kProgram) return sequence != 0 ? VRAMSTOW_OK : VRAMSTOW_NOT_ACTIVE;
  trace->NoteOutOfMemory();
  DescribeOtherProcesses(event.device);
  RunCensusAfterFailure(event.device);
  return sequence != 0 ? VRAMSTOW_OK : VRAMSTOW_NOT_ACTIVE;
}

int RecordOutOfMemory(const vramstow_framework_event& observed) {
  framework_context.observed.Refuse(observed.device);
  return Refuse(observed, FailureEnd::kProgram);
}

int RecordDoneWithout(const vramstow_framework_event& observed) {
  return Refuse(observed, FailureEnd::kDoneWithout);
}

int Emit(const vramstow_framework_event* observed) {
  // A table needs fewer instructions than a switch.
  using Handler = int (*)(const vramstow_framework_event&);
  static constexpr std::array<Handler, VRAMSTOW_EVENT_DONE_WITHOUT + 1> kHandlers = [] {
    std::array<Handler, VRAMSTOW_EVENT_DONE_WITHOUT + 1> handlers = {};
    handlers[VRAMSTOW_EVENT_ALLOCATE] = RecordEvent<EventKind::kAllocate>;
    handlers[VRAMSTOW_EVENT_FREE] = RecordEvent<EventKind::kFree>;
    handlers[VRAMSTOW_EVENT_FREE_COMPLETED] = RecordEvent<EventKind::kFreeCompleted>;
    handlers[VRAMSTOW_EVENT_OUT_OF_MEMORY] = RecordOutOfMemory;
    handlers[VRAMSTOW_EVENT_DONE_WITHOUT] = RecordDoneWithout;
    return handlers;
  }();
  const auto kind = static_cast<uint32_t>(observed->kind);
  if (kind >= kHandlers.size() || kHandlers[kind] == nullptr) [[unlikely]]
    return VRAMSTOW_INVALID;
  return kHandlers[kind](*observed);
}

void** PlaceOfThread() { return &ThisThread()->observer; }

// Records the memory of the devices. It asks the driver, which is allowed here because no lock of
// the framework is held.
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
    Reserve,
    PlaceOfThread};

}  // namespace

const vramstow_table* TraceTable() {
  Process& process = framework_context.process;
  const Options& options = process.options();
  if (!process.Start() || WantsPool(options)) return nullptr;
  return options.trace || WantsMetrics(options) ? &kTable.head : nullptr;
}

}  // namespace vramstow
