#include "tools/replay/offload_model.h"

#include <algorithm>
#include <limits>

#include "base/units.h"

namespace vramstow {
namespace {

// The interval at which evicted pages may be restored while other pages are evicted, and the
// largest number of bytes that are restored each time. A real process uses the same values.
constexpr uint64_t kMaintainNs = 50'000'000;
constexpr uint64_t kMaxBack = 256 * kMiB;
// The number of submissions that share a clock value.
constexpr int kSubmissions = 16;

PoolModelConfig ConfigFor(Offloader* offloader) {
  PoolModelConfig config;
  config.pool.reclaim_callback = {Offloader::Reclaim, offloader};
  // The recorded uses of blocks determine the time, so a request itself takes only 1 µs.
  config.tick_ns = 1'000;
  return config;
}

}  // namespace

OffloadModel::OffloadModel(ModelDevice* device, uint64_t device_bytes, OffloadModelChoice choice)
    : pool_(device, device_bytes, ConfigFor(&offloader_)) {
  if (!pool_.opened()) return;
  OffloadConfig config;
  config.host_bytes = std::numeric_limits<uint64_t>::max() / 2;
  config.policy = choice ? MakeOffloadPolicy(*choice) : OffloadPolicy{RankForeseen, this};
  offloader_.Open(pool_.pool()->pages(), &gate_, config);
}

OffloadModel::~OffloadModel() {
  if (pool_.opened()) offloader_.Close(true);
}

bool OffloadModel::Allocate(const ModelRequest& request) {
  if (!pool_.Allocate(request)) return false;
  if (blocks_.size() <= request.block) blocks_.resize(request.block + 1);
  blocks_[request.block] = {request.bytes, request.next_touch};
  at_[pool_.AddressOf(request.block)] = request.block;
  return true;
}

void OffloadModel::Free(uint32_t block) {
  at_.erase(pool_.AddressOf(block));
  pool_.Free(block);
}

void OffloadModel::Touch(const ModelTouch& touch) {
  ModelDriver* driver = pool_.driver();
  if (touch.when_ns > driver->now_ns()) driver->Advance(touch.when_ns - driver->now_ns());
  if (touch.clock != clock_) {
    for (int i = 0; i < kSubmissions; ++i) offloader_.Tick();
    clock_ = touch.clock;
  }
  Placed& block = blocks_[touch.block];
  const uint64_t address = pool_.AddressOf(touch.block);
  const uint64_t away = pool_.pool()->pages()->BytesOnHost(address, block.bytes);
  traffic_.read_bytes += away;
  traffic_.reads += away != 0;
  ++traffic_.touches;
  block.next_touch = touch.next;
  offloader_.Touch(address);
  if (driver->now_ns() - maintained_ns_ < kMaintainNs) return;
  maintained_ns_ = driver->now_ns();
  if (offloader_.tracks_touches()) offloader_.BringBack(kMaxBack);
}

// Ranks pages by their next use. The page whose next use is furthest in the future is evicted
// first.
uint64_t OffloadModel::RankForeseen(const void* self, const PageUse& use) {
  const auto* model = static_cast<const OffloadModel*>(self);
  const auto block = model->at_.find(use.block_address);
  return block == model->at_.end() ? 0 : ~model->blocks_[block->second].next_touch;
}

const OffloadTraffic* OffloadModel::traffic() {
  const OffloadStats stats = offloader_.Stats();
  traffic_.out_bytes = stats.out_bytes;
  traffic_.in_bytes = stats.in_bytes;
  traffic_.gate_ns = stats.gate_ns;
  return &traffic_;
}

}  // namespace vramstow
