#include "adapters/torch/pool_observer.h"

namespace vramstow::torch_adapter {

void PoolObserver::OnMapping(int device, uint64_t address, uint64_t size, bool mapped) {
  if (!history_->on()) return;
  history_->Record(mapped ? TraceEntry::SEGMENT_MAP : TraceEntry::SEGMENT_UNMAP,
                   {static_cast<DeviceIndex>(device), address, size},
                   History::MappingScope::Current());
}

void PoolObserver::OnFreeCompleted(int device, uint64_t address, uint64_t size,
                                   uint64_t requested) {
  if (device < 0 || device >= Devices::kMax) return;
  (*devices_)[device].counters.Completed(size, requested);
  if (!history_->on()) return;
  history_->Record(TraceEntry::FREE_COMPLETED,
                   {static_cast<DeviceIndex>(device), address, requested}, nullptr);
}

}  // namespace vramstow::torch_adapter
