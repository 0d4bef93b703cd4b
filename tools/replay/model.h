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
  uint64_t next_touch = kNoTouch;  // the index of the request in which work uses it first

  static constexpr uint64_t kNoTouch = ~uint64_t{0};
};

// Work is submitted that uses a live block.
struct ModelTouch {
  uint32_t block = 0;
  uint32_t clock = 0;  // what has the same number came at about the same time
  uint64_t when_ns = 0;
  uint64_t next = ModelRequest::kNoTouch;  // the index of the request in which that happens next
};

// What a model moved between device and host, and read where it lay.
struct OffloadTraffic {
  uint64_t out_bytes = 0;
  uint64_t in_bytes = 0;
  uint64_t read_bytes = 0;  // of blocks on the host that work used, at each touch
  uint64_t reads = 0;       // such touches…
  uint64_t touches = 0;     // …of so many
  uint64_t gate_ns = 0;     // in which nothing could be submitted

  uint64_t bytes() const { return out_bytes + in_bytes + read_bytes; }
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
  virtual void Touch(const ModelTouch& /*touch*/) {}
  // Null: it moves nothing.
  virtual const OffloadTraffic* traffic() { return nullptr; }
  // No request will name this pool again.
  virtual void PoolEnds(uint32_t /*pool*/) {}

  // Bytes in live blocks after this allocator's rounding.
  virtual uint64_t allocated() const = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_MODEL_H_
