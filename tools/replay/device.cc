#include "tools/replay/device.h"

#include <algorithm>

#include "base/rounding.h"
#include "base/units.h"

namespace vramstow {
namespace {

constexpr uint64_t kPage = 2 * kMiB;
constexpr uint64_t kPlainBase = uint64_t{1} << 40;
constexpr uint64_t kPlainSize = uint64_t{1} << 46;
constexpr uint64_t kRangeBase = uint64_t{1} << 50;
constexpr uint64_t kRangeSize = uint64_t{1} << 56;

// The number of driver calls that one call of each kind stands for, and their assumed cost in
// nanoseconds.
constexpr std::array<uint64_t, kDeviceCalls> kDriverCalls = {1, 1, 3, 2, 1, 1};
constexpr std::array<uint64_t, kDeviceCalls> kCosts = {100'000, 300'000, 60'000,
                                                       40'000,  5'000,   5'000};

uint64_t WholePages(uint64_t bytes) { return RoundUp(bytes, kPage); }

}  // namespace

ModelDevice::ModelDevice(uint64_t capacity) : capacity_(capacity) {
  plain_.Add(kPlainBase, kPlainSize);
  ranges_.Add(kRangeBase, kRangeSize);
}

bool ModelDevice::Charge(uint64_t bytes) {
  if (capacity_ != 0 && (bytes > capacity_ || reserved_ > capacity_ - bytes)) return false;
  reserved_ += bytes;
  peak_reserved_ = std::max(peak_reserved_, reserved_);
  return true;
}

void ModelDevice::Note(DeviceCall call, uint64_t address, uint64_t bytes, uint64_t count,
                       uint32_t stream) {
  counts_[static_cast<size_t>(call)] += count;
  if (keeps_steps_) steps_.push_back({request_, address, bytes, call, stream});
}

uint64_t ModelDevice::Allocate(uint64_t bytes, uint32_t stream) {
  // A refused call counts like one that succeeds.
  if (!Charge(bytes)) {
    Count(DeviceCall::kAllocate);
    return 0;
  }
  const uint64_t address = plain_.Take(WholePages(bytes), kPage);
  if (address == 0) {
    Discharge(bytes);
    return 0;
  }
  Note(DeviceCall::kAllocate, address, bytes, 1, stream);
  return address;
}

void ModelDevice::Free(uint64_t address, uint64_t bytes, uint32_t stream) {
  plain_.Add(address, WholePages(bytes));
  reserved_ -= bytes;
  Note(DeviceCall::kFree, address, bytes, 1, stream);
}

uint64_t ModelDevice::Reserve(uint64_t bytes) {
  Count(DeviceCall::kReserve);
  return ranges_.Take(WholePages(bytes), kPage);
}

void ModelDevice::Unreserve(uint64_t address, uint64_t bytes) {
  Count(DeviceCall::kUnreserve);
  ranges_.Add(address, WholePages(bytes));
}

bool ModelDevice::Map(uint64_t address, uint64_t bytes, uint64_t handles, uint32_t stream) {
  if (!Charge(bytes)) {
    Count(DeviceCall::kMap);
    return false;
  }
  Note(DeviceCall::kMap, address, bytes, handles, stream);
  return true;
}

void ModelDevice::Unmap(uint64_t address, uint64_t bytes, uint64_t handles, uint32_t stream) {
  reserved_ -= bytes;
  Note(DeviceCall::kUnmap, address, bytes, handles, stream);
}

uint64_t ModelDevice::calls() const {
  uint64_t sum = 0;
  for (size_t i = 0; i < counts_.size(); ++i) sum += counts_[i] * kDriverCalls[i];
  return sum;
}

uint64_t ModelDevice::stall_ns() const {
  uint64_t sum = 0;
  for (size_t i = 0; i < counts_.size(); ++i) sum += counts_[i] * kCosts[i];
  return sum;
}

}  // namespace vramstow
