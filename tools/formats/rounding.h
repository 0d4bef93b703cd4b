// BlockRounding: how PyTorch's caching allocator rounds a request up to a block.
//
// Idea: a snapshot's events tell what was requested; of blocks that are gone this is how their size
// is known. What is not known is slack: a block of the large pool may be bigger than this by up to
// the rest that the allocator did not find worth splitting off.
//
// Ownership: a value. Threads: const calls are free. Errors: none. Units: bytes.
// Source: PyTorch's documentation of PYTORCH_CUDA_ALLOC_CONF (roundup_power2_divisions) and the
// allocator's rounding to multiples of 512 bytes.
#ifndef VRAMSTOW_TOOLS_FORMATS_ROUNDING_H_
#define VRAMSTOW_TOOLS_FORMATS_ROUNDING_H_

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
  static constexpr int kClasses = 16;  // up to 1 MiB … 2 MiB, … 4 MiB, … and over 32 GiB

  std::array<uint64_t, kClasses> divisions_ = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_ROUNDING_H_
