// Snapshots lists all segments and blocks, as torch.cuda.memory_snapshot returns them.
//
// Idea: a range of mapped memory of one stream and one private pool is shown as an expandable
// segment. Settings, annotations and host memory come from PyTorch's own allocator.
//
// Ownership: stores pointers that live as long as the process; returns copies. Threads: any.
// Errors: none. Units: bytes.
#ifndef VRAMSTOW_ADAPTERS_TORCH_SNAPSHOTS_H_
#define VRAMSTOW_ADAPTERS_TORCH_SNAPSHOTS_H_

#include <vector>

#include "adapters/torch/device.h"
#include "adapters/torch/history.h"
#include "adapters/torch/native.h"

namespace vramstow::torch_adapter {

class Snapshots {
 public:
  Snapshots(const vramstow_framework* table, Native native, Devices* devices, History* history)
      : table_(table), native_(native), devices_(devices), history_(history) {}

  // `id` {0, 0} means all pools.
  SnapshotInfo Take(MempoolId_t id, bool include_traces);

 private:
  void AddSegments(Device* device, bool all, uint64_t pool, std::vector<SegmentInfo>* segments);
  void AddBlock(const vramstow_framework_block& block, SegmentInfo* segment);
  void AddTraces(std::vector<std::vector<TraceEntry>> traces, SnapshotInfo* snapshot);

  const vramstow_framework* const table_;
  const Native native_;
  Devices* const devices_;
  History* const history_;
};

}  // namespace vramstow::torch_adapter

#endif  // VRAMSTOW_ADAPTERS_TORCH_SNAPSHOTS_H_
