#include "tools/replay/bfc.h"

#include <algorithm>

#include "base/rounding.h"

namespace vramstow {
namespace {

constexpr uint64_t kUnit = 256;
constexpr uint64_t kMaxWaste = 128 * kMiB;

}  // namespace

bool BfcModel::Extend(uint64_t size) {
  bool doubled = false;
  while (size > next_region_) {
    next_region_ *= 2;
    doubled = true;
  }
  const uint64_t left =
      device_->capacity() == 0
          ? ~uint64_t{0}
          : device_->capacity() - std::min(device_->capacity(), device_->reserved());
  uint64_t bytes = std::min(next_region_, left / kUnit * kUnit);
  if (bytes < size) return false;
  uint64_t address = device_->Allocate(bytes, 0);
  while (address == 0) {
    // Each further attempt requests a tenth less than the attempt before it.
    bytes = bytes / 10 * 9 / kUnit * kUnit;
    if (bytes < size) return false;
    address = device_->Allocate(bytes, 0);
  }
  if (!doubled) next_region_ *= 2;
  edges_.insert(address);
  edges_.insert(address + bytes);
  free_.Add(address, bytes, &edges_);
  return true;
}

bool BfcModel::Allocate(const ModelRequest& request) {
  const uint64_t size = RoundUp(std::max<uint64_t>(request.bytes, 1), kUnit);
  auto run = free_.BestFit(size);
  if (!run) {
    if (!Extend(size)) return false;
    run = free_.BestFit(size);
  }
  const bool split = run->size >= 2 * size || run->size - size >= kMaxWaste;
  const uint64_t taken = split ? size : run->size;
  free_.Take(*run, taken);
  live_.Put(request.block, {run->address, taken, 0});
  return true;
}

void BfcModel::Free(uint32_t number) {
  const PlacedBlock block = live_.Take(number);
  free_.Add(block.address, block.size, &edges_);
}

}  // namespace vramstow
