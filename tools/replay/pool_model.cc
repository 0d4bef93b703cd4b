#include "tools/replay/pool_model.h"

#include <algorithm>

namespace vramstow {

PoolModel::PoolModel(ModelDevice* device, uint64_t device_bytes, const PoolModelConfig& config)
    : tick_ns_(config.tick_ns), driver_(device, device_bytes), pool_(std::make_unique<Pool>()) {
  opened_ = pool_->Open(driver_.table(), config.pool) == PoolError::kOk;
}

PoolModel::~PoolModel() {
  if (opened_) pool_->Close(PoolEnd::kAlive);
}

bool PoolModel::Allocate(const ModelRequest& request) {
  driver_.Advance(tick_ns_);
  Block block{};
  // The driver numbers streams from 0, the default stream.
  const BlockRequest wanted{std::max<uint64_t>(request.bytes, 1), request.stream, request.pool,
                            Layer::kFramework};
  if (!opened_ || pool_->Allocate(wanted, &block) != PoolError::kOk) return false;
  if (addresses_.size() <= request.block) addresses_.resize(request.block + 1);
  addresses_[request.block] = block.address;
  return true;
}

void PoolModel::Free(uint32_t block) {
  driver_.Advance(tick_ns_);
  pool_->Free(addresses_[block]);
}

void PoolModel::Flush() { pool_->Trim(TrimRequest()); }

uint64_t PoolModel::allocated() const { return pool_->Stats().allocated_bytes; }

}  // namespace vramstow
