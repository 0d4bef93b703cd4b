#include "tools/analysis/accounts/memory_looks.h"

#include <algorithm>

namespace vramstow {

void MemoryLooks::Add(const Event& event) {
  if (event.device == kNoDevice) {
    if (HostMemoryInfo::Is(event)) AddHost(HostMemoryInfo::Of(event));
    return;
  }
  const DeviceMemoryInfo info = DeviceMemoryInfo::Of(event);
  DeviceLevel& device = accounts_.levels().Device(info.device);
  device.free_from = FreeKnownFrom::kMemoryInfo;
  device.free = info.free_bytes;
  device.free_time_ns = accounts_.now_ns();
  device.reserved_at_free = device.reserved;
  // If the application queries the free memory, vramstow's pool counts its own cached memory as
  // free in the answer, so the cached memory is subtracted here. A query by the recorder itself has
  // no call and holds the driver's own answer.
  if (space_.pool().moves() && event.call != kUnknownName && device.reserved > device.allocated) {
    device.free -= std::min(device.free, device.reserved - device.allocated);
  }
  if (device.lowest_free.has_value() && *device.lowest_free <= info.free_bytes) return;
  device.lowest_free = info.free_bytes;
  device.lowest_free_time_ns = accounts_.now_ns();
}

void MemoryLooks::AddHost(const HostMemoryInfo& look) {
  if (host_.looks++ == 0 || look.free_bytes < host_.least_free_bytes) {
    host_.least_free_bytes = look.free_bytes;
    host_.least_free_time_ns = accounts_.now_ns();
    host_.limit_bytes = look.limit_bytes;
    host_.is_of_group = look.is_of_group;
  }
  if (look.resident_bytes <= host_.highest_resident_bytes) return;
  host_.highest_resident_bytes = look.resident_bytes;
  host_.highest_resident_time_ns = accounts_.now_ns();
}

}  // namespace vramstow
