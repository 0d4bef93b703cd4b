#include "tools/replay/async_pool.h"

#include <vector>

#include "base/rounding.h"
#include "base/units.h"

namespace vramstow {
namespace {

constexpr uint64_t kAlignment = 512;
constexpr uint64_t kGrowth = 32 * kMiB;

}  // namespace

bool AsyncPoolModel::Allocate(const ModelRequest& request) {
  const uint64_t size = RoundUp(request.bytes, kAlignment);
  FreeRanges& own = free_[request.stream];
  auto run = own.BestFit(size);
  if (!run) {
    const uint64_t growth = RoundUp(size, kGrowth);
    uint64_t address = device_->Allocate(growth, request.stream);
    if (address == 0) {
      Flush();
      address = device_->Allocate(growth, request.stream);
    }
    if (address == 0) return false;
    regions_[address] = growth;
    edges_.insert(address);
    edges_.insert(address + growth);
    run = own.Add(address, growth, &edges_);
  }
  own.Take(*run, size);
  live_.Put(request.block, {run->address, size, request.stream});
  return true;
}

void AsyncPoolModel::Free(uint32_t number) {
  const PlacedBlock block = live_.Take(number);
  free_[block.stream].Add(block.address, block.size, &edges_);
}

// Models a wait for all streams: joins the free memory of all streams, and releases each region
// that is unused as a whole.
void AsyncPoolModel::Flush() {
  FreeRanges all;
  for (const auto& [stream, ranges] : free_) {
    for (const auto& [address, size] : ranges.runs()) all.Add(address, size, &edges_);
  }
  free_.clear();
  std::vector<FreeRanges::Range> whole;
  for (const auto& [address, size] : all.runs()) {
    const auto region = regions_.find(address);
    if (region != regions_.end() && region->second == size) whole.push_back({address, size});
  }
  for (const auto& range : whole) {
    all.Take(range, range.size);
    regions_.erase(range.address);
    device_->Free(range.address, range.size, 0);
  }
  edges_.clear();
  for (const auto& [address, size] : regions_) {
    edges_.insert(address);
    edges_.insert(address + size);
  }
  // The joined cache is stored under stream 0, which stands for the next stream that allocates.
  free_[0] = std::move(all);
}

}  // namespace vramstow
