// The event model: one Event is one thing that happened to memory.
//
// Idea: the interposer (the driver layer), the pool and the framework adapter make events, the
// tracer stores them, the analyzer explains them. An event is a plain value without pointers. The
// kinds marked with (*) give some fields another meaning: base/typed_event.h makes and reads these.
//
// An event that releases memory (kFree, kUnmap, kUnreserve, kUnregister, kCloseImport) is recorded
// *before* the driver is called, because another thread may get the same address before the call
// returns. If the driver then refuses, a kRefused event follows that names the first one by its
// sequence number. Every other event is recorded after the call, with its result; a failed call has
// result != 0. So the order of sequence numbers is always a legal history: a free comes before the
// reuse.
//
// Ownership: none. Threads: plain values. Errors: none. Units: bytes; nanoseconds; addresses as
// integers.
#ifndef VRAMSTOW_BASE_EVENT_H_
#define VRAMSTOW_BASE_EVENT_H_

#include <cstdint>

namespace vramstow {

// The numbers are stored in traces: never change one, only append.
enum class EventKind : uint8_t {
  kNone = 0,
  kAllocate = 1,      // memory came into being: address, size, requested
  kFree = 2,          // memory was given back: address (for kPhysical: the handle)
  kRefused = 3,       // (*) the driver refused what an earlier event announced; result says why
  kReserve = 4,       // address range reserved: address, size
  kUnreserve = 5,     // address range given back: address, size
  kMap = 6,           // physical memory `object` mapped at address: size, offset
  kUnmap = 7,         // mapping removed: address, size
  kAccess = 8,        // access rights set: address, size, device
  kRetain = 9,        // one more reference to the physical memory `object`, found by address
  kRegister = 10,     // host memory of the application pinned: address, size
  kUnregister = 11,   // and unpinned: address
  kExport = 12,       // memory `object` or address shared with another process
  kImport = 13,       // memory of another process opened: address (or `object`), size
  kCloseImport = 14,  // an import closed: address
  kPoolCreate = 15,   // stream-ordered pool `object`
  kPoolDestroy = 16,
  kPoolTrim = 17,       // pool `object` cut down to `size` bytes
  kAdvise = 18,         // advice or prefetch for address, size
  kMemoryInfo = 19,     // (*) how much memory is free: of a device, or of the host
  kContextCreate = 20,  // context `object` on `device`
  kContextDestroy = 21,
  kDeviceReset = 22,
  kGraphAllocate = 23,  // a graph node that will allocate: `object` is the node, size
  kGraphFree = 24,      // a graph node that will free: address
  kGraphTrim = 25,
  kPeerAccess = 26,     // (*) context may reach another device
  kMark = 27,           // (*) an annotation of the application
  kGap = 28,            // (*) events were lost here (buffers full, disk full)
  kPoolSelect = 29,     // stream-ordered pool `object` became the current one of `device`
  kFreeCompleted = 30,  // what kFree gave back may be handed out again: address, size
  // Steps of vramstow's own pool, with layer kPool. Its blocks are kAllocate and kFree events; the
  // `object` of a kAllocate says how the block was served (Served).
  kCacheMiss = 31,         // an allocation of `size` bytes that cached memory could not serve
  kCacheStitch = 32,       // (*) free chunks were mapped anew
  kCacheGrow = 33,         // `size` bytes more are reserved
  kCacheTrim = 34,         // `size` bytes were given back to the device
  kCacheHook = 35,         // (*) hooks of the application ran
  kCacheFenceWait = 36,    // (*) an allocation waited for submitted work
  kCacheOutOfMemory = 37,  // an allocation of `size` bytes failed after all steps
  // (*) A record of CUPTI (--cupti), reported later than it happened: work on the device
  // (DeviceWorkEvent), or memory that was allocated or freed (ActivityMemoryEvent). Only the latter
  // has a memory kind. Both name the program's call that they belong to by CUPTI's number of that
  // call.
  kActivity = 38,
  kCorrelation = 39,  // (*) in which of CUPTI's calls an event was recorded
  kOffload = 40,      // (*) live memory went to the host
  kReturn = 41,       // (*) and came back
  // (*) Kernels were launched (--launches). The event either counts all launches of a kernel, or
  // records one in every N launches of a thread. A launch that is not a kernel's has the name of
  // its entry point.
  kLaunch = 42,
  kTouch = 43,       // (*) submitted work names the address
  kModelClock = 44,  // (*) the simulated card's own time, and what went over the link up to then
  kModelWork = 45,   // (*) how long that card takes for all work up to then
};

// The kind of memory that an event concerns. The numbers are stored in traces: only append.
enum class MemoryKind : uint8_t {
  kNone = 0,
  kDevice = 1,          // cuMemAlloc and kin
  kDevicePitched = 2,   // cuMemAllocPitch
  kDeviceStream = 3,    // stream-ordered: cuMemAllocAsync and kin
  kPhysical = 4,        // cuMemCreate: a handle, no address
  kManaged = 5,         // cuMemAllocManaged
  kHostPinned = 6,      // cuMemHostAlloc, cuMemAllocHost
  kHostRegistered = 7,  // cuMemHostRegister
  kArray = 8,           // cuArray*, `address` is the array's handle
  kMipmappedArray = 9,
  kAddressRange = 10,  // cuMemAddressReserve
  kMulticast = 11,     // cuMulticastCreate
  kHostPhysical = 12,  // cuMemCreate with a host location
};

// Why memory moved: the `object` of kOffload and kReturn. The numbers are stored in traces: only
// append.
enum class OffloadReason : uint8_t {
  kUnknown = 0,
  kPressure = 1,
  kAsked = 2,
  kTouched = 3,
  kPaused = 4,     // what the pages hold is kept
  kDiscarded = 5,  // …is given up
};
inline constexpr int kOffloadReasons = 6;

// The layer that made the request. The numbers are stored in traces: only append.
enum class Layer : uint8_t {
  kDriver = 0,     // the driver's own entry points
  kPool = 1,       // the pool's dealings with the driver
  kFramework = 2,  // tensors
};

inline constexpr uint64_t kUnknownStream = ~uint64_t{0};
inline constexpr int16_t kNoDevice = -1;
inline constexpr uint16_t kUnknownName = 0;  // of `call` and `library`

// One event. Fields that do not apply are zero; the device is then kNoDevice and the stream is
// kUnknownStream.
struct Event {
  uint64_t sequence = 0;   // order over all threads of the process; set by the recorder
  uint64_t time_ns = 0;    // since the trace began, monotonic; set by the recorder
  uint64_t address = 0;    // device or host address, or handle where the kind says so
  uint64_t size = 0;       // bytes of the block after rounding
  uint64_t requested = 0;  // bytes that were asked for; 0 means: as size
  uint64_t object = 0;     // handle of physical memory, pool, context, graph node; or a sequence
  uint64_t offset = 0;     // bytes into `object`
  uint64_t stream = kUnknownStream;  // the driver's stream handle; 0 is the default stream
  uint32_t stack = 0;                // who asked: a number of the trace's stacks, 0: not known
  uint32_t thread = 0;               // the operating system's thread id; set by the recorder
  int32_t result = 0;                // CUresult; 0 is success
  int16_t device = kNoDevice;
  uint16_t call = kUnknownName;     // which entry point, an index into the trace's call names
  uint16_t library = kUnknownName;  // who called, an index into the trace's library names
  EventKind kind = EventKind::kNone;
  MemoryKind memory = MemoryKind::kNone;
  Layer layer = Layer::kDriver;
};

// Return the names above in lower case with underscores ("host_pinned"), for reports and JSON, and
// "unknown" for a number that this version does not know. The result is never null.
const char* EventKindName(EventKind kind);
const char* MemoryKindName(MemoryKind kind);
const char* OffloadReasonName(OffloadReason reason);
const char* LayerName(Layer layer);

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_EVENT_H_
