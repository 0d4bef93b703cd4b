// PoolEvents: makes the events that the pool reports to the tracer, as base/event.h defines them.
//
// Idea: there are two families. Block events are kAllocate and kFree of the layer that requested
// the block; `object` of a kAllocate says how it was served (Served). Driver events have layer
// kPool: kReserve, kAllocate and kFree of kPhysical (or, without virtual memory, of kDevice:
// segments), kMap, kUnmap, kAccess; and the steps kCacheMiss, kCacheStitch and others. Reserved
// memory is the sum of this layer's kPhysical and kDevice events, allocated memory is the sum of
// the block events, free memory is the difference. All three are exact after every event.
//
// As in every part of vramstow, an event that releases memory is recorded before the driver is
// called, and is followed by kRefused if the driver refuses.
//
// Ownership: none. Threads: as the sink's. Errors: none. Units: bytes; kCacheFenceWait contains
// nanoseconds in place of a size.
#ifndef VRAMSTOW_ALLOCATOR_CORE_EVENTS_H_
#define VRAMSTOW_ALLOCATOR_CORE_EVENTS_H_

#include <cstdint>

#include "allocator/core/config.h"
#include "allocator/core/driver.h"
#include "base/typed_event.h"

namespace vramstow {

class PoolEvents {
 public:
  void Open(const EventSink& sink, int16_t device) {
    sink_ = sink;
    device_ = device;
  }
  bool on() const { return sink_.take != nullptr; }

  void Block(EventKind kind, Layer layer, uint64_t address, uint64_t size, uint64_t requested,
             uint64_t stream, Served served) const {
    if (!on()) return;
    Event event;
    event.kind = kind;
    event.layer = layer;
    event.memory = MemoryKind::kDevice;
    event.device = device_;
    event.address = address;
    event.size = size;
    event.requested = requested;
    event.stream = stream;
    event.object = ObjectOf(served);
    sink_.take(sink_.context, &event);
  }

  // Records kReserve or kUnreserve.
  void Address(EventKind kind, uint64_t address, uint64_t size) const {
    if (!on()) return;
    Event event = PoolEvent(kind);
    event.memory = MemoryKind::kAddressRange;
    event.address = address;
    event.size = size;
    sink_.take(sink_.context, &event);
  }

  // Records kAllocate or kFree of physical memory. The event's address is the handle.
  uint64_t Physical(EventKind kind, uint64_t handle, uint64_t size, DriverResult result,
                    bool host = false) const {
    if (!on()) return 0;
    Event event = PoolEvent(kind);
    event.memory = host ? MemoryKind::kHostPhysical : MemoryKind::kPhysical;
    event.address = handle;
    event.size = size;
    event.result = result;
    return sink_.take(sink_.context, &event);
  }

  // Records kAllocate or kFree of a segment: memory of the plain driver that blocks are cut from.
  uint64_t Segment(EventKind kind, uint64_t address, uint64_t size, DriverResult result) const {
    if (!on()) return 0;
    Event event = PoolEvent(kind);
    event.memory = MemoryKind::kDevice;
    event.address = address;
    event.size = size;
    event.result = result;
    return sink_.take(sink_.context, &event);
  }

  // Records kAllocate or kFree of page-locked host memory.
  uint64_t Pinned(EventKind kind, uint64_t address, uint64_t size, DriverResult result) const {
    if (!on()) return 0;
    Event event = PoolEvent(kind);
    event.layer = Layer::kDriver;  // like page-locked memory of any caller
    event.memory = MemoryKind::kHostPinned;
    event.address = address;
    event.size = size;
    event.requested = size;
    event.result = result;
    return sink_.take(sink_.context, &event);
  }
  // Records that the driver refused to free the page-locked memory of an earlier kFree event.
  void PinnedStays(uint64_t sequence, DriverResult result) const {
    Event announced;
    announced.layer = Layer::kDriver;
    announced.memory = MemoryKind::kHostPinned;
    Take(RefusalOf(announced, sequence, result));
  }

  // Records kMap, kUnmap or kAccess.
  uint64_t Mapping(EventKind kind, uint64_t address, uint64_t size, uint64_t handle,
                   DriverResult result) const {
    return OfMemory(kind, address, size, 0, handle, result);
  }

  // Records that the driver refused a call. `sequence` is the number of the event that announced
  // the call.
  void Refused(uint64_t sequence, DriverResult result) const {
    Event announced;
    announced.layer = Layer::kPool;
    announced.memory = MemoryKind::kPhysical;
    Take(RefusalOf(announced, sequence, result));
  }

  // Records kOffload or kReturn: memory of live blocks was evicted to the host or restored.
  void Moved(EventKind kind, uint64_t address, uint64_t size, uint64_t gate_ns,
             uint64_t reason) const {
    Moved({kind == EventKind::kReturn, address, size, gate_ns, static_cast<OffloadReason>(reason)});
  }
  void Moved(const MoveEvent& move) const { Take(move.ToEvent()); }

  // Records kTouch: submitted work names the address. `clock` is the time of the touch.
  void Touched(uint64_t address, uint64_t clock) const {
    Take(TouchEvent{address, clock}.ToEvent());
  }

  // Record that free chunks were mapped to new addresses (Stitched), that an allocation waited for
  // work (Waited), or that hooks ran (HooksRan).
  void Stitched(const StitchEvent& stitch) const { Take(stitch.ToEvent()); }
  void Waited(const FenceWaitEvent& wait) const { Take(wait.ToEvent()); }
  void HooksRan(const HookEvent& hook) const { Take(hook.ToEvent()); }

  // Records kCacheMiss, kCacheGrow, kCacheTrim or kCacheOutOfMemory.
  void Step(EventKind kind, uint64_t size, uint64_t requested, uint64_t object, uint64_t stream,
            DriverResult result) const {
    if (!on()) return;
    Event event = PoolEvent(kind);
    event.size = size;
    event.requested = requested;
    event.object = object;
    event.stream = stream;
    event.result = result;
    sink_.take(sink_.context, &event);
  }

 private:
  uint64_t OfMemory(EventKind kind, uint64_t address, uint64_t size, uint64_t requested,
                    uint64_t object, DriverResult result) const {
    if (!on()) return 0;
    Event event = PoolEvent(kind);
    event.memory = MemoryKind::kPhysical;
    event.address = address;
    event.size = size;
    event.requested = requested;
    event.object = object;
    event.result = result;
    return sink_.take(sink_.context, &event);
  }
  void Take(Event event) const {
    if (!on()) return;
    event.device = device_;
    sink_.take(sink_.context, &event);
  }
  Event PoolEvent(EventKind kind) const {
    Event event;
    event.kind = kind;
    event.layer = Layer::kPool;
    event.device = device_;
    return event;
  }

  EventSink sink_;
  int16_t device_ = kNoDevice;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_CORE_EVENTS_H_
