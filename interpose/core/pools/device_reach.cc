#include "interpose/core/pools/device_reach.h"

#include <algorithm>

#include "interpose/core/runtime/driver.h"

namespace vramstow {
namespace {

// Returns the number of devices that the driver names, or 0.
int CountDevices(const Driver& driver) {
  auto* const count = driver.cuDeviceGetCount();
  int devices = 0;
  if (count == nullptr || count(&devices) != CUDA_SUCCESS) return 0;
  return std::min(devices, DeviceReach::kMaxDevices);
}

bool IsNumber(int device) { return device >= 0 && device < DeviceReach::kMaxDevices; }

}  // namespace

bool DeviceReach::NoteUsed(int device) {
  if (!IsNumber(device)) return false;
  const uint64_t bit = uint64_t{1} << device;
  return (used_devices_.fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
}

uint64_t DeviceReach::UsedDevices(bool all) const {
  uint64_t devices = used_devices_.load(std::memory_order_relaxed);
  const int count = all ? CountDevices(driver_) : 0;
  for (int device = 0; device < count; ++device) devices |= uint64_t{1} << device;
  return devices;
}

bool DeviceReach::CanAccess(int by_device, int owner) const {
  auto* const ask = driver_.cuDeviceCanAccessPeer();
  int can = 0;
  return ask != nullptr && ask(&can, by_device, owner) == CUDA_SUCCESS && can != 0;
}

void DeviceReach::LookForApart(int device) {
  auto* const ask = driver_.cuDeviceCanAccessPeer();
  if (ask == nullptr || !IsNumber(device)) return;
  const int devices = CountDevices(driver_);
  for (int other = 0; other < devices; ++other) {
    int can = 0;
    if (other == device || ask(&can, device, other) != CUDA_SUCCESS || can != 0) continue;
    apart_[device].fetch_or(uint64_t{1} << other, std::memory_order_relaxed);
    apart_[other].fetch_or(uint64_t{1} << device, std::memory_order_relaxed);
    has_unreachable_peers_.store(true, std::memory_order_release);
  }
}

bool DeviceReach::CannotReach(int device, int other) const {
  if (!IsNumber(device) || !IsNumber(other)) return false;
  return (apart_[device].load(std::memory_order_relaxed) >> other & 1) != 0;
}

}  // namespace vramstow
