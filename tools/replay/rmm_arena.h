// RmmArenaModel: models RMM's arena_memory_resource: an arena for each stream, over one global
// arena.
//
// Idea: requests over 256 KiB come from the global arena, first fit by address. Smaller ones come
// from the stream's arena, which takes superblocks of 256 KiB from the global one and returns them
// when they are empty. RMM allocates the global arena from the device at once, in the configured
// size; here its size is its highest used byte, which is the size that it should have been
// configured to.
//
// Ownership: the caller owns the device. Threads: used by one thread at a time. Errors: Allocate
// returns false when out of memory. Units: bytes. Source: RMM's documentation of the resource and
// its published headers.
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
  // Allocates from the global arena; returns 0 if the device is too small.
  uint64_t AllocateGlobal(uint64_t size);

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
