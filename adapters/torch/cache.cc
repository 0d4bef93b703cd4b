#include "adapters/torch/cache.h"

namespace vramstow::torch_adapter {

void Cache::Empty(MempoolId_t id) {
  for (int i = 0; i < devices_->count(); ++i) {
    Device& device = (*devices_)[i];
    const int handle = device.handle;
    if (handle < 0) continue;
    uint64_t released = 0;
    const uint64_t number = device.pools.NumberOf(id);
    const bool is_unused = number != PoolRegistry::kCommon && number != PoolRegistry::kNative &&
                           device.pools.UseCount(id) == 0;
    if (is_unused) table_->keep(handle, number, 0);
    const History::MappingScope mapping(history_->Gather(caching::RecordContext::ALL));
    if (table_->trim(handle, 1, &released) == VRAMSTOW_OK) ++device.synchronizations;
    statistics_->UpdateReserved(&device);
  }
  native_.EmptyCache(id);
  for (int i = 0; i < devices_->count(); ++i) {
    Device& device = (*devices_)[i];
    if (device.has_fraction && device.native_used && device.handle >= 0) {
      fraction_->LimitPool(&device);
    }
  }
}

// The pool can combine free chunks in any way, so all free memory could become one block.
void Cache::RaiseToLargest(DeviceIndex index, size_t* largest) {
  const c10::cuda::CUDAGuard guard(index);
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  C10_CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  if (*largest < free_bytes) *largest = free_bytes;
}

}  // namespace vramstow::torch_adapter
