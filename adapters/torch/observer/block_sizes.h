// BlockSizes computes the size of each block that PyTorch's own allocator returns.
//
// Idea: PyTorch reports how many bytes a tensor requested, but not the size of its block. The block
// is larger in two cases: PyTorch rounds the request up, or it does not split off the rest of a
// free piece because that rest is too small to be useful. This class tracks the pieces of every
// segment by PyTorch's rules, so that the sizes add up to the result of
// torch.cuda.memory_allocated().
//
// Pieces of a segment are linked to their neighbours, so a block and its rest cost one search of
// the table each.
//
// Ownership: values. Threads: one at a time; PyTorch's lock of the device guarantees that. Errors:
// in a segment that was not seen (an expandable or an older segment) a block has the rounded size,
// which is right for expandable segments. Units: bytes.
#ifndef VRAMSTOW_ADAPTERS_TORCH_OBSERVER_BLOCK_SIZES_H_
#define VRAMSTOW_ADAPTERS_TORCH_OBSERVER_BLOCK_SIZES_H_

#include <cstdint>

#include "adapters/torch/observer/address_table.h"
#include "adapters/torch/observer/mapped_nodes.h"

namespace vramstow::torch_observer {

// Returns the size to which PyTorch rounds a request up. `divisions` > 1 rounds to a part of a
// power of two, if the user asked for that (roundup_power2_divisions).
uint64_t RoundSize(uint64_t requested, uint64_t divisions);

// Requests up to this size are rounded in the same way whatever PyTorch's settings are, so the
// settings are not read for them.
inline constexpr uint64_t kMaxRoundedAlike = 1024;
// Blocks up to this size are split whatever max_split_size is, so max_split_size is not read for
// them.
inline constexpr uint64_t kMaxCutAlways = uint64_t{1} << 20;

class BlockSizes {
 public:
  // Forgets all segments and pieces.
  void Clear();
  void AddSegment(uint64_t address, uint64_t size);
  // Adds an existing piece. The caller passes the pieces of one segment in order of address. For an
  // expandable segment (`in_segment` is false) it passes live pieces only.
  void Adopt(uint64_t address, uint64_t size, bool is_free, bool in_segment);
  void RemoveSegment(uint64_t address);

  // Begins a block at `address`. Returns its size. A large piece is split only if the rounded size
  // is below `max_split`.
  uint64_t Allocate(uint64_t address, uint64_t rounded, uint64_t max_split);
  // Returns the size of a live block, or 0 if it is unknown.
  uint64_t SizeOf(uint64_t address);
  // Called when no stream uses the block any more: it becomes free, and is merged with free
  // neighbours. Returns its size, or 0 if it is unknown.
  uint64_t Release(uint64_t address);

 private:
  struct Piece {
    uint64_t address = 0;
    uint64_t size = 0;
    Piece* before = nullptr;  // its neighbours in its segment
    Piece* after = nullptr;
    bool is_free = false;
    bool has_segment = false;  // false if the segment was not seen
  };
  Piece* Find(uint64_t address) {
    return last_ != nullptr && last_->address == address ? last_ : LookUp(address);
  }
  Piece* LookUp(uint64_t address);
  // Adds a piece, and forgets an earlier piece that began at the same address. Returns null if
  // there is no memory.
  Piece* Add(uint64_t address, uint64_t size);
  void Remove(Piece* piece);
  void GiveBack(Piece* piece);
  static void Unlink(Piece* piece);
  // Makes `right`, which lies behind `left`, a part of it.
  void Absorb(Piece* left, Piece* right);

  MappedNodes<Piece> nodes_;
  AddressTable<Piece*> pieces_;  // all pieces, by their first address
  Piece* last_ = nullptr;        // the last result; mostly the next look-up is the same
  Piece* adopted_ = nullptr;     // the last adopted one
};

}  // namespace vramstow::torch_observer

#endif  // VRAMSTOW_ADAPTERS_TORCH_OBSERVER_BLOCK_SIZES_H_
