// Bins: blocks that were freed recently, retained whole for a request of the same size.
//
// Idea: each of the smallest sizes has a bin of its own, all other sizes share the remaining bins
// by hash; a bin holds blocks of one size at a time. A block in a bin (SpanState::kQuick) is not
// joined with its neighbours. When a bin is emptied, its blocks go to the caller, who joins them.
//
// Ownership: none; blocks are linked through list_next. Threads: guarded by the heap's lock.
// Errors: none. Units: bytes.
#ifndef VRAMSTOW_ALLOCATOR_HEAP_BINS_H_
#define VRAMSTOW_ALLOCATOR_HEAP_BINS_H_

#include <bit>
#include <cstdint>

#include "allocator/heap/span_table.h"

namespace vramstow {

class Bins {
 public:
  // Masks that select sets of bins.
  static constexpr uint64_t kAll = ~uint64_t{0};
  static constexpr uint64_t kTiny = (uint64_t{1} << 32) - 1;

  bool Has(uint64_t size) const {
    const Bin& bin = bins_[NumberOf(size)];
    return bin.size == size && bin.head != 0;
  }
  // Returns the block that Take would return, and leaves it in its bin.
  uint32_t First(uint64_t size) const { return bins_[NumberOf(size)].head; }
  // Removes and returns a block of a size for which the bins have a block.
  uint32_t Take(const SpanTable& spans, uint64_t size) {
    Bin& bin = bins_[NumberOf(size)];
    return UnlinkSpan(spans, &bin, &bin.head);
  }
  // Removes and returns the block at this address if it is among the first few of its bin, else
  // returns 0.
  uint32_t RemoveAt(SpanTable* spans, uint64_t size, uint64_t address) {
    Bin& bin = bins_[NumberOf(size)];
    uint32_t* link = &bin.head;
    int looks = 0;
    while (*link != 0 && (*spans)[*link].address != address && ++looks < kLooks) {
      link = &(*spans)[*link].list_next;
    }
    if (*link == 0 || (*spans)[*link].address != address) return 0;
    return UnlinkSpan(*spans, &bin, link);
  }

  // Puts a freed block into its bin. If the bin held blocks of another size, each of them goes to
  // drop(block).
  template <typename Drop>
  void Put(SpanTable* spans, uint32_t index, Drop drop) {
    Span& span = (*spans)[index];
    const uint32_t number = NumberOf(span.size);
    Bin& bin = bins_[number];
    if (bin.size != span.size) {
      EmptyOne(spans, number, drop);
      bin.size = span.size;
    }
    span.state = SpanState::kQuick;
    span.list_next = bin.head;
    bin.head = index;
    full_ |= uint64_t{1} << number;
    bytes_ += span.size;
  }
  // Removes the blocks from the bins of the mask `which` and hands each to drop(block).
  template <typename Drop>
  void Empty(SpanTable* spans, uint64_t which, Drop drop) {
    while ((full_ & which) != 0) {
      EmptyOne(spans, static_cast<uint32_t>(std::countr_zero(full_ & which)), drop);
    }
  }

  bool empty() const { return full_ == 0; }
  uint64_t bytes() const { return bytes_; }

 private:
  static constexpr uint32_t kTinyBins = 32;
  static constexpr uint32_t kBins = 2 * kTinyBins;
  static constexpr int kLooks = 8;

  struct Bin {
    uint64_t size = 0;
    uint32_t head = 0;
  };

  static uint32_t NumberOf(uint64_t size) {
    const uint64_t units = size / kBlockBytes;
    if (units < kTinyBins) return static_cast<uint32_t>(units);
    return kTinyBins | (static_cast<uint32_t>(units) * 0x9E3779B1U >> 27);
  }
  uint32_t UnlinkSpan(const SpanTable& spans, Bin* bin, uint32_t* link) {
    const uint32_t index = *link;
    const Span& span = spans[index];
    *link = span.list_next;
    if (bin->head == 0) full_ &= ~(uint64_t{1} << (bin - bins_));
    bytes_ -= bin->size;
    return index;
  }
  template <typename Drop>
  void EmptyOne(SpanTable* spans, uint32_t number, Drop drop) {
    Bin& bin = bins_[number];
    full_ &= ~(uint64_t{1} << number);
    while (bin.head != 0) {
      const uint32_t index = bin.head;
      const Span& span = (*spans)[index];
      bin.head = span.list_next;
      bytes_ -= span.size;
      drop(index);
    }
  }

  uint64_t full_ = 0;  // one bit for each bin with a member
  uint64_t bytes_ = 0;
  Bin bins_[kBins];
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_HEAP_BINS_H_
