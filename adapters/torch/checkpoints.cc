#include "adapters/torch/checkpoints.h"

#include <utility>

namespace vramstow::torch_adapter {
namespace {

struct Checkpoint final : caching::AllocatorState {
  MempoolId_t id{0, 0};
  std::vector<vramstow_framework_block> blocks;
};

struct Listing {
  uint64_t pool;
  std::vector<vramstow_framework_block> blocks;
};

uint64_t KnownPool(Device* device, MempoolId_t id) {
  const uint64_t pool = device->pools.NumberOf(id);
  TORCH_CHECK(pool != PoolRegistry::kCommon, "Could not find pool of id");
  return pool;
}

}  // namespace

std::vector<vramstow_framework_block> Checkpoints::LiveBlocks(int handle, uint64_t pool) const {
  Listing listing{pool, {}};
  if (pool == PoolRegistry::kCommon || handle < 0) return {};
  table_->visit(
      handle,
      [](void* context, const vramstow_framework_block* block) {
        auto* list = static_cast<Listing*>(context);
        if (block->pool != list->pool || block->state != VRAMSTOW_BLOCK_LIVE) return;
        list->blocks.push_back(*block);
      },
      &listing);
  return std::move(listing.blocks);
}

bool Checkpoints::AreLive(Device* device, MempoolId_t id,
                          const std::unordered_set<void*>& expected) {
  const uint64_t pool = KnownPool(device, id);
  if (pool == PoolRegistry::kNative) {
    return native_->checkPoolLiveAllocations(device->index, id, expected);
  }
  const auto blocks = LiveBlocks(device->handle, pool);
  for (const vramstow_framework_block& block : blocks) {
    if (expected.count(reinterpret_cast<void*>(block.address)) == 0) return false;
  }
  return blocks.size() == expected.size();
}

std::shared_ptr<caching::AllocatorState> Checkpoints::Take(Device* device, MempoolId_t id) {
  const uint64_t pool = KnownPool(device, id);
  if (pool == PoolRegistry::kNative) return native_->getCheckpointState(device->index, id);
  auto checkpoint = std::make_shared<Checkpoint>();
  checkpoint->id = id;
  checkpoint->blocks = LiveBlocks(device->handle, pool);
  return checkpoint;
}

caching::CheckpointDelta Checkpoints::Restore(Device* device,
                                              std::shared_ptr<caching::AllocatorState> state) {
  const auto checkpoint = std::dynamic_pointer_cast<Checkpoint>(state);
  if (checkpoint == nullptr) {
    return native_->setCheckpointPoolState(device->index, std::move(state));
  }
  const uint64_t pool = KnownPool(device, checkpoint->id);
  caching::CheckpointDelta delta;
  for (const vramstow_framework_block& block : LiveBlocks(device->handle, pool)) {
    auto* data = reinterpret_cast<void*>(block.address);
    blocks_->Free(data);
    delta.ptrs_freed.push_back(data);
  }
  for (const vramstow_framework_block& wanted : checkpoint->blocks) {
    const Request request{device, wanted.requested, reinterpret_cast<cudaStream_t>(wanted.stream),
                          pool};
    void* data = blocks_->AllocateAt(wanted.address, request);
    TORCH_CHECK(data != nullptr, "a block of the checkpoint cannot be had again");
    delta.dataptrs_allocd.push_back(blocks_->Own(data, device->index));
  }
  return delta;
}

}  // namespace vramstow::torch_adapter
