// Slab: records of one type in one address range. Each has a 32-bit number, and records never move.
//
// Idea: the pool must not use the heap of its host process, so its own records come from address
// space that is reserved once and committed piece by piece. A number is half as long as a pointer,
// and 0 means "none". Deleted records are reused first.
//
// Ownership: the slab owns its memory until Close. Threads: guarded by the caller's lock. Errors:
// returns false or 0 if the system gave no memory. Units: bytes; counts of records. Only Open,
// Close and EnsureSpare make system calls.
#ifndef VRAMSTOW_ALLOCATOR_CORE_SLAB_H_
#define VRAMSTOW_ALLOCATOR_CORE_SLAB_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "allocator/core/host_memory.h"
#include "base/rounding.h"

namespace vramstow {

template <typename T>
class Slab {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) >= sizeof(uint32_t));

 public:
  // Reserves room for up to max_count records, or for fewer if the address space is limited.
  bool Open(uint32_t max_count) {
    for (uint32_t count = max_count; count >= 1024; count /= 2) {
      base_ = static_cast<T*>(ReserveHostMemory(uint64_t{count} * sizeof(T)));
      if (base_ != nullptr) {
        max_count_ = count;
        return true;
      }
    }
    return false;
  }
  void Close() {
    if (base_ != nullptr) FreeHostMemory(base_, uint64_t{max_count_} * sizeof(T));
    *this = Slab();
  }

  // Makes the next `count` calls of New succeed without a system call.
  bool EnsureSpare(uint32_t count) {
    if (spare() >= count) return true;
    // The first pieces that are committed are small; later ones are whole huge pages.
    const uint64_t unit = committed_bytes_ < kHugePage / 2 ? kSmallStep : kHugePage;
    uint64_t bytes = (committed_bytes_ / unit + 1) * unit;
    const uint64_t least = uint64_t{next_ + count} * sizeof(T);
    if (bytes < least) bytes = RoundUp(least, unit);
    const uint64_t most = uint64_t{max_count_} * sizeof(T) / kPage * kPage;
    if (bytes > most) bytes = most;
    if (bytes <= committed_bytes_) return false;
    if (!CommitHostMemory(base_, committed_bytes_, bytes)) return false;
    committed_bytes_ = bytes;
    usable_ = static_cast<uint32_t>(bytes / sizeof(T));
    return spare() >= count;
  }
  uint32_t spare() const { return free_count_ + (usable_ > next_ ? usable_ - next_ : 0); }

  // Returns the number of a zeroed record, or 0 if EnsureSpare must be called first.
  uint32_t New() {
    uint32_t index = free_head_;
    if (index != 0) {
      std::memcpy(&free_head_, &base_[index], sizeof(uint32_t));
      --free_count_;
    } else {
      if (next_ >= usable_) return 0;
      index = next_++;
    }
    base_[index] = T{};
    ++count_;
    return index;
  }
  void Delete(uint32_t index) {
    std::memcpy(static_cast<void*>(&base_[index]), &free_head_, sizeof(uint32_t));
    free_head_ = index;
    ++free_count_;
    --count_;
  }

  T& operator[](uint32_t index) { return base_[index]; }
  const T& operator[](uint32_t index) const { return base_[index]; }
  uint32_t count() const { return count_; }
  // Bytes of host memory in use.
  uint64_t committed_bytes() const { return committed_bytes_; }

 private:
  static constexpr uint64_t kPage = 4096;
  static constexpr uint64_t kSmallStep = 128 * 1024;
  static constexpr uint64_t kHugePage = 2048 * 1024;

  T* base_ = nullptr;
  uint32_t max_count_ = 0;
  uint32_t usable_ = 0;  // numbers below this one can be used
  uint32_t next_ = 1;    // numbers from here on were never used; 0 is "none"
  uint32_t free_head_ = 0;
  uint32_t free_count_ = 0;
  uint32_t count_ = 0;
  uint64_t committed_bytes_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_CORE_SLAB_H_
