// RmmArenaModel: RMM's arena_memory_resource: an arena for each stream, over one global arena.
//
// Idea: requests over 256 KiB come from the global arena, first fit by address; smaller ones from
// the stream's arena, which takes superblocks of 256 KiB from the global one and gives them back
// when they are empty. RMM takes the global arena from the device at once, as large as it was told
// to; here it is as large as its highest byte in use: what it would have had to be told.
//
// Ownership: the device is the caller's. Threads: one at a time. Errors: false: out of memory.
// Units: bytes. Source: RMM's documentation of the resource and its published headers.
#ifndef VRAMSTOW_TOOLS_REPLAY_RMM_ARENA_H_
#define VRAMSTOW_TOOLS_REPLAY_RMM_ARENA_H_

#include <map>

#include "tools/replay/device.h"
#include "tools/replay/free_ranges.h"
#include "tools/replay/model.h"
#include "tools/replay/placed_blocks.h"

namespace vramstow {

class RmmArenaModel : public AllocatorModel {
 public:
  explicit RmmArenaModel(ModelDevice* device);

  bool Allocate(const ModelRequest& request) override;
  void Free(uint32_t block) override;
  uint64_t allocated() const override { return live_.bytes(); }

 private:
  // From the global arena; 0 where the device is too small.
  uint64_t TakeGlobal(uint64_t size);

  ModelDevice* device_;
  FreeRanges global_;
  uint64_t base_ = 0;
  uint64_t reach_ = 0;                        // bytes from the base on that were ever in use
  std::map<uint32_t, FreeRanges> free_;       // by stream
  std::map<uint64_t, uint64_t> superblocks_;  // address → size
  PlacedBlocks live_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_RMM_ARENA_H_
