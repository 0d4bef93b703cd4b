// LargeArray: an array of fixed size for which the operating system is asked to use large pages. A
// random access then needs one page-table level less to translate its address.
//
// Ownership: owns the elements. Threads: as safe as a plain array. Errors: throws std::bad_alloc,
// as containers do. Units: elements.
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
  // Initialises all elements to T().
  explicit LargeArray(size_t size) : LargeArray(size, nullptr, 0) {
    std::uninitialized_fill_n(elements_.get(), size, T());
  }
  // Copies the elements of `first`; the remaining elements are uninitialised.
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
    // If madvise fails, the array is only slower.
    if (bytes >= kLargePage) static_cast<void>(madvise(memory, bytes, MADV_HUGEPAGE));
    elements_.reset(static_cast<T*>(memory));
    std::uninitialized_copy_n(first, count, elements_.get());
  }

  std::unique_ptr<T, Free> elements_;
  size_t size_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_LARGE_ARRAY_H_
