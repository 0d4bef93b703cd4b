// Checkpoints stores the live blocks of a private pool at one time, and restores that state.
//
// Idea: torch.compile's graph trees return to the state in which a pool was before a graph ran.
// Taking a checkpoint lists the live blocks. Restoring a checkpoint frees all live blocks that are
// not in the list and allocates the listed blocks at their addresses.
//
// Ownership: PyTorch owns a checkpoint. Threads: any. Errors: PyTorch's exceptions. Units: bytes.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CHECKPOINTS_H_
#define VRAMSTOW_ADAPTERS_TORCH_CHECKPOINTS_H_

#include <memory>
#include <unordered_set>
#include <vector>

#include "adapters/torch/blocks.h"
#include "adapters/torch/native.h"

namespace vramstow::torch_adapter {

class Checkpoints {
 public:
  Checkpoints(const vramstow_framework* table, Native native, Blocks* blocks)
      : table_(table), native_(native), blocks_(blocks) {}

  // True if exactly these blocks of the pool are live.
  bool AreLive(Device* device, MempoolId_t id, const std::unordered_set<void*>& expected);
  std::shared_ptr<caching::AllocatorState> Take(Device* device, MempoolId_t id);
  caching::CheckpointDelta Restore(Device* device, std::shared_ptr<caching::AllocatorState> state);

 private:
  std::vector<vramstow_framework_block> LiveBlocks(int handle, uint64_t pool) const;

  const vramstow_framework* const table_;
  const Native native_;
  Blocks* const blocks_;
};

}  // namespace vramstow::torch_adapter

#endif  // VRAMSTOW_ADAPTERS_TORCH_CHECKPOINTS_H_
