// BfcModel: a best-fit allocator with coalescing, as TensorFlow and JAX have it (with growth).
//
// Idea: sizes are multiples of 256; the smallest free chunk that fits is taken, the lowest of equal
// ones, and split where the rest is at least as large again, or 128 MiB; regions come from the
// device, each twice as large as the one before it was meant to be, and never go back. Streams do
// not matter: there is one for computing.
//
// Ownership: the device is the caller's. Threads: one at a time. Errors: false: out of memory.
// Units: bytes. Source: TensorFlow's documentation of its GPU allocator ("BFC").
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
