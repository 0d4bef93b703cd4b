// Typed events: the kinds of events in which some fields have another meaning than base/event.h
// states.
//
// Idea: an Event has one set of fields for all kinds, because it is stored as it is. For most kinds
// a field means what its comment says: `size` and `requested` are bytes, `object` is a handle,
// `offset` is bytes into it. For the kinds below some fields have another meaning. Each of these
// kinds has a type here, whose members are named after their contents, with the unit in the name.
// ToEvent() makes the event that is stored; Of() reads an event of that kind. No other code sets or
// reads the raw fields of these kinds, except code that copies or prints all fields of all events
// alike.
//
// Fields that are not members have their defaults in a new Event; the code that makes the event may
// set them afterwards (call, library, stack, thread).
//
// Ownership: values. Threads: plain values. Errors: none; Of() does not check the kind. Units: in
// the names of the members; a member without a unit in its name is a number or an identifier.
#ifndef VRAMSTOW_BASE_TYPED_EVENT_H_
#define VRAMSTOW_BASE_TYPED_EVENT_H_

#include <cstdint>

#include "base/event.h"

namespace vramstow {

// How the pool served an allocation. It is the `object` of the block's kAllocate event. The numbers
// are stored in traces: only append.
enum class Served : uint8_t {
  kUnknown = 0,
  kHit = 1,     // from cached memory, without a driver call
  kFence = 2,   // from cached memory, after fences were checked
  kStitch = 3,  // existing chunks were mapped, none was created
  kGrow = 4,    // chunks were created
  kPlain = 5,   // by the plain driver
};
inline constexpr uint64_t ObjectOf(Served served) { return static_cast<uint64_t>(served); }
// Returns how a block was served. Returns kUnknown for a number that this version does not know,
// and for events of other memory than blocks of the pool.
inline Served ServedOf(const Event& block) {
  return block.object <= ObjectOf(Served::kPlain) ? static_cast<Served>(block.object)
                                                  : Served::kUnknown;
}

// What followed a failed request of a framework. It is the `object` of a failed kAllocate of layer
// kFramework. The numbers are stored in traces: only append.
enum class FailureEnd : uint8_t {
  kProgram = 0,      // the program got an error, as far as is known
  kDoneWithout = 1,  // the framework caught the error and continued without the memory
};
inline constexpr uint64_t ObjectOf(FailureEnd end) { return static_cast<uint64_t>(end); }
// Returns what followed a failed request; kProgram for a number that this version does not know.
inline FailureEnd FailureEndOf(const Event& failed) {
  const bool is_done_without = failed.kind == EventKind::kAllocate &&
                               failed.layer == Layer::kFramework &&
                               failed.object == ObjectOf(FailureEnd::kDoneWithout);
  return is_done_without ? FailureEnd::kDoneWithout : FailureEnd::kProgram;
}

// Makes a kRefused event, which reports that the driver refused the call of an earlier event. All
// other fields are copied from that event.
inline Event RefusalOf(const Event& announced, uint64_t announced_sequence, int32_t result) {
  Event event = announced;
  event.kind = EventKind::kRefused;
  event.object = announced_sequence;
  event.result = result;
  return event;
}
inline uint64_t RefusedSequence(const Event& refusal) { return refusal.object; }
inline void SetRefusedSequence(Event* refusal, uint64_t sequence) { refusal->object = sequence; }

// kMemoryInfo of a device: what the driver answered to the program, or to vramstow itself.
struct DeviceMemoryInfo {
  int16_t device = kNoDevice;
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;

  Event ToEvent() const {
    Event event;
    event.kind = EventKind::kMemoryInfo;
    event.device = device;
    event.size = free_bytes;
    event.requested = total_bytes;
    return event;
  }
  static DeviceMemoryInfo Of(const Event& event) {
    return {event.device, event.size, event.requested};
  }
};

// kMemoryInfo of the host: its memory numbers, which vramstow has read.
struct HostMemoryInfo {
  uint64_t free_bytes = 0;
  uint64_t limit_bytes = 0;     // memory of the machine, or limit of the control group
  uint64_t resident_bytes = 0;  // memory of this process
  bool is_of_group = false;     // free and limit belong to the control group with the least room

  static bool Is(const Event& event) {
    return event.kind == EventKind::kMemoryInfo && event.memory == MemoryKind::kHostPhysical;
  }
  Event ToEvent() const {
    Event event;
    event.kind = EventKind::kMemoryInfo;
    event.memory = MemoryKind::kHostPhysical;
    event.size = free_bytes;
    event.requested = limit_bytes;
    event.object = resident_bytes;
    event.offset = is_of_group ? 1 : 0;
    return event;
  }
  static HostMemoryInfo Of(const Event& event) {
    return {event.size, event.requested, event.object, event.offset != 0};
  }
};

// The kind of a mark. The numbers are stored in traces: never change one.
enum class MarkKind : uint8_t {
  kMoment = 0,
  kRangeBegins = 1,  // a range of the thread or, with a number, of the process begins
  kRangeEnds = 2,    // a range ends; without a text, the thread's innermost one
};

// kMark: an annotation of the application.
struct MarkEvent {
  MarkKind kind = MarkKind::kMoment;  // an unknown number is read as kMoment
  uint64_t annotation = 0;            // number of its text in the trace's table; 0 if none
  uint64_t number = 0;                // number of an iteration or of a process range; 0 if none

