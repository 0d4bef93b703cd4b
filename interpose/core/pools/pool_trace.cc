#include "interpose/core/pools/pool_trace.h"

#include "interpose/core/core.h"
#include "interpose/core/framework/framework.h"

namespace vramstow {
namespace {

// The driver's function behind an event of the pool's dealings; kNoHook for the pool's own steps.
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

PoolCall::PoolCall(const Entry& entry, MemoryKind memory, uint64_t requested)
    : PoolCall(entry, memory, requested, EventKind::kAllocate) {}

PoolCall::PoolCall(const Entry& entry)
    : PoolCall(entry, MemoryKind::kDevice, 0, EventKind::kFree) {}

PoolCall::PoolCall(const Entry& entry, MemoryKind memory, uint64_t requested, EventKind kind)
    : thread_(TheCore().shim->thread()),
      before_(thread_->pool_call),
      hook_(entry.hook()),
      library_(TheCore().trace.Library(entry.return_address())),
      stack_(TheCore().trace.CaptureStack(kind)),
      memory_(memory),
      requested_(requested) {
  thread_->pool_call = this;
}

PoolCall::PoolCall(uint16_t library, EventKind kind, const StackName* names, size_t count)
    : thread_(TheCore().shim->thread()),
      before_(thread_->pool_call),
      library_(library),
      stack_(TheCore().trace.NameStack(TheCore().trace.CaptureStack(kind), names, count)) {
  thread_->pool_call = this;
}

PoolCall::PoolCall() : thread_(TheCore().shim->thread()), before_(thread_->pool_call) {
  thread_->pool_call = this;
}

EventSink PoolCall::Sink() {
  EventSink sink;
  sink.take = TheCore().nvtx_memory.wanted() ? TakeAndAnnounce : Take;
  return sink;
}

uint64_t PoolCall::TakeAndAnnounce(void* context, Event* event) {
  TheCore().nvtx_memory.Hear(*event);
  return Take(context, event);
}

uint64_t PoolCall::Take(void*, Event* event) {
  const uint64_t sequence = Record(event);
  TellFramework(*event);
  return sequence;
}

// No event is copied on this way: one that was just made is still on its way into the cache field
// by field, and copying it would wait for all of them.
uint64_t PoolCall::Record(Event* event) {
  Core& core = TheCore();
  if (core.trace.is_off()) return 0;
  const auto* call = static_cast<const PoolCall*>(core.shim->thread()->pool_call);
  const uint16_t library = call == nullptr ? kUnknownName : call->library_;
  if (call != nullptr) event->stack = call->stack_;
  if (event->layer == Layer::kPool || event->memory == MemoryKind::kHostPinned) {
    return core.trace.RecordFor(FunctionOf(*event), library, event);
  }
  // A block was freed earlier and only now is done with: that is nobody's call.
  if (call == nullptr || event->kind == EventKind::kFreeCompleted) {
    return core.trace.RecordFor(kNoHook, library, event);
  }
  if (event->kind == EventKind::kAllocate) {
    event->memory = call->memory_;
    if (call->requested_ != 0) event->requested = call->requested_;
  }
  return core.trace.RecordFor(call->hook_, library, event);
}

}  // namespace vramstow
