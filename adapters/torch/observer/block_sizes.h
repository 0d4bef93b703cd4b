// BlockSizes: the size of each block that PyTorch's own allocator hands out.
//
// Idea: PyTorch tells how many bytes a tensor asked for, and not how many its block has. The block
// is larger where PyTorch rounds the request up, and where it keeps the rest of a free piece
// because the rest is too small to be of use. This class follows the pieces of every segment by
// PyTorch's rules, so that sizes add up to what torch.cuda.memory_allocated() says.
//
// Pieces of a segment are linked to their neighbours, so a block and its rest cost one search of
// the table each.
//
// Ownership: values. Threads: one at a time; PyTorch's lock of the device sees to that. Errors: for
// memory whose segment was not seen (expandable segments, segments from before) a block has the
// rounded size, which is right for expandable segments. Units: bytes.
#ifndef VRAMSTOW_ADAPTERS_TORCH_OBSERVER_BLOCK_SIZES_H_
#define VRAMSTOW_ADAPTERS_TORCH_OBSERVER_BLOCK_SIZES_H_

#include <cstdint>

#include "adapters/torch/observer/address_table.h"
#include "adapters/torch/observer/mapped_nodes.h"

namespace vramstow::torch_observer {

// PyTorch rounds a request up to this, and to a part of a power of two where the user asks for that
// (`divisions` > 1: roundup_power2_divisions).
uint64_t RoundSize(uint64_t requested, uint64_t divisions);

// PyTorch's settings decide nothing about smaller requests and blocks, so that it need not be asked
// for them: up to this a request is rounded alike by all divisions, …
inline constexpr uint64_t kMaxRoundedAlike = 1024;
// … and up to this a block is cut whatever max_split_size is.
inline constexpr uint64_t kMaxCutAlways = uint64_t{1} << 20;

class BlockSizes {
 public:
  // Forgets all.
  void Clear();
  void AddSegment(uint64_t address, uint64_t size);
  // A piece that was there before, with those of its segment in order of address. For an
  // expandable segment (`in_segment` false) the caller names live ones only.
  void Adopt(uint64_t address, uint64_t size, bool is_free, bool in_segment);
  void RemoveSegment(uint64_t address);

  // A block begins at `address`. Returns its size. A large piece is split only if the rounded size
  // is below `max_split`.
  uint64_t Allocate(uint64_t address, uint64_t rounded, uint64_t max_split);
  // The size of a live block; 0: not known.
  uint64_t SizeOf(uint64_t address);
  // No stream uses the block any more: it is free, and is merged with free pieces beside it.
  // Returns its size; 0: not known.
  uint64_t Release(uint64_t address);

 private:
  struct Piece {
    uint64_t address = 0;
    uint64_t size = 0;
    Piece* before = nullptr;  // its neighbours in its segment
    Piece* after = nullptr;
    bool is_free = false;
    bool has_segment = false;  // false: the segment was not seen
  };
  Piece* Find(uint64_t address) {
    return last_ != nullptr && last_->address == address ? last_ : LookUp(address);
  }
  Piece* LookUp(uint64_t address);
  // What was known of a piece that began there is forgotten. Null: there is no memory for it.
  Piece* Add(uint64_t address, uint64_t size);
  void Remove(Piece* piece);
  void GiveBack(Piece* piece);
  static void Unlink(Piece* piece);
  // `right`, which lies behind `left`, becomes a part of it.
  void Absorb(Piece* left, Piece* right);

  MappedNodes<Piece> nodes_;
  AddressTable<Piece*> pieces_;  // by their first address
  Piece* last_ = nullptr;        // that was looked for; mostly it is the one that is asked for next
  Piece* adopted_ = nullptr;     // the last one that was
};

}  // namespace vramstow::torch_observer

#endif  // VRAMSTOW_ADAPTERS_TORCH_OBSERVER_BLOCK_SIZES_H_
