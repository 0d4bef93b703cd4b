// PlacedBlocks: the addresses that a model gave to blocks, indexed by the number of the block.
//
// Ownership: stores numbers only. Threads: used by one thread at a time. Errors: none. Units:
// bytes.
#ifndef VRAMSTOW_TOOLS_REPLAY_PLACED_BLOCKS_H_
#define VRAMSTOW_TOOLS_REPLAY_PLACED_BLOCKS_H_

#include <cstdint>
#include <vector>

namespace vramstow {

struct PlacedBlock {
  uint64_t address = 0;
  uint64_t size = 0;
  uint32_t stream = 0;
};

class PlacedBlocks {
 public:
  void Put(uint32_t number, const PlacedBlock& block) {
    if (blocks_.size() <= number) blocks_.resize(number + 1);
    blocks_[number] = block;
    bytes_ += block.size;
  }
  PlacedBlock Take(uint32_t number) {
    bytes_ -= blocks_[number].size;
    return blocks_[number];
  }
  uint64_t bytes() const { return bytes_; }

 private:
  std::vector<PlacedBlock> blocks_;
  uint64_t bytes_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_PLACED_BLOCKS_H_
