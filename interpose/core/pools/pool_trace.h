// The pool's events in the trace: under the name of the call that caused them, and of its caller.
//
// Idea: a pool tells its events from deep inside, under its locks, and knows nothing of entry
// points. What is known of the call is put where the thread finds it again; dealings with the
// driver are named after the driver's function. The stack is looked at here, before the pool's
// locks are taken: to look may mean to wait for the dynamic linker.
//
// Ownership: objects on the wrapper's stack. Threads: each its own. Errors: none. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_POOL_TRACE_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_POOL_TRACE_H_

#include "allocator/core/config.h"
#include "interpose/core/handlers/entry.h"

namespace vramstow {

class PoolCall {
 public:
  // For calls that bring memory into being. `memory` is what blocks that are born now are;
  // `requested` the bytes that the caller asked for, 0: as many as the pool was asked for.
  PoolCall(const Entry& entry, MemoryKind memory, uint64_t requested);
  // For all others.
  explicit PoolCall(const Entry& entry);
  // For a framework's adapter, which is no function of the driver; with what it says goes on.
  PoolCall(uint16_t library, EventKind kind, const StackName* names, size_t count);
  // For what vramstow does of its own accord.
  PoolCall();
  ~PoolCall() { thread_->pool_call = before_; }
  PoolCall(const PoolCall&) = delete;
  PoolCall& operator=(const PoolCall&) = delete;

  // The sink for a pool's events.
  static EventSink Sink();
  // An event of the call that this thread is in, which is completed; gives its sequence number.
  static uint64_t Record(Event* event);

 private:
  PoolCall(const Entry& entry, MemoryKind memory, uint64_t requested, EventKind kind);
  static uint64_t Take(void* context, Event* event);
  static uint64_t TakeAndAnnounce(void* context, Event* event);

  VramstowThread* const thread_;
  void* const before_;
  const Hook hook_ = kNoHook;
  const uint16_t library_ = kUnknownName;
  const uint32_t stack_ = 0;
  const MemoryKind memory_ = MemoryKind::kDevice;
  const uint64_t requested_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_POOL_TRACE_H_