  Event ToEvent() const {
    Event event;
    event.kind = EventKind::kMark;
    event.object = annotation;
    event.offset = static_cast<uint64_t>(kind);
    event.size = number;
    return event;
  }
  static MarkEvent Of(const Event& event) {
    const bool is_range = event.offset == static_cast<uint64_t>(MarkKind::kRangeBegins) ||
                          event.offset == static_cast<uint64_t>(MarkKind::kRangeEnds);
    return {is_range ? static_cast<MarkKind>(event.offset) : MarkKind::kMoment, event.object,
            event.size};
  }
};

inline void SetMarkKind(Event* mark, MarkKind kind) { mark->offset = static_cast<uint64_t>(kind); }

// Returns the number of the text of a kMark, kLaunch or kActivity in the trace's table of
// annotations.
inline uint64_t TextNumber(const Event& event) { return event.object; }
inline void SetTextNumber(Event* event, uint64_t number) { event->object = number; }

// kGap: this number of events was lost at this point.
struct GapEvent {
  uint64_t lost_events = 0;

  Event ToEvent() const {
    Event event;
    event.kind = EventKind::kGap;
    event.size = lost_events;
    return event;
  }
  static GapEvent Of(const Event& event) { return {event.size}; }
};

// kPeerAccess: the context got access to another device.
struct PeerAccessEvent {
  uint64_t peer_device = 0;  // all bits are set if it is unknown

  static PeerAccessEvent Of(const Event& event) { return {event.object}; }
};

// kCacheStitch: free chunks were mapped to new addresses to serve an allocation.
struct StitchEvent {
  uint64_t mapped_bytes = 0;
  uint64_t block_bytes = 0;   // size of the allocation
  uint64_t moved_chunks = 0;  // chunks that were in use elsewhere
  uint64_t stream = kUnknownStream;

  Event ToEvent() const {
    Event event;
    event.kind = EventKind::kCacheStitch;
    event.layer = Layer::kPool;
    event.size = mapped_bytes;
    event.requested = block_bytes;
    event.object = moved_chunks;
    event.stream = stream;
    return event;
  }
  static StitchEvent Of(const Event& event) {
    return {event.size, event.requested, event.object, event.stream};
  }
};

// Why the application's hooks ran. The numbers are stored in traces: never change one.
enum class HookKind : uint8_t { kPressure = 0, kTrimmed = 1 };

// kCacheHook: the application's hooks ran.
struct HookEvent {
  HookKind kind = HookKind::kPressure;
  uint64_t bytes = 0;  // bytes that are lacking or were released

  Event ToEvent() const {
    Event event;
    event.kind = EventKind::kCacheHook;
    event.layer = Layer::kPool;
    event.size = bytes;
    event.object = static_cast<uint64_t>(kind);
    return event;
  }
  static HookEvent Of(const Event& event) {
    return {event.object == static_cast<uint64_t>(HookKind::kTrimmed) ? HookKind::kTrimmed
                                                                      : HookKind::kPressure,
            event.size};
  }
};

// kCacheFenceWait: an allocation waited for submitted work.
struct FenceWaitEvent {
  uint64_t waited_ns = 0;
  uint64_t block_bytes = 0;  // size of the allocation
  uint64_t stream = kUnknownStream;
  int32_t result = 0;  // 0 if the work finished in time

  Event ToEvent() const {
    Event event;
    event.kind = EventKind::kCacheFenceWait;
    event.layer = Layer::kPool;
    event.size = waited_ns;
    event.requested = block_bytes;
    event.stream = stream;
    event.result = result;
    return event;
  }
  static FenceWaitEvent Of(const Event& event) {
    return {event.size, event.requested, event.stream, event.result};
  }
};

// kActivity for work on the device, as CUPTI reported it later.
struct DeviceWorkEvent {
  int16_t device = kNoDevice;
  uint64_t stream = kUnknownStream;
  uint64_t correlation = 0;  // CUPTI's number of the call
  uint64_t bytes = 0;        // bytes of a copy or fill
  uint64_t duration_ns = 0;
  uint64_t begin_unix_ns = 0;
  uint64_t annotation = 0;  // text number of its name

  // True for device work; any other kActivity is an ActivityMemoryEvent.
  static bool Is(const Event& event) {
    return event.kind == EventKind::kActivity && event.memory == MemoryKind::kNone;
  }
  Event ToEvent() const {
    Event event;
    event.kind = EventKind::kActivity;
    event.device = device;
    event.stream = stream;
    event.address = correlation;
    event.size = bytes;
    event.requested = duration_ns;
    event.offset = begin_unix_ns;
    event.object = annotation;
    return event;
  }
  static DeviceWorkEvent Of(const Event& event) {
    return {event.device,    event.stream, event.address, event.size,
            event.requested, event.offset, event.object};
  }
};

// kActivity for memory that was allocated or freed, as CUPTI reported it later.
struct ActivityMemoryEvent {
  MemoryKind memory = MemoryKind::kDevice;
  int16_t device = kNoDevice;
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint64_t correlation = 0;  // CUPTI's number of the call
  uint64_t unix_ns = 0;      // when it happened
  uint64_t annotation = 0;   // "allocate" or "free"

