#include "base/event.h"

namespace vramstow {

const char* EventKindName(EventKind kind) {
  switch (kind) {
    case EventKind::kNone:
      return "none";
    case EventKind::kAllocate:
      return "allocate";
    case EventKind::kFree:
      return "free";
    case EventKind::kRefused:
      return "refused";
    case EventKind::kReserve:
      return "reserve";
    case EventKind::kUnreserve:
      return "unreserve";
    case EventKind::kMap:
      return "map";
    case EventKind::kUnmap:
      return "unmap";
    case EventKind::kAccess:
      return "access";
    case EventKind::kRetain:
      return "retain";
    case EventKind::kRegister:
      return "register";
    case EventKind::kUnregister:
      return "unregister";
    case EventKind::kExport:
      return "export";
    case EventKind::kImport:
      return "import";
    case EventKind::kCloseImport:
      return "close_import";
    case EventKind::kPoolCreate:
      return "pool_create";
    case EventKind::kPoolDestroy:
      return "pool_destroy";
    case EventKind::kPoolTrim:
      return "pool_trim";
    case EventKind::kAdvise:
      return "advise";
    case EventKind::kMemoryInfo:
      return "memory_info";
    case EventKind::kContextCreate:
      return "context_create";
    case EventKind::kContextDestroy:
      return "context_destroy";
    case EventKind::kDeviceReset:
      return "device_reset";
    case EventKind::kGraphAllocate:
      return "graph_allocate";
    case EventKind::kGraphFree:
      return "graph_free";
    case EventKind::kGraphTrim:
      return "graph_trim";
    case EventKind::kPeerAccess:
      return "peer_access";
    case EventKind::kMark:
      return "mark";
    case EventKind::kGap:
      return "gap";
    case EventKind::kPoolSelect:
      return "pool_select";
    case EventKind::kFreeCompleted:
      return "free_completed";
    case EventKind::kCacheMiss:
      return "cache_miss";
    case EventKind::kCacheStitch:
      return "cache_stitch";
    case EventKind::kCacheGrow:
      return "cache_grow";
    case EventKind::kCacheTrim:
      return "cache_trim";
    case EventKind::kCacheHook:
      return "cache_hook";
    case EventKind::kCacheFenceWait:
      return "cache_fence_wait";
    case EventKind::kCacheOutOfMemory:
      return "cache_out_of_memory";
    case EventKind::kActivity:
      return "activity";
    case EventKind::kCorrelation:
      return "correlation";
    case EventKind::kOffload:
      return "offload";
    case EventKind::kReturn:
      return "return";
    case EventKind::kLaunch:
      return "launch";
    case EventKind::kTouch:
      return "touch";
    case EventKind::kModelClock:
      return "model_clock";
    case EventKind::kModelWork:
      return "model_work";
  }
  return "unknown";
}

const char* OffloadReasonName(OffloadReason reason) {
  switch (reason) {
    case OffloadReason::kUnknown:
      break;
    case OffloadReason::kPressure:
      return "pressure";
    case OffloadReason::kAsked:
      return "asked";
    case OffloadReason::kTouched:
      return "touched";
    case OffloadReason::kPaused:
      return "paused";
    case OffloadReason::kDiscarded:
      return "discarded";
  }
  return "unknown";
}

const char* MemoryKindName(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kNone:
      return "none";
    case MemoryKind::kDevice:
      return "device";
    case MemoryKind::kDevicePitched:
      return "device_pitched";
    case MemoryKind::kDeviceStream:
      return "device_stream";
    case MemoryKind::kPhysical:
      return "physical";
    case MemoryKind::kManaged:
      return "managed";
    case MemoryKind::kHostPinned:
      return "host_pinned";
    case MemoryKind::kHostRegistered:
      return "host_registered";
    case MemoryKind::kArray:
      return "array";
    case MemoryKind::kMipmappedArray:
      return "mipmapped_array";
    case MemoryKind::kAddressRange:
      return "address_range";
    case MemoryKind::kMulticast:
      return "multicast";
    case MemoryKind::kHostPhysical:
      return "host_physical";
  }
  return "unknown";
}

const char* LayerName(Layer layer) {
  switch (layer) {
    case Layer::kDriver:
      return "driver";
    case Layer::kPool:
      return "pool";
    case Layer::kFramework:
      return "framework";
  }
  return "unknown";
}

}  // namespace vramstow
