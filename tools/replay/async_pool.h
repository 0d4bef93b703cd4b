// AsyncPoolModel: models the driver's stream-ordered pool (cudaMallocAsync).
//
// Idea: the driver's algorithm is not published. The documentation says that memory which a stream
// has freed can be reused by this stream at once, and by other streams when that is known to be
// safe. This model assumes that other streams never reuse it. With a release threshold, memory is
// retained. Without one, unused memory is released at the next synchronisation; the model takes
// each flush in the recording for a synchronisation. It was observed that reserved memory grows by
// multiples of 32 MiB.
//
// Ownership: the caller owns the device. Threads: used by one thread at a time. Errors: Allocate
// returns false when out of memory, after all unused memory was released. Units: bytes. Source:
// CUDA programming guide, "Stream Ordered Memory Allocator".
#ifndef VRAMSTOW_TOOLS_REPLAY_ASYNC_POOL_H_
#define VRAMSTOW_TOOLS_REPLAY_ASYNC_POOL_H_

#include <map>
#include <set>

#include "tools/replay/device.h"
#include "tools/replay/free_ranges.h"
#include "tools/replay/model.h"
#include "tools/replay/placed_blocks.h"

namespace vramstow {

class AsyncPoolModel : public AllocatorModel {
 public:
  explicit AsyncPoolModel(ModelDevice* device) : device_(device) {}

  bool Allocate(const ModelRequest& request) override;
  void Free(uint32_t block) override;
  void Flush() override;
  uint64_t allocated() const override { return live_.bytes(); }

 private:
  ModelDevice* device_;
  std::map<uint32_t, FreeRanges> free_;   // by stream
  std::map<uint64_t, uint64_t> regions_;  // address → size
  std::set<uint64_t> edges_;              // where regions begin
  PlacedBlocks live_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_ASYNC_POOL_H_
