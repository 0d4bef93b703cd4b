// The event model: one Event is one thing that happened to memory.
//
// Idea: the interposer (the driver layer), the pool and the framework adapter make events, the
// tracer stores them, and the analyzer explains them. An event is a plain value without pointers.
// For the kinds marked with (*) some fields have another meaning; base/typed_event.h makes and
// reads these events.
//
// An event that releases memory (kFree, kUnmap, kUnreserve, kUnregister, kCloseImport) is recorded
// *before* the driver is called, because another thread may get the same address before the call
// returns. If the driver then refuses, a kRefused event follows, which contains the sequence number
// of the first event. Every other event is recorded after the call, with its result; a failed call
// has result != 0. So the order of sequence numbers is always a possible history: a free comes
// before the memory is used again.
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
  kAllocate = 1,      // memory was allocated: address, size, requested
  kFree = 2,          // memory was freed: address (for kPhysical: the handle)
  kRefused = 3,       // (*) the driver refused what an earlier event announced: result
  kReserve = 4,       // an address range was reserved: address, size
  kUnreserve = 5,     // an address range was released: address, size
  kMap = 6,           // physical memory `object` was mapped: address, size, offset
  kUnmap = 7,         // a mapping was removed: address, size
  kAccess = 8,        // access rights were set: address, size, device
  kRetain = 9,        // the physical memory `object` got one more reference: address
  kRegister = 10,     // host memory of the application was pinned: address, size
  kUnregister = 11,   // host memory of the application was unpinned: address
  kExport = 12,       // memory was shared with another process: `object` or address
  kImport = 13,       // memory of another process was opened: address (or `object`), size
  kCloseImport = 14,  // an import was closed: address
  kPoolCreate = 15,   // the stream-ordered pool `object` was created
  kPoolDestroy = 16,
  kPoolTrim = 17,       // the pool `object` was trimmed to `size` bytes
  kAdvise = 18,         // advice or prefetch for address, size
  kMemoryInfo = 19,     // (*) the free memory of a device or of the host was read
  kContextCreate = 20,  // the context `object` was created on `device`
  kContextDestroy = 21,
  kDeviceReset = 22,
  kGraphAllocate = 23,  // a graph node that allocates was added: `object` is the node, size
  kGraphFree = 24,      // a graph node that frees was added: address
  kGraphTrim = 25,
  kPeerAccess = 26,     // (*) a context got access to another device
  kMark = 27,           // (*) the application recorded an annotation
  kGap = 28,            // (*) events were lost here (full buffers or a full disk)
  kPoolSelect = 29,     // the stream-ordered pool `object` became the current one of `device`
  kFreeCompleted = 30,  // memory of an earlier kFree may be reused: address, size
  // Steps of vramstow's own pool, which have layer kPool. Blocks of the pool have kAllocate and
  // kFree events; the `object` of a kAllocate says how the block was served (Served).
  kCacheMiss = 31,         // an allocation of `size` bytes that cached memory could not serve
  kCacheStitch = 32,       // (*) free chunks were mapped to new addresses
  kCacheGrow = 33,         // `size` more bytes were reserved
  kCacheTrim = 34,         // `size` bytes were released to the device
  kCacheHook = 35,         // (*) hooks of the application ran
  kCacheFenceWait = 36,    // (*) an allocation waited for submitted work
  kCacheOutOfMemory = 37,  // an allocation of `size` bytes failed after all steps
  // (*) A record of CUPTI (--cupti), which arrives later than what it describes: work on the device
  // (DeviceWorkEvent), or memory that was allocated or freed (ActivityMemoryEvent). Only the latter
  // has a memory kind. Both contain CUPTI's number of the program's call to which they belong.
  kActivity = 38,
  kCorrelation = 39,  // (*) an event was recorded during this call of CUPTI's
  kOffload = 40,      // (*) live memory was evicted to the host
  kReturn = 41,       // (*) live memory was restored to the device
  // (*) Kernels were launched (--launches). The event either counts all launches of a kernel, or
  // stands for one in every N launches of a thread. If a launch is not a kernel's, the event has
  // the name of the driver's function.
  kLaunch = 42,
  kTouch = 43,       // (*) submitted work names the address
  kModelClock = 44,  // (*) the simulated GPU's virtual time and the bytes over its link
  kModelWork = 45,   // (*) the time that the simulated GPU needs for its work so far
};

// The kind of memory that an event concerns. The numbers are stored in traces: only append.
enum class MemoryKind : uint8_t {
  kNone = 0,
  kDevice = 1,          // cuMemAlloc and related functions
  kDevicePitched = 2,   // cuMemAllocPitch
  kDeviceStream = 3,    // stream-ordered: cuMemAllocAsync and related functions
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

// The reason why memory was moved, which is the `object` of kOffload and kReturn. The numbers are
// stored in traces: only append.
enum class OffloadReason : uint8_t {
  kUnknown = 0,
  kPressure = 1,
  kAsked = 2,
  kTouched = 3,
  kPaused = 4,     // the contents of the pages are preserved
  kDiscarded = 5,  // the contents of the pages are discarded
};
inline constexpr int kOffloadReasons = 6;

// The layer whose code made the request. The numbers are stored in traces: only append.
enum class Layer : uint8_t {
  kDriver = 0,     // the driver's own entry points
  kPool = 1,       // the pool's own driver calls
  kFramework = 2,  // tensors
};

inline constexpr uint64_t kUnknownStream = ~uint64_t{0};
inline constexpr int16_t kNoDevice = -1;
inline constexpr uint16_t kUnknownName = 0;  // value of `call` and `library`

// One event. Fields that do not apply are zero; the device is then kNoDevice and the stream is
// kUnknownStream.
struct Event {
  uint64_t sequence = 0;   // order over all threads of the process; set by the recorder
  uint64_t time_ns = 0;    // since the trace began, monotonic; set by the recorder
  uint64_t address = 0;    // device or host address, or a handle if the kind says so
  uint64_t size = 0;       // bytes of the block after rounding
  uint64_t requested = 0;  // bytes that were requested; 0 means the same as `size`
  uint64_t object = 0;     // handle of physical memory, pool, context, graph node; or a sequence
  uint64_t offset = 0;     // bytes into `object`
  uint64_t stream = kUnknownStream;  // the driver's stream handle; 0 is the default stream
  uint32_t stack = 0;                // number of the caller's stack in the trace; 0 if unknown
  uint32_t thread = 0;               // the operating system's thread id; set by the recorder
  int32_t result = 0;                // CUresult; 0 is success
  int16_t device = kNoDevice;
  uint16_t call = kUnknownName;     // entry point, an index into the trace's call names
  uint16_t library = kUnknownName;  // calling library, an index into the trace's library names
  EventKind kind = EventKind::kNone;
  MemoryKind memory = MemoryKind::kNone;
  Layer layer = Layer::kDriver;
};

// These functions return the enumerators' names in lower case with underscores ("host_pinned"), for
// reports and JSON. For a number that this version does not know they return "unknown". The result
// is never null.
const char* EventKindName(EventKind kind);
const char* MemoryKindName(MemoryKind kind);
const char* OffloadReasonName(OffloadReason reason);
const char* LayerName(Layer layer);

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_EVENT_H_
