// AllocatorModel: what one allocator would have done with the requests of a recorded run.
//
// Idea: a model keeps the allocator's books, without memory behind them. What it asks of the device
// goes through a ModelDevice, which counts, limits and logs.
//
// Ownership: the device outlives the model. Threads: one at a time. Errors: Allocate gives false:
// out of memory, and nothing changed but what the allocator gave back while it tried. Units: bytes.
#ifndef VRAMSTOW_TOOLS_REPLAY_MODEL_H_
#define VRAMSTOW_TOOLS_REPLAY_MODEL_H_

#include <cstdint>

namespace vramstow {

// What is asked for. Blocks, streams and pools have small numbers of their own.
struct ModelRequest {
  uint32_t block = 0;
  uint32_t stream = 0;
  uint32_t pool = 0;  // 0: the common one; others are the framework's private pools
  uint64_t bytes = 0;
};

class AllocatorModel {
 public:
  virtual ~AllocatorModel() = default;

  // The block's number is not live.
  virtual bool Allocate(const ModelRequest& request) = 0;
  // The block is live.
  virtual void Free(uint32_t block) = 0;
  // The application asked for its cache to be given back (torch.cuda.empty_cache()).
  virtual void Flush() {}
  // No request will name this pool again.
  virtual void PoolEnds(uint32_t /*pool*/) {}

  // Bytes in live blocks after this allocator's rounding.
  virtual uint64_t allocated() const = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_MODEL_H_
