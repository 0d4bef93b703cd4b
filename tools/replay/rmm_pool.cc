#include "tools/replay/rmm_pool.h"

#include <algorithm>

#include "base/rounding.h"

namespace vramstow {
namespace {

constexpr uint64_t kPoolAlignment = 256;

uint64_t Align(uint64_t bytes) { return RoundUp(bytes, kPoolAlignment); }

}  // namespace

RmmPoolModel::RmmPoolModel(ModelDevice* device, uint64_t initial_bytes) : device_(device) {
  const uint64_t bytes = Align(initial_bytes);
  if (bytes == 0) return;
  const uint64_t address = device_->Allocate(bytes, 0);
  if (address == 0) return;
  pool_bytes_ = bytes;
  edges_.insert(address);
  edges_.insert(address + bytes);
  free_[0].Add(address, bytes, &edges_);
}

bool RmmPoolModel::Grow(uint64_t size, FreeRanges* list) {
  uint64_t attempt = std::max(size, pool_bytes_);
  if (device_->capacity() != 0) {
    const uint64_t left = device_->capacity() - std::min(device_->capacity(), device_->reserved());
    if (size > left) return false;
    attempt = std::max(size, Align(left / 2));
  }
  while (true) {
    const uint64_t address = device_->Allocate(attempt, 0);
    if (address != 0) {
      pool_bytes_ += attempt;
      edges_.insert(address);
      edges_.insert(address + attempt);
      list->Add(address, attempt, &edges_);
      return true;
    }
    if (attempt == size) return false;
    attempt = std::max(size, Align(attempt / 2));
  }
}

bool RmmPoolModel::Allocate(const ModelRequest& request) {
  const uint64_t size = Align(std::max<uint64_t>(request.bytes, 1));
  FreeRanges& own = free_[request.stream];
  auto run = own.BestFit(size);
  for (auto other = free_.begin(); !run && other != free_.end(); ++other) {
    if (other->first == request.stream || !other->second.BestFit(size)) continue;
    for (const auto& [address, bytes] : other->second.runs()) own.Add(address, bytes, &edges_);
    other->second.Clear();
    run = own.BestFit(size);
  }
  if (!run) {
    if (!Grow(size, &own)) return false;
    run = own.BestFit(size);
  }
  own.Take(*run, size);
  live_.Put(request.block, {run->address, size, request.stream});
  return true;
}

void RmmPoolModel::Free(uint32_t number) {
  const PlacedBlock block = live_.Take(number);
  free_[block.stream].Add(block.address, block.size, &edges_);
}

}  // namespace vramstow
