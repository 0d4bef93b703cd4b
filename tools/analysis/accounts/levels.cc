#include "tools/analysis/accounts/levels.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace vramstow {
namespace {

void Raise(uint64_t* highest, uint64_t value) { *highest = std::max(*highest, value); }

}  // namespace

bool IsDeviceMemory(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kDevice:
    case MemoryKind::kDevicePitched:
    case MemoryKind::kDeviceStream:
    case MemoryKind::kPhysical:
    case MemoryKind::kArray:
    case MemoryKind::kMipmappedArray:
      return true;
    default:
      return false;
  }
}

// Stores four times as many blocks as the facts list. A block that is recorded as dead may displace
// a smaller one from the list. If the block is revived later, it is removed from the list, but the
// displaced one is lost. Because of the additional room, the lost one is not among the largest
// unless very many blocks are revived.
Levels::Levels() : peak_blocks_(4 * kMaxBlocksAtPeak) {}

DeviceLevel& Levels::Device(int16_t device) {
  const size_t index = device < 0 ? 0 : static_cast<size_t>(device) + 1;
  if (index >= devices_.size()) devices_.resize(index + 1);
  devices_[index].seen = true;
  return devices_[index];
}

void Levels::CountAllocation(const LiveBlock& block) {
  for (Tally* tally : {&Library(block.library), &Call(block.call), &Kind(block.memory)}) {
    ++tally->allocations;
    tally->total_bytes += block.size;
  }
  if (!IsDeviceMemory(block.memory)) return;
  largest_block_ = std::max(largest_block_, block.size);
  SizeClass& size_class = sizes_[static_cast<size_t>(std::bit_width(block.size))];
  ++size_class.allocations;
  size_class.total_bytes += block.size;
}

void Levels::UncountAllocation(const LiveBlock& block) {
  for (Tally* tally : {&Library(block.library), &Call(block.call), &Kind(block.memory)}) {
    --tally->allocations;
    tally->total_bytes -= block.size;
  }
  SizeClass& size_class = sizes_[static_cast<size_t>(std::bit_width(block.size))];
  --size_class.allocations;
  size_class.total_bytes -= block.size;
}

void Levels::AddTally(const TraceSum& sum, Tally* tally) {
  tally->calls += sum.calls;
  tally->allocations += sum.allocations;
  tally->frees += sum.frees;
  tally->total_bytes += sum.bytes;
  tally->device.WasAsHighAs(sum.highest_device);
  tally->other.WasAsHighAs(sum.highest_other);
}

void Levels::AddDevice(const TraceSum& sum) {
  DeviceLevel& device = Device(static_cast<int16_t>(static_cast<int>(sum.number) - 1));
  Raise(&device.highest, sum.highest_device);
  Raise(&device.highest_reserved, sum.highest_other);
}

void Levels::AddSizeClass(const TraceSum& sum) {
  if (sum.number >= sizes_.size()) return;
  sizes_[sum.number].allocations += sum.allocations;
  sizes_[sum.number].total_bytes += sum.bytes;
}

void Levels::AddTotals(const SumTotals& totals) {
  Raise(&largest_block_, totals.largest_block);
  Raise(&peak_.reserved_bytes, totals.peak_reserved);
  Raise(&peak_.requested_bytes, totals.peak_requested);
  Raise(&peak_.registered_bytes, totals.peak_registered);
  Raise(&peak_.managed_bytes, totals.peak_managed);
  if (totals.peak_host > peak_.host_bytes) host_requested_at_peak_ = totals.host_requested_at_peak;
  Raise(&peak_.host_bytes, totals.peak_host);
}

void Levels::Born(const LiveBlock& block, const Moment& now) {
  if (block.imported || !IsDeviceMemory(block.memory)) {
    BornElsewhere(block);
  } else {
    BornOnDevice(block, now);
  }
}

// The birth of a framework's block need not be remembered, because no other blocks lie in it.
void Levels::RememberBirth(const LiveBlock& block) {
  last_birth_.event = block.tensor || block.pooled ? 0 : block.birth;
  if (last_birth_.event == 0) return;
  last_birth_.device_highest = Device(block.device).highest;
  last_birth_.epoch = epoch_;
  last_birth_.peak_event = peak_event_;
  last_birth_.peak = peak_;
}

void Levels::UndoPeak(const LiveBlock& block) {
  if (last_birth_.event != block.birth) return;
  Device(block.device).highest = last_birth_.device_highest;
  peak_.requested_bytes = last_birth_.peak.requested_bytes;
  if (peak_event_ != block.birth) return;
  // The levels have already saved their values at the previous peak, under its number.
  const uint64_t reserved = peak_.reserved_bytes;
  peak_ = last_birth_.peak;
  peak_.reserved_bytes = reserved;
  epoch_ = last_birth_.epoch;
  peak_event_ = last_birth_.peak_event;
  peak_blocks_ = std::move(last_birth_.peak_blocks);
}

void Levels::Holds(const LiveBlock& block) {
  UndoPeak(block);
  Died(block);
  Reserved(block.device, block.size);
}

