#include "adapters/torch/memory_fraction.h"

#include <algorithm>

namespace vramstow::torch_adapter {

double MemoryFraction::Get(Device* device) const {
  return device->has_fraction ? device->fraction.load() : native_.MemoryFraction(device->index);
}

void MemoryFraction::Set(double fraction, Device* device) {
  TORCH_CHECK(0 <= fraction && fraction <= 1, "invalid fraction:", fraction,
              ". Please set within [0, 1].");
  device->fraction = fraction;
  device->has_fraction = true;
  if (device->handle >= 0) LimitPool(device);
  native_->setMemoryFraction(fraction, device->index);
}

void MemoryFraction::Adopt(Device* device) {
  if (!device->has_fraction) {
    device->fraction = native_.MemoryFraction(device->index);
    device->has_fraction = device->fraction < 1;
  }
  if (device->has_fraction) LimitPool(device);
}

void MemoryFraction::LimitPool(Device* device) {
  vramstow_framework_stats stats;
  const int handle = device->handle;
  if (table_->stats(handle, &stats) != VRAMSTOW_OK) return;
  const double fraction = device->fraction;
  const auto bytes = static_cast<uint64_t>(fraction * static_cast<double>(stats.total_bytes));
  const uint64_t native = NativeReserved(*device);
  // A limit of 0 would mean that there is no limit, so 1 byte stands for no memory at all.
  const uint64_t rest = bytes > native ? bytes - native : 1;
  table_->set_limit(handle, fraction >= 1 ? 0 : rest);
}

void MemoryFraction::LimitNative(Device* device) {
  vramstow_framework_stats stats;
  if (table_->stats(device->handle, &stats) != VRAMSTOW_OK || stats.total_bytes == 0) return;
  const auto total = static_cast<double>(stats.total_bytes);
  const auto ours = static_cast<double>(stats.mapped_small + stats.mapped_large);
  native_->setMemoryFraction(std::clamp(device->fraction - ours / total, 0.0, 1.0), device->index);
}

uint64_t MemoryFraction::NativeReserved(const Device& device) const {
  if (!device.native_used) return 0;
  const int64_t bytes = native_->getDeviceStats(device.index).reserved_bytes[0].current;
  return bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
}

}  // namespace vramstow::torch_adapter
