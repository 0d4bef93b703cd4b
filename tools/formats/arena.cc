#include "tools/formats/arena.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace vramstow {
namespace {

constexpr size_t kSmallestBlock = size_t{64} << 10;
constexpr size_t kLargestBlock = size_t{4} << 20;

char* NewBlock(size_t bytes) {
  return static_cast<char*>(::operator new[](bytes, std::align_val_t{16}, std::nothrow));
}

}  // namespace

void* Arena::AllocateSlowly(size_t bytes) {
  // The size of a new block grows with the bytes in use, so that a small file costs little memory.
  const size_t usual = std::clamp(static_cast<size_t>(bytes_used_ / 4) & ~size_t{4095},
                                  kSmallestBlock, kLargestBlock);
  const bool alone = bytes > usual / 4;  // a large piece gets a block of its own
  const size_t block_bytes = alone ? bytes : usual;
  if (!Book(block_bytes)) return nullptr;
  char* block = NewBlock(block_bytes);
  if (block == nullptr) return nullptr;
  blocks_.emplace_back(block);
  if (!alone) {
    next_ = block + bytes;
    end_ = block + block_bytes;
  }
  return block;
}

std::string_view Arena::Copy(std::string_view text) {
  char* copy = static_cast<char*>(Allocate(std::max<size_t>(text.size(), 1)));
  if (copy == nullptr) return {};
  if (!text.empty()) std::memcpy(copy, text.data(), text.size());
  return {copy, text.size()};
}

}  // namespace vramstow
