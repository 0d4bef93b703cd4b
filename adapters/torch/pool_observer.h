// PoolObserver receives notifications from the pool about changes that no call of the adapter
// caused.
//
// Ownership: stores pointers that live as long as the process. Threads: called under the pool's
// locks, so it is short and never calls the pool. Errors: none. Units: bytes.
#ifndef VRAMSTOW_ADAPTERS_TORCH_POOL_OBSERVER_H_
#define VRAMSTOW_ADAPTERS_TORCH_POOL_OBSERVER_H_

#include "adapters/torch/device.h"
#include "adapters/torch/history.h"

namespace vramstow::torch_adapter {

class PoolObserver {
 public:
  PoolObserver(Devices* devices, History* history) : devices_(devices), history_(history) {}

  // Called when the pool has mapped a range of memory, or is about to unmap it.
  void OnMapping(int device, uint64_t address, uint64_t size, bool mapped);
  // Called when other streams no longer use a block that was freed before.
  void OnFreeCompleted(int device, uint64_t address, uint64_t size, uint64_t requested);

 private:
  Devices* const devices_;
  History* const history_;
};

}  // namespace vramstow::torch_adapter

#endif  // VRAMSTOW_ADAPTERS_TORCH_POOL_OBSERVER_H_
