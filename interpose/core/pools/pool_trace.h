// ScopedCallContext and PoolTrace record the pool's events under the name and the caller of the
// function that caused them.
//
// Idea: a pool emits its events under its locks, and does not know which function the program
// called. ScopedCallContext stores this in the thread's state. Events about calls that the pool
// itself makes get the name of the driver's function. The stack is captured when the
// ScopedCallContext begins, before the pool takes its locks, because capturing may have to wait for
// the dynamic linker.
//
// Ownership: PoolTrace: static storage. ScopedCallContext: objects on the wrapper's stack. Threads:
// any; a ScopedCallContext belongs to its thread. Errors: none. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_POOL_TRACE_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_POOL_TRACE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocator/core/config.h"
#include "base/options.h"
#include "interpose/core/runtime/call_site.h"
#include "interpose/core/runtime/core.h"
#include "tracer/recorder.h"

namespace vramstow {

// While an object of this class exists, its thread is in a call of the program. Events that the
// pools emit in this thread belong to that call.
class ScopedCallContext {
 public:
  // Begins a call that allocates. `memory` is the kind of the allocated blocks. `requested` is the
  // number of bytes that the caller asked for, or 0 if it equals the pool's request.
  ScopedCallContext(Trace& trace, const CallSite& site, MemoryKind memory, uint64_t requested);
  // Begins a call that does not allocate.
  ScopedCallContext(Trace& trace, const CallSite& site);
  // Begins a request of a framework's adapter, which calls no function of the driver. `names` are
  // the framework's names of the running operations.
  ScopedCallContext(Trace& trace, uint16_t library, EventKind kind, const StackName* names,
                    size_t count);
  // Begins work that vramstow does without a call of the program.
  ScopedCallContext();
  ~ScopedCallContext() { thread_->pool_call = before_; }
  ScopedCallContext(const ScopedCallContext&) = delete;
  ScopedCallContext& operator=(const ScopedCallContext&) = delete;

 private:
  friend class PoolTrace;
  ScopedCallContext(Trace& trace, const CallSite& site, MemoryKind memory, uint64_t requested,
                    EventKind kind);

  VramstowThread* const thread_;
  void* const before_;
  const Hook hook_ = kNoHook;
  const uint16_t library_ = kUnknownName;
  const uint32_t stack_ = 0;
  const MemoryKind memory_ = MemoryKind::kDevice;
  const uint64_t requested_ = 0;
};

class PoolTrace {
 public:
  using Observer = void (*)(const Event& event);

  constexpr PoolTrace(Trace& trace, NvtxMemory& nvtx_memory)
      : trace_(trace), nvtx_memory_(nvtx_memory) {}
  PoolTrace(const PoolTrace&) = delete;
  PoolTrace& operator=(const PoolTrace&) = delete;

  // Returns the sink for a pool's events.
  EventSink Sink(const Options& options);
  // Adds to the event the call that this thread is in, and records the event. Returns its sequence
  // number.
  uint64_t Record(Event* event);
  // From now on `observer` receives every event of the pools, under their locks.
  void Observe(Observer observer) { observer_.store(observer, std::memory_order_release); }

 private:
  static uint64_t Take(void* self, Event* event);
  static uint64_t RecordAndAnnounce(void* self, Event* event);

  Trace& trace_;
  NvtxMemory& nvtx_memory_;
  std::atomic<Observer> observer_{nullptr};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_POOL_TRACE_H_
