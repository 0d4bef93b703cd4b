#include "adapters/torch/private_pools.h"

#include <utility>

namespace vramstow::torch_adapter {

uint64_t PrivatePools::Use(Device* device, MempoolId_t id, bool native) {
  const bool stays_native = native || !blocks_->IsServed(device) || device->pools.IsNative(id);
  uint64_t number = 0;
  const bool keep = device->pools.Use(id, stays_native, &number);
  if (keep) table_->keep(device->handle, number, 1);
  return number;
}

void PrivatePools::AddUser(Device* device, MempoolId_t id,
                           std::shared_ptr<CUDAAllocator> allocator) {
  if (Use(device, id, allocator != nullptr) == PoolRegistry::kNative) {
    native_.AddPoolUser(device->index, id, std::move(allocator));
  }
}

void PrivatePools::Release(Device* device, MempoolId_t id) {
  const bool native = device->pools.IsNative(id);
  uint64_t number = 0;
  const bool last = device->pools.Release(id, &number);
  if (native) return native_->releasePool(device->index, id);
  // No graph can use the pool any more, so its memory may serve other requests.
  if (last) table_->keep(device->handle, number, 0);
}

// Hands over to PyTorch's own allocator a private pool that was made before its allocator was
// known.
void PrivatePools::HandToNative(Device* device, MempoolId_t id) {
  uint64_t number = 0;
  const int users = device->pools.HandToNative(id, &number);
  for (int i = 0; i < users; ++i) native_.AddPoolUser(device->index, id, nullptr);
  if (users > 0) table_->keep(device->handle, number, 0);
}

void PrivatePools::BeginAllocating(Device* device, MempoolId_t id, PoolRegistry::Filter filter) {
  const bool has_allocator = Native::IsActiveWithAllocator(id);
  if (has_allocator) HandToNative(device, id);
  if (Use(device, id, has_allocator) == PoolRegistry::kNative) {
    native_->beginAllocateToPool(device->index, id, filter);
  }
  device->pools.Begin(id, std::move(filter));
}

void PrivatePools::EndAllocating(Device* device, MempoolId_t id) {
  if (device->pools.IsNative(id)) native_->endAllocateToPool(device->index, id);
  device->pools.End(id);
}

void PrivatePools::SetUseOnOutOfMemory(Device* device, MempoolId_t id, bool use) {
  device->pools.SetUseOnOutOfMemory(id, use);
  if (device->pools.IsNative(id)) native_.SetUseOnOutOfMemory(device->index, id, use);
}

// The pool splits blocks exactly and wastes no rest, so this setting has no effect on private pools
// that it serves.
void PrivatePools::SetNoSplit(Device* device, MempoolId_t id) {
  if (device->pools.IsNative(id)) native_.SetNoSplit(device->index, id);
}

}  // namespace vramstow::torch_adapter
