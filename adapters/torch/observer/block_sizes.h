// BlockSizes: the size of each block that PyTorch's own allocator hands out.
//
// Idea: PyTorch tells how many bytes a tensor asked for, and not how many its block has. The block
// is larger where PyTorch rounds the request up, and where it keeps the rest of a free piece
// because the rest is too small to be of use. This class follows the pieces of every segment by
// PyTorch's rules, so that sizes add up to what torch.cuda.memory_allocated() says.
//
// Ownership: values. Threads: one at a time; PyTorch's lock of the device sees to that. Errors: for
// memory whose segment was not seen (expandable segments, segments from before) a block has the
// rounded size, which is right for expandable segments. Units: bytes.
#ifndef VRAMSTOW_ADAPTERS_TORCH_OBSERVER_BLOCK_SIZES_H_
#define VRAMSTOW_ADAPTERS_TORCH_OBSERVER_BLOCK_SIZES_H_

#include <cstdint>

#include "adapters/torch/observer/address_table.h"

namespace vramstow::torch_observer {

// PyTorch rounds a request up to this, and to a part of a power of two where the user asks for that
// (`divisions` > 1: roundup_power2_divisions).
uint64_t RoundSize(uint64_t requested, uint64_t divisions);

class BlockSizes {
 public:
  void AddSegment(uint64_t address, uint64_t size);
  void RemoveSegment(uint64_t address);

  // A block begins at `address`. Returns its size. A large piece is split only if the rounded size
  // is below `max_split`.
  uint64_t Allocate(uint64_t address, uint64_t rounded, uint64_t max_split);
  // The size of a live block; 0: not known.
  uint64_t SizeOf(uint64_t address);
  // No stream uses the block any more: it is free, and is merged with free pieces beside it.
  void Release(uint64_t address);

 private:
  struct Piece {
    uint64_t size;
    uint64_t segment;  // its address; 0: not seen
    bool is_free;
  };
  void AddFree(uint64_t address, uint64_t size, uint64_t segment);
  void RemoveFree(uint64_t address, uint64_t size);

  AddressTable<Piece> pieces_;          // by their first address
  AddressTable<uint64_t> free_by_end_;  // the first address of a free piece, by where it ends
};

}  // namespace vramstow::torch_observer

#endif  // VRAMSTOW_ADAPTERS_TORCH_OBSERVER_BLOCK_SIZES_H_
