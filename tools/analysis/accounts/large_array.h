// LargeArray: a fixed number of elements in memory for which the kernel is asked to use large
// pages: a random access then needs one look-up of an address translation less.
//
// Ownership: owns the elements. Threads: as a plain array. Errors: std::bad_alloc, as containers
// have it. Units: elements.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_LARGE_ARRAY_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_LARGE_ARRAY_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "base/rounding.h"

namespace vramstow {

template <typename T>
class LargeArray {
 public:
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

  LargeArray() = default;
  // All elements are T().
  explicit LargeArray(size_t size) : LargeArray(size, nullptr, 0) {
    std::uninitialized_fill_n(elements_.get(), size, T());
  }
  // The first elements are those of `first`; the others have no value yet.
  LargeArray(size_t size, const LargeArray& first)
      : LargeArray(size, first.elements_.get(), first.size_) {}

  T& operator[](size_t index) { return elements_.get()[index]; }
  const T& operator[](size_t index) const { return elements_.get()[index]; }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(T* memory) const { std::free(memory); }
  };

  LargeArray(size_t size, const T* first, size_t count) : size_(size) {
    constexpr size_t kLargePage = size_t{2} << 20;
    const size_t bytes = size * sizeof(T);
    const size_t alignment = bytes >= kLargePage ? kLargePage : size_t{64};
    void* memory = std::aligned_alloc(alignment, RoundUp(bytes, alignment));
    if (memory == nullptr) throw std::bad_alloc();
    // Only speed depends on it.
    if (bytes >= kLargePage) static_cast<void>(madvise(memory, bytes, MADV_HUGEPAGE));
    elements_.reset(static_cast<T*>(memory));
    std::uninitialized_copy_n(first, count, elements_.get());
  }

  std::unique_ptr<T, Free> elements_;
  size_t size_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_LARGE_ARRAY_H_
