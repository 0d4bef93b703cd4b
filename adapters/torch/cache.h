// Cache releases the memory that the pool has cached, and reports how much memory could be
// allocated.
//
// Ownership: stores pointers that live as long as the process. Threads: any. Errors: PyTorch's
// exceptions. Units: bytes.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CACHE_H_
#define VRAMSTOW_ADAPTERS_TORCH_CACHE_H_

#include "adapters/torch/history.h"
#include "adapters/torch/memory_fraction.h"
#include "adapters/torch/native.h"
#include "adapters/torch/statistics.h"

namespace vramstow::torch_adapter {

class Cache {
 public:
  Cache(const vramstow_framework* table, Native native, Devices* devices, History* history,
        Statistics* statistics, MemoryFraction* fraction)
      : table_(table),
        native_(native),
        devices_(devices),
        history_(history),
        statistics_(statistics),
        fraction_(fraction) {}

  // Releases the cached memory of every device. `id` names a private pool whose memory may be
  // released, too.
  void Empty(MempoolId_t id);
  // Raises *largest to the size of the largest block that could be allocated now.
  void RaiseToLargest(DeviceIndex device, size_t* largest);

 private:
  const vramstow_framework* const table_;
  const Native native_;
  Devices* const devices_;
  History* const history_;
  Statistics* const statistics_;
  MemoryFraction* const fraction_;
};

}  // namespace vramstow::torch_adapter

#endif  // VRAMSTOW_ADAPTERS_TORCH_CACHE_H_
