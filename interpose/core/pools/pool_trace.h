// The pool's events in the trace: under the name of the call that caused them, and of its caller.
//
// Idea: a pool tells its events from deep inside, under its locks, and knows nothing of entry
// points. What is known of the call is put where the thread finds it again (PoolCall); dealings
// with the driver are named after the driver's function. The stack is looked at here, before the
// pool's locks are taken: to look may mean to wait for the dynamic linker.
//
// Ownership: PoolTrace: static storage. PoolCall: objects on the wrapper's stack. Threads: any; a
// PoolCall is its thread's own. Errors: none. Units: bytes.
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

// What a pool works for, from here to the end of the object's life.
class PoolCall {
 public:
  // For calls that bring memory into being. `memory` is what blocks that are born now are;
  // `requested` the bytes that the caller asked for, 0: as many as the pool was asked for.
  PoolCall(Trace& trace, const CallSite& site, MemoryKind memory, uint64_t requested);
  // For all others.
  PoolCall(Trace& trace, const CallSite& site);
  // For a framework's adapter, which is no function of the driver; with what it says goes on.
  PoolCall(Trace& trace, uint16_t library, EventKind kind, const StackName* names, size_t count);
  // For what vramstow does of its own accord.
  PoolCall();
  ~PoolCall() { thread_->pool_call = before_; }
  PoolCall(const PoolCall&) = delete;
  PoolCall& operator=(const PoolCall&) = delete;

 private:
  friend class PoolTrace;
  PoolCall(Trace& trace, const CallSite& site, MemoryKind memory, uint64_t requested,
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

  // The sink for a pool's events.
  EventSink Sink(const Options& options);
  // An event of the call that this thread is in, which is completed; gives its sequence number.
  uint64_t Record(Event* event);
  // From now on `observer` gets every event of the pools, under their locks.
  void Observe(Observer observer) { observer_.store(observer, std::memory_order_release); }

 private:
  static uint64_t Take(void* self, Event* event);
  static uint64_t TakeAndAnnounce(void* self, Event* event);

  Trace& trace_;
  NvtxMemory& nvtx_memory_;
  std::atomic<Observer> observer_{nullptr};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_POOL_TRACE_H_
