// BfcModel: models the allocator of TensorFlow and JAX, "best-fit with coalescing" (with growth).
//
// Idea: sizes are multiples of 256. The smallest free chunk that is large enough is used; among
// equal ones, the one with the lowest address. It is split if the rest is at least as large as the
// request, or 128 MiB. Regions come from the device, each planned twice as large as the one before,
// and are never released. Streams do not matter, because only one of them computes.
//
// Ownership: the caller owns the device. Threads: used by one thread at a time. Errors: Allocate
// returns false when out of memory. Units: bytes. Source: TensorFlow's documentation of its GPU
// allocator ("BFC").
#ifndef VRAMSTOW_TOOLS_REPLAY_BFC_H_
#define VRAMSTOW_TOOLS_REPLAY_BFC_H_

#include <set>

#include "base/units.h"
#include "tools/replay/device.h"
#include "tools/replay/free_ranges.h"
#include "tools/replay/model.h"
#include "tools/replay/placed_blocks.h"

namespace vramstow {

class BfcModel : public AllocatorModel {
 public:
  explicit BfcModel(ModelDevice* device) : device_(device) {}

  bool Allocate(const ModelRequest& request) override;
  void Free(uint32_t block) override;
  uint64_t allocated() const override { return live_.bytes(); }

 private:
  bool Extend(uint64_t size);

  ModelDevice* device_;
  FreeRanges free_;
  std::set<uint64_t> edges_;  // of regions
  uint64_t next_region_ = 2 * kMiB;
  PlacedBlocks live_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_BFC_H_
