// AsyncPoolModel: the driver's stream-ordered pool (cudaMallocAsync).
//
// Idea: the driver's own ways are not published. Taken from the documentation: memory freed on a
// stream is used again by it at once, and by other streams when that is known to be safe, of which
// nothing is assumed here; with a release threshold memory stays, without one what is not used goes
// back at the next synchronisation, for which a flush of the recording stands. Taken from
// observation of others: what is reserved grows by multiples of 32 MiB.
//
// Ownership: the device is the caller's. Threads: one at a time. Errors: false: out of memory,
// after all that is not used was given back. Units: bytes. Source: CUDA programming guide, "Stream
// Ordered Memory Allocator".
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