void Levels::BornOnDevice(const LiveBlock& block, const Moment& now) {
  if (block.holds) return Reserved(block.device, block.size);
  RememberBirth(block);
  Library(block.library).device.Add(block.size, epoch_);
  Call(block.call).device.Add(block.size, epoch_);
  Kind(block.memory).device.Add(block.size, epoch_);
  sizes_[static_cast<size_t>(std::bit_width(block.size))].level.Add(block.size, epoch_);
  Site(block.site).Add(block.size, epoch_);
  DeviceLevel& device = Device(block.device);
  device.allocated += block.size;
  Raise(&device.highest, device.allocated);
  // Without a pool, each block counts as reserved memory of its own.
  if (!block.pooled) {
    Reserved(block.device, block.size);
    device.outside_pools += block.size;
  }
  allocated_ += block.size;
  requested_ += block.requested;
  Raise(&peak_.requested_bytes, requested_);
  if (allocated_ <= peak_.allocated_bytes) return;
  peak_.allocated_bytes = allocated_;
  peak_.reserved_then_bytes = reserved_;
  peak_.requested_then_bytes = requested_;
  peak_.time_ns = now.time_ns;
  peak_.sequence = now.sequence;
  peak_event_ = now.event;
  ++epoch_;
  if (last_birth_.event != 0) last_birth_.peak_blocks = peak_blocks_;
  peak_blocks_.Forget();
}

void Levels::Reserved(int16_t device, uint64_t bytes) {
  DeviceLevel& level = Device(device);
  level.reserved += bytes;
  Raise(&level.highest_reserved, level.reserved);
  reserved_ += bytes;
  Raise(&peak_.reserved_bytes, reserved_);
}

void Levels::Unreserved(int16_t device, uint64_t bytes) {
  Device(device).reserved -= bytes;
  reserved_ -= bytes;
}

void Levels::SetReserved(int16_t device, uint64_t bytes) {
  DeviceLevel& level = Device(device);
  reserved_ += bytes - level.reserved;
  level.reserved = bytes;
  Raise(&level.highest_reserved, level.reserved);
  Raise(&peak_.reserved_bytes, reserved_);
}

void Levels::BornElsewhere(const LiveBlock& block) {
  if (block.imported) {
    imported_ += block.size;
    Raise(&peak_.imported_bytes, imported_);
    return;
  }
  switch (block.memory) {
    case MemoryKind::kHostPinned:
    case MemoryKind::kHostPhysical:
      host_ += block.size;
      host_requested_ += block.requested;
      if (host_ > peak_.host_bytes) host_requested_at_peak_ = host_requested_;
      Raise(&peak_.host_bytes, host_);
      break;
    case MemoryKind::kHostRegistered:
      registered_ += block.size;
      Raise(&peak_.registered_bytes, registered_);
      break;
    case MemoryKind::kManaged:
      managed_ += block.size;
      Raise(&peak_.managed_bytes, managed_);
      break;
    default:
      return;  // a multicast object has a size, but no memory of its own
  }
  Library(block.library).other.Add(block.size, epoch_);
  Call(block.call).other.Add(block.size, epoch_);
  Kind(block.memory).other.Add(block.size, epoch_);
}

void Levels::Died(const LiveBlock& block) {
  if (block.imported || !IsDeviceMemory(block.memory)) {
    DiedElsewhere(block);
    return;
  }
  if (block.holds) return Unreserved(block.device, block.size);
  last_birth_.event = 0;
  Library(block.library).device.Remove(block.size, epoch_);
  Call(block.call).device.Remove(block.size, epoch_);
  Kind(block.memory).device.Remove(block.size, epoch_);
  sizes_[static_cast<size_t>(std::bit_width(block.size))].level.Remove(block.size, epoch_);
  Site(block.site).Remove(block.size, epoch_);
  DeviceLevel& device = Device(block.device);
  device.allocated -= block.size;
  if (!block.pooled) {
    device.outside_pools -= block.size;
    Unreserved(block.device, block.size);
  }
  allocated_ -= block.size;
  requested_ -= block.requested;
  if (block.birth <= peak_event_) peak_blocks_.Offer(block);
}

void Levels::DiedElsewhere(const LiveBlock& block) {
  if (block.imported) {
    imported_ -= block.size;
    return;
  }
  switch (block.memory) {
    case MemoryKind::kHostPinned:
    case MemoryKind::kHostPhysical:
      host_ -= block.size;
      host_requested_ -= block.requested;
      break;
    case MemoryKind::kHostRegistered:
      registered_ -= block.size;
      break;
    case MemoryKind::kManaged:
      managed_ -= block.size;
      break;
    default:
      return;
  }
  Library(block.library).other.Remove(block.size, epoch_);
  Call(block.call).other.Remove(block.size, epoch_);
  Kind(block.memory).other.Remove(block.size, epoch_);
}

LiveBlock Levels::Revived(const LiveBlock& block, uint64_t died, const Moment& now) {
  LiveBlock revived = block;
  if (peak_event_ > died) {
    revived.birth = now.event;
  } else if (block.birth <= peak_event_) {
    peak_blocks_.Withdraw(block.birth);
  }
  Born(revived, now);
  return revived;
}

}  // namespace vramstow
