// PrivatePools implements PyTorch's functions for private pools, of graphs and of MemPool.
//
// Idea: PoolRegistry counts the users of a private pool. This class has vramstow's pool retain the
// memory of that private pool. If a private pool uses an allocator of the application, this class
// hands it over to PyTorch's own allocator.
//
// Ownership: stores pointers that live as long as the process. Threads: any. Errors: PyTorch's
// exceptions. Units: users.
#ifndef VRAMSTOW_ADAPTERS_TORCH_PRIVATE_POOLS_H_
#define VRAMSTOW_ADAPTERS_TORCH_PRIVATE_POOLS_H_

#include <memory>

#include "adapters/torch/blocks.h"
#include "adapters/torch/native.h"

namespace vramstow::torch_adapter {

class PrivatePools {
 public:
  PrivatePools(const vramstow_framework* table, Native native, Blocks* blocks)
      : table_(table), native_(native), blocks_(blocks) {}

  // Adds a user. If `allocator` is not null, PyTorch's own allocator serves the pool.
  void AddUser(Device* device, MempoolId_t id, std::shared_ptr<CUDAAllocator> allocator);
  void Release(Device* device, MempoolId_t id);
  // From now on allocations of the streams that the filter accepts come from this pool.
  void BeginAllocating(Device* device, MempoolId_t id, PoolRegistry::Filter filter);
  void EndAllocating(Device* device, MempoolId_t id);
  void SetUseOnOutOfMemory(Device* device, MempoolId_t id, bool use);
  void SetNoSplit(Device* device, MempoolId_t id);

 private:
  // Adds a user. Returns the pool's number.
  uint64_t Use(Device* device, MempoolId_t id, bool native);
  void HandToNative(Device* device, MempoolId_t id);

  const vramstow_framework* const table_;
  const Native native_;
  Blocks* const blocks_;
};

}  // namespace vramstow::torch_adapter

#endif  // VRAMSTOW_ADAPTERS_TORCH_PRIVATE_POOLS_H_
