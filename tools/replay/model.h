// AllocatorModel: the interface of models. A model shows what an allocator would have done with the
// requests of a recorded run.
//
// Idea: a model has the allocator's bookkeeping, without memory behind it. Its calls of the device
// go to a ModelDevice, which counts, limits and logs them.
//
// Ownership: the device outlives the model. Threads: used by one thread at a time. Errors: Allocate
// returns false when out of memory. Then the only change is that memory which the allocator
// released in its attempts is gone. Units: bytes.
#ifndef VRAMSTOW_TOOLS_REPLAY_MODEL_H_
#define VRAMSTOW_TOOLS_REPLAY_MODEL_H_

#include <cstdint>

namespace vramstow {

// A request for a block. Blocks, streams and pools are numbered from 0.
struct ModelRequest {
  uint32_t block = 0;
  uint32_t stream = 0;
  // The number of the pool. 0 is the common pool, and other numbers are the framework's private
  // pools.
  uint32_t pool = 0;
  uint64_t bytes = 0;
  uint64_t next_touch = kNoTouch;  // the index of the request in which work uses it first

  static constexpr uint64_t kNoTouch = ~uint64_t{0};
};

// The use of a live block by work that the application submitted.
struct ModelTouch {
  uint32_t block = 0;
  uint32_t clock = 0;  // requests with the same number came at about the same time
  uint64_t when_ns = 0;
  uint64_t next = ModelRequest::kNoTouch;  // the index of the request in which that happens next
};

// How many bytes a model moved between device and host, and how many bytes work accessed in host
// memory.
struct OffloadTraffic {
  uint64_t out_bytes = 0;
  uint64_t in_bytes = 0;
  uint64_t read_bytes = 0;  // of blocks on the host that work used, at each touch
  uint64_t reads = 0;       // the number of such touches
  uint64_t touches = 0;     // the number of all touches
  uint64_t gate_ns = 0;     // the time in which nothing could be submitted

  uint64_t bytes() const { return out_bytes + in_bytes + read_bytes; }
};

class AllocatorModel {
 public:
  virtual ~AllocatorModel() = default;

  // Serves a request for a block whose number is not live. Returns false when out of memory.
  virtual bool Allocate(const ModelRequest& request) = 0;
  // Frees a live block.
  virtual void Free(uint32_t block) = 0;
  // Is called when the application asks to release the cache (torch.cuda.empty_cache()).
  virtual void Flush() {}
  virtual void Touch(const ModelTouch& /*touch*/) {}
  // Returns the traffic between device and host, or null if the model moves nothing.
  virtual const OffloadTraffic* traffic() { return nullptr; }
  // Is called when no further request will name this pool.
  virtual void PoolEnds(uint32_t /*pool*/) {}

  // Returns the bytes in live blocks, as this allocator rounds them.
  virtual uint64_t allocated() const = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_MODEL_H_
