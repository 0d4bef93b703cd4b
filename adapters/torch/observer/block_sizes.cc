#include "adapters/torch/observer/block_sizes.h"

namespace vramstow::torch_observer {
namespace {

// PyTorch's constants, which are the same in all releases from 2.1 to 2.15.
constexpr uint64_t kSmallestBlock = 512;
constexpr uint64_t kSmallLimit = uint64_t{1}
                                 << 20;  // larger blocks have segments of their own kind

// The number of the highest bit that is set.
int HighestBit(uint64_t value) { return 63 - __builtin_clzll(value); }

bool IsSplit(uint64_t rounded, uint64_t rest, uint64_t max_split) {
  if (rounded <= kSmallLimit) return rest >= kSmallestBlock;
  return rounded < max_split && rest > kSmallLimit;
}

}  // namespace

uint64_t RoundSize(uint64_t requested, uint64_t divisions) {
  if (requested < kSmallestBlock) return kSmallestBlock;
  if (divisions <= 1 || requested <= kSmallestBlock * divisions) {
    return (requested + kSmallestBlock - 1) / kSmallestBlock * kSmallestBlock;
  }
  const uint64_t power = uint64_t{1} << HighestBit(requested);
  if (requested == power) return requested;
  const uint64_t step = power >> HighestBit(divisions);
  if (step == 0) return power << 1;
  return (requested + step - 1) & ~(step - 1);
}

void BlockSizes::AddFree(uint64_t address, uint64_t size, uint64_t segment) {
  pieces_.Set(address, {size, segment, true});
  free_by_end_.Set(address + size, address);
}

void BlockSizes::RemoveFree(uint64_t address, uint64_t size) {
  pieces_.Erase(address);
  free_by_end_.Erase(address + size);
}

void BlockSizes::AddSegment(uint64_t address, uint64_t size) { AddFree(address, size, address); }

void BlockSizes::RemoveSegment(uint64_t address) {
  const Piece* piece = pieces_.Find(address);
  if (piece != nullptr && piece->is_free) RemoveFree(address, piece->size);
}

uint64_t BlockSizes::Allocate(uint64_t address, uint64_t rounded, uint64_t max_split) {
  const Piece* found = pieces_.Find(address);
  if (found == nullptr || !found->is_free || found->size < rounded) {
    pieces_.Set(address, {rounded, 0, false});
    return rounded;
  }
  const Piece piece = *found;
  RemoveFree(address, piece.size);
  const uint64_t rest = piece.size - rounded;
  const bool split = IsSplit(rounded, rest, max_split);
  const uint64_t size = split ? rounded : piece.size;
  if (split) AddFree(address + rounded, rest, piece.segment);
  pieces_.Set(address, {size, piece.segment, false});
  return size;
}

uint64_t BlockSizes::SizeOf(uint64_t address) {
  const Piece* piece = pieces_.Find(address);
  return piece == nullptr || piece->is_free ? 0 : piece->size;
}

void BlockSizes::Release(uint64_t address) {
  const Piece* found = pieces_.Find(address);
  if (found == nullptr || found->is_free) return;
  Piece piece = *found;
  pieces_.Erase(address);
  if (piece.segment == 0) return;
  // Segments may lie side by side, and pieces of different segments are never merged.
  const Piece* after = pieces_.Find(address + piece.size);
  if (after != nullptr && after->is_free && after->segment == piece.segment) {
    const uint64_t size = after->size;
    RemoveFree(address + piece.size, size);
    piece.size += size;
  }
  if (const uint64_t* before = free_by_end_.Find(address)) {
    const uint64_t start = *before;
    const Piece* left = pieces_.Find(start);
    if (left != nullptr && left->segment == piece.segment) {
      RemoveFree(start, left->size);
      piece.size += address - start;
      address = start;
    }
  }
  AddFree(address, piece.size, piece.segment);
}

}  // namespace vramstow::torch_observer
