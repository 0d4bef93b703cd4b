// Private pools, and their state at a checkpoint (what torch.compile's graph trees go back to).
#include "adapters/torch/adapter.h"

namespace vramstow::torch_adapter {
namespace {

// The live blocks of one private pool at one time.
struct Checkpoint final : caching::AllocatorState {
  MempoolId_t id{0, 0};
  std::vector<vramstow_framework_block> blocks;
};

struct Listing {
  uint64_t pool;
  std::vector<vramstow_framework_block> blocks;
};

std::vector<vramstow_framework_block> LiveBlocks(const vramstow_framework* table, int handle,
                                                 uint64_t pool) {
  Listing listing{pool, {}};
  if (pool == PrivatePools::kCommon || handle < 0) return {};
  table->visit(
      handle,
      [](void* context, const vramstow_framework_block* block) {
        auto* list = static_cast<Listing*>(context);
        if (block->pool != list->pool || block->state != VRAMSTOW_BLOCK_LIVE) return;
        list->blocks.push_back(*block);
      },
      &listing);
  return std::move(listing.blocks);
}

}  // namespace

void Adapter::createOrIncrefPool(DeviceIndex index, MempoolId_t id,
                                 std::shared_ptr<CUDAAllocator> allocator) {
  Device& device = At(index);
  const bool native = allocator != nullptr || !IsServed(&device) || device.pools.IsNative(id);
  uint64_t number = 0;
  const bool keep = device.pools.Use(id, native, &number);
  if (number == PrivatePools::kNative) {
    return native_->createOrIncrefPool(index, id, std::move(allocator));
  }
  if (keep) table_->keep(device.handle, number, 1);
}

void Adapter::ensureExistsAndIncrefPool(DeviceIndex device, MempoolId_t id) {
  createOrIncrefPool(device, id, std::shared_ptr<CUDAAllocator>());
}

void Adapter::beginAllocateToPool(DeviceIndex index, MempoolId_t id,
                                  std::function<bool(cudaStream_t)> filter) {
  Device& device = At(index);
  const bool native = !IsServed(&device) || device.pools.IsNative(id);
  uint64_t number = 0;
  const bool keep = device.pools.Use(id, native, &number);
  if (number == PrivatePools::kNative) {
    native_->beginAllocateToPool(index, id, filter);
  } else if (keep) {
    table_->keep(device.handle, number, 1);
  }
  device.pools.Begin(id, std::move(filter));
}

void Adapter::endAllocateToPool(DeviceIndex index, MempoolId_t id) {
  Device& device = At(index);
  if (device.pools.IsNative(id)) native_->endAllocateToPool(index, id);
  device.pools.End(id);
}

void Adapter::releasePool(DeviceIndex index, MempoolId_t id) {
  Device& device = At(index);
  const bool native = device.pools.IsNative(id);
  uint64_t number = 0;
  const bool last = device.pools.Release(id, &number);
  if (native) return native_->releasePool(index, id);
  // Nothing is replayed any more: the memory may go elsewhere.
  if (last) table_->keep(device.handle, number, 0);
}

// The pool below sees captures by itself.
void Adapter::markCaptureBegin(DeviceIndex) {}
void Adapter::markCaptureEnd(DeviceIndex) {}

int Adapter::getPoolUseCount(DeviceIndex device, MempoolId_t id) {
  return At(device).pools.UseCount(id);
}

void Adapter::setUseOnOOM(DeviceIndex index, MempoolId_t id, bool use) {
  Device& device = At(index);
  device.pools.SetUseOnOutOfMemory(id, use);
  if (device.pools.IsNative(id)) native_->setUseOnOOM(index, id, use);
}
void Adapter::setUseOnOOM(DeviceIndex device, MempoolId_t id) { setUseOnOOM(device, id, true); }

// Blocks are cut to size here, and what is left is never lost.
void Adapter::setNoSplit(DeviceIndex index, MempoolId_t id) {
  if (At(index).pools.IsNative(id)) native_->setNoSplit(index, id);
}

bool Adapter::checkPoolLiveAllocations(DeviceIndex index, MempoolId_t id,
                                       const std::unordered_set<void*>& expected) {
  Device& device = At(index);
  const uint64_t pool = device.pools.NumberOf(id);
  TORCH_CHECK(pool != PrivatePools::kCommon, "Could not find pool of id");
  if (pool == PrivatePools::kNative) return native_->checkPoolLiveAllocations(index, id, expected);
  const auto blocks = LiveBlocks(table_, device.handle, pool);
  for (const vramstow_framework_block& block : blocks) {
    if (expected.count(reinterpret_cast<void*>(block.address)) == 0) return false;
  }
  return blocks.size() == expected.size();
}

std::shared_ptr<caching::AllocatorState> Adapter::getCheckpointState(DeviceIndex index,
                                                                     MempoolId_t id) {
  Device& device = At(index);
  const uint64_t pool = device.pools.NumberOf(id);
  TORCH_CHECK(pool != PrivatePools::kCommon, "Could not find pool of id");
  if (pool == PrivatePools::kNative) return native_->getCheckpointState(index, id);
  auto checkpoint = std::make_shared<Checkpoint>();
  checkpoint->id = id;
  checkpoint->blocks = LiveBlocks(table_, device.handle, pool);
  return checkpoint;
}

caching::CheckpointDelta Adapter::setCheckpointPoolState(
    DeviceIndex index, std::shared_ptr<caching::AllocatorState> state) {
  const auto checkpoint = std::dynamic_pointer_cast<Checkpoint>(state);
  if (checkpoint == nullptr) return native_->setCheckpointPoolState(index, std::move(state));
  Device& device = At(index);
  const uint64_t pool = device.pools.NumberOf(checkpoint->id);
  TORCH_CHECK(pool != PrivatePools::kCommon, "Could not find pool of id");
  caching::CheckpointDelta delta;
  for (const vramstow_framework_block& block : LiveBlocks(table_, device.handle, pool)) {
    auto* data = reinterpret_cast<void*>(block.address);
    raw_delete(data);
    delta.ptrs_freed.push_back(data);
  }
  const c10::Device where(c10::DeviceType::CUDA, index);
  for (const vramstow_framework_block& wanted : checkpoint->blocks) {
    vramstow_framework_block block;
    TORCH_CHECK(table_->allocate_at(device.handle, wanted.address, wanted.requested, wanted.stream,
                                    pool, &block) == VRAMSTOW_OK,
                "a block of the checkpoint cannot be had again");
    const Request request{&device, wanted.requested, reinterpret_cast<cudaStream_t>(wanted.stream),
                          pool};
    void* data = Born(request, block, history_.Gather(caching::RecordContext::STATE));
    delta.dataptrs_allocd.emplace_back(data, data, &Delete, where);
  }
  return delta;
}

}  // namespace vramstow::torch_adapter
