#include "tracer/fold/fold_levels.h"

#include <algorithm>

namespace vramstow {
namespace {

void Raise(uint64_t* highest, uint64_t value) { *highest = std::max(*highest, value); }

}  // namespace

bool IsFoldedDeviceMemory(MemoryKind kind) {
  return kind == MemoryKind::kDevice || kind == MemoryKind::kDevicePitched ||
         kind == MemoryKind::kDeviceStream || kind == MemoryKind::kPhysical ||
         kind == MemoryKind::kArray || kind == MemoryKind::kMipmappedArray;
}

void FoldLevels::Begin() {
  allocated_ = requested_ = reserved_ = host_ = host_requested_ = registered_ = managed_ = 0;
  has_peak_ = false;
  peak_event_ = 0;
  peak_allocated_ = 0;
  peaks_ = made_peaks_ = 0;
  last_birth_ = {};
  samples_.Begin();
  for (FoldTally* tallies : {memories_, devices_}) {
    for (size_t i = 0; i < 256; ++i) tallies[i].now_device = tallies[i].now_other = 0;
  }
  static_assert(kMaxDevices == 256);
  for (size_t i = 0; i < kMaxNames; ++i) {
    libraries_[i].now_device = libraries_[i].now_other = 0;
    calls_[i].now_device = calls_[i].now_other = 0;
  }
}

void FoldLevels::Add(const FoldBlock& block, bool on_device) {
  for (FoldTally* tally : {&Library(block.library), &Call(block.call), &Memory(block.memory)}) {
    if (on_device) {
      tally->now_device += block.size;
      Raise(&tally->highest_device, tally->now_device);
    } else {
      tally->now_other += block.size;
      Raise(&tally->highest_other, tally->now_other);
    }
  }
}

void FoldLevels::Remove(const FoldBlock& block, bool on_device) {
  for (FoldTally* tally : {&Library(block.library), &Call(block.call), &Memory(block.memory)}) {
    (on_device ? tally->now_device : tally->now_other) -= block.size;
  }
}

void FoldLevels::Born(const FoldBlock& block, uint32_t event) {
  if (!IsFoldedDeviceMemory(block.memory)) return BornElsewhere(block);
  if (block.holds) return Reserved(block.device, block.size);
  FoldTally& device = Device(block.device);
  last_birth_ = {!block.is_pooled, has_peak_,       event,           peak_event_,
                 peaks_,           peak_allocated_, peak_requested_, device.highest_device};
  Add(block, true);
  samples_.Add(block.site, block.size);
  device.now_device += block.size;
  Raise(&device.highest_device, device.now_device);
  if (!block.is_pooled) Reserved(block.device, block.size);
  allocated_ += block.size;
  requested_ += block.requested;
  Raise(&peak_requested_, requested_);
  if (allocated_ <= peak_allocated_) return;
  peak_allocated_ = allocated_;
  peak_event_ = event;
  has_peak_ = true;
  peaks_ = ++made_peaks_;
}

void FoldLevels::Holds(FoldBlock* block) {
  if (last_birth_.is_known && last_birth_.event == block->birth) {
    Device(block->device).highest_device = last_birth_.device_highest;
    peak_requested_ = last_birth_.peak_requested;
    if (has_peak_ && peak_event_ == block->birth) {
      has_peak_ = last_birth_.had_peak;
      peak_event_ = last_birth_.peak_event;
      peak_allocated_ = last_birth_.peak_allocated;
      peaks_ = last_birth_.peaks;
    }
  }
  Died(*block);
  Reserved(block->device, block->size);
  block->holds = true;
}

void FoldLevels::Died(const FoldBlock& block) {
  if (!IsFoldedDeviceMemory(block.memory)) return DiedElsewhere(block);
  if (block.holds) return Unreserved(block.device, block.size);
  last_birth_.is_known = false;
  Remove(block, true);
  samples_.Remove(block.site, block.size);
  Device(block.device).now_device -= block.size;
  if (!block.is_pooled) Unreserved(block.device, block.size);
  allocated_ -= block.size;
  requested_ -= block.requested;
}

void FoldLevels::Reserved(int16_t device, uint64_t bytes) {
  FoldTally& level = Device(device);
  level.now_other += bytes;
  Raise(&level.highest_other, level.now_other);
  reserved_ += bytes;
  Raise(&peak_reserved_, reserved_);
}

void FoldLevels::Unreserved(int16_t device, uint64_t bytes) {
  Device(device).now_other -= bytes;
  reserved_ -= bytes;
}

void FoldLevels::BornElsewhere(const FoldBlock& block) {
  if (block.memory == MemoryKind::kHostPinned) {
    host_ += block.size;
    host_requested_ += block.requested;
    if (host_ > peak_host_) host_requested_at_peak_ = host_requested_;
    Raise(&peak_host_, host_);
  } else if (block.memory == MemoryKind::kHostRegistered) {
    registered_ += block.size;
    Raise(&peak_registered_, registered_);
  } else if (block.memory == MemoryKind::kManaged) {
    managed_ += block.size;
    Raise(&peak_managed_, managed_);
  } else {
    return;
  }
  Add(block, false);
}

void FoldLevels::DiedElsewhere(const FoldBlock& block) {
  if (block.memory == MemoryKind::kHostPinned) {
    host_ -= block.size;
    host_requested_ -= block.requested;
  } else if (block.memory == MemoryKind::kHostRegistered) {
    registered_ -= block.size;
  } else if (block.memory == MemoryKind::kManaged) {
    managed_ -= block.size;
  } else {
    return;
  }
  Remove(block, false);
}

SumPoint FoldLevels::State() const {
  return {.allocated_highest = allocated_,
          .reserved_highest = reserved_,
          .host_highest = host_,
          .managed_highest = managed_,
          .allocated_last = allocated_,
          .requested_last = requested_};
}

void FoldLevels::Note(uint64_t time_ns) {
  const SumPoint state = State();
  timeline_.Note(time_ns, before_, state);
  before_ = state;
}

void FoldLevels::FillTotals(SumTotals* totals) const {
  totals->peak_reserved = peak_reserved_;
  totals->peak_requested = peak_requested_;
  totals->peak_host = peak_host_;
  totals->host_requested_at_peak = host_requested_at_peak_;
  totals->peak_registered = peak_registered_;
  totals->peak_managed = peak_managed_;
  totals->point_shift = timeline_.shift();
}

}  // namespace vramstow
