#include "tools/analysis/accounts/memory_looks.h"

#include <algorithm>

namespace vramstow {
namespace {

// True if the answer may be only what the limit of vramstow's pool leaves, so that more of the
// device may be free. The pool then also answers with its limit in place of the device's size. If
// less than the limit's rest was free, the driver's own answer was the smaller one.
bool IsOfLimit(const DeviceMemoryInfo& info, const DeviceLevel& device) {
  return info.total_bytes != 0 && info.total_bytes < device.total &&
         info.free_bytes + device.reserved >= info.total_bytes;
}

}  // namespace

void MemoryLooks::Add(const Event& event) {
  if (event.device == kNoDevice) {
    if (HostMemoryInfo::Is(event)) AddHost(HostMemoryInfo::Of(event));
    return;
  }
  const DeviceMemoryInfo info = DeviceMemoryInfo::Of(event);
  DeviceLevel& device = accounts_.levels().Device(info.device);
  // If the application queries the free memory, vramstow's pool counts its own cached memory as
  // free in the answer, so the cached memory is subtracted here. A query by the recorder itself has
  // no call and holds the driver's own answer.
  const bool is_of_pool = space_.pool().moves() && event.call != kUnknownName;
  // The earlier answer is still the best that is known about the device.
  const bool tells_less =
      is_of_pool && device.free_from != FreeKnownFrom::kNothing && IsOfLimit(info, device);
  if (!tells_less) {
    device.free_from = FreeKnownFrom::kMemoryInfo;
    device.free = info.free_bytes;
    device.free_time_ns = accounts_.now_ns();
    device.reserved_at_free = device.reserved;
    if (is_of_pool && device.reserved > device.allocated) {
      device.free -= std::min(device.free, device.reserved - device.allocated);
    }
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
