// BlockRounding computes the size of a block from the requested size, which PyTorch's caching
// allocator rounds up.
//
// Idea: a snapshot's events have requested sizes; the sizes of blocks that no longer exist are
// computed from them. A block of the large pool may still be bigger than this, by a remainder that
// the allocator did not split off.
//
// Ownership: a value. Threads: const calls are safe from any thread. Errors: none. Units: bytes.
// Source: PyTorch's documentation of PYTORCH_CUDA_ALLOC_CONF (roundup_power2_divisions) and the
// allocator's rounding to multiples of 512 bytes.
#ifndef VRAMSTOW_TOOLS_FORMATS_BLOCK_ROUNDING_H_
#define VRAMSTOW_TOOLS_FORMATS_BLOCK_ROUNDING_H_

#include <array>
#include <cstdint>
#include <vector>

#include "tools/formats/snapshot.h"

namespace vramstow {

class BlockRounding {
 public:
  explicit BlockRounding(const std::vector<AllocatorSetting>& settings);

  uint64_t Round(uint64_t requested) const;

 private:
  static constexpr int kClasses = 16;  // below 2 MiB, below 4 MiB, and so on to 32 GiB and above

  std::array<uint64_t, kClasses> divisions_ = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_BLOCK_ROUNDING_H_
