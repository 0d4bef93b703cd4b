// Arena allocates memory piece by piece, up to a budget, and frees all of it at once.
//
// Idea: data that we store for an untrusted file is allocated here (or at least booked here), so
// that one number bounds the memory that the file can cost.
//
// Ownership: the arena owns all pieces; it can be moved, and the pieces keep their addresses.
// Threads: one at a time. Errors: returns null or false if the budget is spent. Units: bytes.
#ifndef VRAMSTOW_TOOLS_FORMATS_ARENA_H_
#define VRAMSTOW_TOOLS_FORMATS_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/rounding.h"

namespace vramstow {

class Arena {
 public:
  explicit Arena(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  // Returns uninitialised memory aligned to 16 bytes, or null if the budget is too small.
  void* Allocate(size_t bytes) {
    bytes = RoundUp(bytes, 16);
    if (bytes > static_cast<size_t>(end_ - next_)) return AllocateSlowly(bytes);
    char* piece = next_;
    next_ += bytes;
    return piece;
  }
  // Returns a copy of the text; its `data` is null if the budget is too small.
  std::string_view Copy(std::string_view text);

  // Counts `bytes` of memory that is allocated outside of the arena against the budget. Returns
  // false if the budget is too small.
  bool Book(uint64_t bytes) {
    if (bytes > max_bytes_ - bytes_used_) return false;
    bytes_used_ += bytes;
    return true;
  }

  uint64_t bytes_used() const { return bytes_used_; }
  uint64_t max_bytes() const { return max_bytes_; }

 private:
  void* AllocateSlowly(size_t bytes);

  struct Free {
    void operator()(char* block) const { ::operator delete[](block, std::align_val_t{16}); }
  };

  uint64_t max_bytes_;
  uint64_t bytes_used_ = 0;
  char* next_ = nullptr;
  char* end_ = nullptr;
  std::vector<std::unique_ptr<char[], Free>> blocks_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_ARENA_H_
