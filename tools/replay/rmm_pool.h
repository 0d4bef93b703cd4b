// RmmPoolModel: models RMM's pool_memory_resource: best fit with coalescing, and a free list for
// each stream.
//
// Idea: when the pool grows, it doubles its size. If the device's size is known, it grows by half
// of the remaining memory instead; it always grows by at least the request. It never releases
// memory. A stream without a fitting block takes over the free list of the first other stream that
// has one, which costs a wait for that stream.
//
// Ownership: the caller owns the device. Threads: used by one thread at a time. Errors: Allocate
// returns false when out of memory. Units: bytes. Source: RMM's documentation of the resource and
// its published headers.
#ifndef VRAMSTOW_TOOLS_REPLAY_RMM_POOL_H_
#define VRAMSTOW_TOOLS_REPLAY_RMM_POOL_H_

#include <map>
#include <set>

#include "tools/replay/device.h"
#include "tools/replay/free_ranges.h"
#include "tools/replay/model.h"
#include "tools/replay/placed_blocks.h"

namespace vramstow {

class RmmPoolModel : public AllocatorModel {
 public:
  // Allocates `initial_bytes` from the device at the beginning.
  RmmPoolModel(ModelDevice* device, uint64_t initial_bytes);

  bool Allocate(const ModelRequest& request) override;
  void Free(uint32_t block) override;
  uint64_t allocated() const override { return live_.bytes(); }

 private:
  bool Grow(uint64_t size, FreeRanges* list);

  ModelDevice* device_;
  std::map<uint32_t, FreeRanges> free_;  // by stream
  std::set<uint64_t> edges_;             // the beginnings of allocations from the device
  uint64_t pool_bytes_ = 0;
  PlacedBlocks live_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_RMM_POOL_H_
