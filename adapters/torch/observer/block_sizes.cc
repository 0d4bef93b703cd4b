#include "adapters/torch/observer/block_sizes.h"

#include "base/rounding.h"

namespace vramstow::torch_observer {
namespace {

// PyTorch's constants, which are the same in all releases from 2.4 to 2.15.
constexpr uint64_t kSmallestBlock = 512;
constexpr uint64_t kSmallLimit = kMaxCutAlways;  // larger blocks have other segments
static_assert(kMaxRoundedAlike == 2 * kSmallestBlock);

// Returns the number of the highest set bit.
int HighestBit(uint64_t value) { return 63 - __builtin_clzll(value); }

bool IsSplit(uint64_t rounded, uint64_t rest, uint64_t max_split) {
  if (rounded <= kSmallLimit) return rest >= kSmallestBlock;
  return rounded < max_split && rest > kSmallLimit;
}

}  // namespace

uint64_t RoundSize(uint64_t requested, uint64_t divisions) {
  if (requested < kSmallestBlock) return kSmallestBlock;
  if (divisions <= 1 || requested <= kSmallestBlock * divisions) {
    return RoundUp(requested, kSmallestBlock);
  }
  const uint64_t power = uint64_t{1} << HighestBit(requested);
  if (requested == power) return requested;
  const uint64_t step = power >> HighestBit(divisions);
  if (step == 0) return power << 1;
  return AlignUp(requested, step);
}

BlockSizes::Piece* BlockSizes::LookUp(uint64_t address) {
  Piece* const* found = pieces_.Find(address);
  return last_ = found == nullptr ? nullptr : *found;
}

BlockSizes::Piece* BlockSizes::Add(uint64_t address, uint64_t size) {
  Piece** const place = pieces_.FindOrInsert(address);
  if (place == nullptr) return nullptr;
  if (*place != nullptr) {
    Unlink(*place);
  } else {
    *place = nodes_.New();
  }
  Piece* const piece = *place;
  if (piece == nullptr) {
    pieces_.Erase(address);
    return nullptr;
  }
  *piece = {};
  piece->address = address;
  piece->size = size;
  return piece;
}

void BlockSizes::Remove(Piece* piece) {
  Unlink(piece);
  pieces_.Erase(piece->address);
  GiveBack(piece);
}

void BlockSizes::GiveBack(Piece* piece) {
  if (last_ == piece) last_ = nullptr;
  nodes_.GiveBack(piece);
}

void BlockSizes::Unlink(Piece* piece) {
  if (piece->before != nullptr) piece->before->after = nullptr;
  if (piece->after != nullptr) piece->after->before = nullptr;
}

void BlockSizes::Absorb(Piece* left, Piece* right) {
  left->size += right->size;
  left->after = right->after;
  if (right->after != nullptr) right->after->before = left;
  pieces_.Erase(right->address);
  GiveBack(right);
}

void BlockSizes::AddSegment(uint64_t address, uint64_t size) {
  Piece* const piece = Add(address, size);
  if (piece == nullptr) return;
  piece->is_free = true;
  piece->has_segment = true;
}

void BlockSizes::Clear() {
  pieces_.Clear();
  nodes_.Clear();
  adopted_ = last_ = nullptr;
}

void BlockSizes::Adopt(uint64_t address, uint64_t size, bool is_free, bool in_segment) {
  Piece* const left = adopted_;
  adopted_ = nullptr;
  Piece* const piece = Add(address, size);
  if (piece == nullptr) return;
  piece->is_free = is_free;
  piece->has_segment = in_segment;
  if (!in_segment) return;
  adopted_ = piece;
  if (left == nullptr || left->address + left->size != address) return;
  left->after = piece;
  piece->before = left;
}

void BlockSizes::RemoveSegment(uint64_t address) {
  Piece* const piece = Find(address);
  if (piece != nullptr && piece->is_free) Remove(piece);
}

uint64_t BlockSizes::Allocate(uint64_t address, uint64_t rounded, uint64_t max_split) {
  Piece* const piece = Find(address);
  if (piece == nullptr || !piece->is_free || piece->size < rounded) {
    Add(address, rounded);
    return rounded;
  }
  piece->is_free = false;
  const uint64_t rest = piece->size - rounded;
  if (!IsSplit(rounded, rest, max_split)) return piece->size;
  piece->size = rounded;
  Piece* const right = Add(address + rounded, rest);
  if (right == nullptr) return rounded;
  right->is_free = true;
  right->has_segment = true;
  right->before = piece;
  right->after = piece->after;
  if (right->after != nullptr) right->after->before = right;
  piece->after = right;
  return rounded;
}

uint64_t BlockSizes::SizeOf(uint64_t address) {
  const Piece* const piece = Find(address);
  return piece == nullptr || piece->is_free ? 0 : piece->size;
}

uint64_t BlockSizes::Release(uint64_t address) {
  Piece* const piece = Find(address);
  if (piece == nullptr || piece->is_free) return 0;
  const uint64_t size = piece->size;
  if (!piece->has_segment) {
    Remove(piece);
    return size;
  }
  piece->is_free = true;
  if (piece->after != nullptr && piece->after->is_free) Absorb(piece, piece->after);
  if (piece->before != nullptr && piece->before->is_free) Absorb(piece->before, piece);
  return size;
}

}  // namespace vramstow::torch_observer