  Event ToEvent() const {
    Event event;
    event.kind = EventKind::kActivity;
    event.memory = memory;
    event.device = device;
    event.address = address;
    event.size = bytes;
    event.requested = correlation;
    event.offset = unix_ns;
    event.object = annotation;
    return event;
  }
  static ActivityMemoryEvent Of(const Event& event) {
    return {event.memory,    event.device, event.address, event.size,
            event.requested, event.offset, event.object};
  }
};

// kCorrelation: the CUPTI call during which an event was recorded.
struct CorrelationEvent {
  uint64_t sequence = 0;     // sequence number of that event
  uint64_t correlation = 0;  // CUPTI's number of the call

  Event ToEvent() const {
    Event event;
    event.kind = EventKind::kCorrelation;
    event.object = sequence;
    event.size = correlation;
    return event;
  }
  static CorrelationEvent Of(const Event& event) { return {event.object, event.size}; }
};

// kOffload and kReturn: live memory was evicted to the host, or restored.
struct MoveEvent {
  bool is_return = false;
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint64_t gate_ns = 0;  // how long submissions had to wait
  OffloadReason reason = OffloadReason::kUnknown;

  Event ToEvent() const {
    Event event;
    event.kind = is_return ? EventKind::kReturn : EventKind::kOffload;
    event.layer = Layer::kPool;
    event.memory = MemoryKind::kPhysical;
    event.address = address;
    event.size = bytes;
    event.requested = gate_ns;
    event.object = static_cast<uint64_t>(reason);
    return event;
  }
  static MoveEvent Of(const Event& event) {
    return {event.kind == EventKind::kReturn, event.address, event.size, event.requested,
            event.object < uint64_t{kOffloadReasons} ? static_cast<OffloadReason>(event.object)
                                                     : OffloadReason::kUnknown};
  }
};

// kLaunch: kernels were launched.
struct LaunchEvent {
  // If `is_sample` is false, `launches` counts the launches of all threads since the last such
  // event of this kernel. If it is true, the event is one launch of this thread that stands for
  // `launches`.
  bool is_sample = false;
  uint64_t launches = 0;
  uint64_t annotation = 0;  // text number of the kernel or the entry point
  uint64_t stream = kUnknownStream;

  Event ToEvent() const {
    Event event;
    event.kind = EventKind::kLaunch;
    event.object = annotation;
    event.size = launches;
    event.offset = is_sample ? 1 : 0;
    event.stream = stream;
    return event;
  }
  static LaunchEvent Of(const Event& event) {
    return {event.offset != 0, event.size, event.object, event.stream};
  }
};

// kTouch: submitted work names an address.
struct TouchEvent {
  uint64_t address = 0;
  uint64_t clock = 0;  // the offloader's clock, in submissions

  Event ToEvent() const {
    Event event;
    event.kind = EventKind::kTouch;
    event.layer = Layer::kPool;
    event.memory = MemoryKind::kPhysical;
    event.address = address;
    event.object = clock;
    return event;
  }
  static TouchEvent Of(const Event& event) { return {event.address, event.object}; }
};

// kModelClock: the virtual clock of the simulated GPU (clock=model), and the bytes that were copied
// over PCIe or NVLink. All numbers are sums since the process began.
struct ModelClockEvent {
  uint64_t model_ns = 0;
  uint64_t link_read_bytes = 0;  // bytes that work accessed in place in host memory
  uint64_t out_bytes = 0;        // bytes that were copied to the host
  uint64_t in_bytes = 0;         // bytes that were copied to the device
  uint64_t held_ns = 0;          // time for which moves of memory delayed work

  Event ToEvent() const {
    Event event;
    event.kind = EventKind::kModelClock;
    event.address = held_ns;
    event.size = link_read_bytes;
    event.requested = out_bytes;
    event.object = in_bytes;
    event.offset = model_ns;
    return event;
  }
  static ModelClockEvent Of(const Event& event) {
    return {event.offset, event.size, event.requested, event.object, event.address};
  }
};

// kModelWork: the time that the simulated GPU needs for its submitted work; it directly follows a
// kModelClock. All fields but due_ns are sums since the process began.
struct ModelWorkEvent {
  uint64_t work_ns = 0;  // time of operators if all their memory were on the GPU
  uint64_t operators = 0;
  uint64_t link_ns = 0;  // additional time because some of it is on the host
  uint64_t due_ns = 0;   // virtual time at which they end; 0 if unknown

  Event ToEvent() const {
    Event event;
    event.kind = EventKind::kModelWork;
    event.size = operators;
    event.requested = due_ns;
    event.object = link_ns;
    event.offset = work_ns;
    return event;
  }
  static ModelWorkEvent Of(const Event& event) {
    return {event.offset, event.size, event.object, event.requested};
  }
};

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_TYPED_EVENT_H_
