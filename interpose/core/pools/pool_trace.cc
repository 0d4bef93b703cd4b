#include "interpose/core/pools/pool_trace.h"

#include "interpose/core/record/nvtx_memory.h"
#include "interpose/core/record/trace.h"
#include "interpose/core/runtime/this_thread.h"

namespace vramstow {
namespace {

// Returns the driver's function that the pool called for this event, or kNoHook for the pool's own
// steps.
Hook FunctionOf(const Event& event) {
  const bool pinned = event.memory == MemoryKind::kHostPinned;
  const bool segment = event.memory == MemoryKind::kDevice;
  switch (event.kind) {
    case EventKind::kReserve:
      return Hook::kcuMemAddressReserve;
    case EventKind::kUnreserve:
      return Hook::kcuMemAddressFree;
    case EventKind::kAllocate:
      if (segment) return Hook::kcuMemAlloc;
      return pinned ? Hook::kcuMemHostAlloc : Hook::kcuMemCreate;
    case EventKind::kFree:
      if (segment) return Hook::kcuMemFree;
      return pinned ? Hook::kcuMemFreeHost : Hook::kcuMemRelease;
    case EventKind::kMap:
      return Hook::kcuMemMap;
    case EventKind::kUnmap:
      return Hook::kcuMemUnmap;
    case EventKind::kAccess:
      return Hook::kcuMemSetAccess;
    default:
      return kNoHook;
  }
}

}  // namespace

ScopedCallContext::ScopedCallContext(Trace& trace, const CallSite& site, MemoryKind memory,
                                     uint64_t requested)
    : ScopedCallContext(trace, site, memory, requested, EventKind::kAllocate) {}

ScopedCallContext::ScopedCallContext(Trace& trace, const CallSite& site)
    : ScopedCallContext(trace, site, MemoryKind::kDevice, 0, EventKind::kFree) {}

ScopedCallContext::ScopedCallContext(Trace& trace, const CallSite& site, MemoryKind memory,
                                     uint64_t requested, EventKind kind)
    : thread_(site.thread),
      before_(thread_->pool_call),
      hook_(site.hook),
      library_(trace.Library(site.return_address)),
      stack_(trace.CaptureStack(kind)),
      memory_(memory),
      requested_(requested) {
  thread_->pool_call = this;
}

ScopedCallContext::ScopedCallContext(Trace& trace, uint16_t library, EventKind kind,
                                     const StackName* names, size_t count)
    : thread_(ThisThread()),
      before_(thread_->pool_call),
      library_(library),
      stack_(trace.NameStack(trace.CaptureStack(kind), names, count)) {
  thread_->pool_call = this;
}

ScopedCallContext::ScopedCallContext() : thread_(ThisThread()), before_(thread_->pool_call) {
  thread_->pool_call = this;
}

EventSink PoolTrace::Sink(const Options& options) {
  EventSink sink;
  sink.take = nvtx_memory_.wanted(options) ? RecordAndAnnounce : Take;
  sink.context = this;
  return sink;
}

uint64_t PoolTrace::RecordAndAnnounce(void* self, Event* event) {
  static_cast<PoolTrace*>(self)->nvtx_memory_.OnEvent(*event);
  return Take(self, event);
}

uint64_t PoolTrace::Take(void* self, Event* event) {
  auto* const trace = static_cast<PoolTrace*>(self);
  const uint64_t sequence = trace->Record(event);
  const Observer observer = trace->observer_.load(std::memory_order_acquire);
  if (observer != nullptr) observer(*event);
  return sequence;
}

// Changes the event in place and does not copy it. It was written field by field a moment ago, and
// a copy would have to wait until the processor has completed these stores.
uint64_t PoolTrace::Record(Event* event) {
  if (trace_.is_off()) return 0;
  const auto* call = static_cast<const ScopedCallContext*>(ThisThread()->pool_call);
  const uint16_t library = call == nullptr ? kUnknownName : call->library_;
  if (call != nullptr) event->stack = call->stack_;
  if (event->layer == Layer::kPool || event->memory == MemoryKind::kHostPinned) {
    return trace_.RecordWithStack(FunctionOf(*event), library, event);
  }
  // The block was freed by an earlier call, and its work has finished only now. No call of the
  // program causes this event.
  if (call == nullptr || event->kind == EventKind::kFreeCompleted) {
    return trace_.RecordWithStack(kNoHook, library, event);
  }
  if (event->kind == EventKind::kAllocate) {
    event->memory = call->memory_;
    if (call->requested_ != 0) event->requested = call->requested_;
  }
  return trace_.RecordWithStack(call->hook_, library, event);
}

}  // namespace vramstow
