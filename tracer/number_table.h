// NumberTable maps hashes to small numbers.
//
// Idea: open addressing. An entry is one word, the upper bits of the hash and the number. Entries
// are only added, or all removed at once, so a look-up takes no lock. The position of an entry also
// depends on the hash's lower bits; the probability that any two of 200,000 different objects get
// the same entry is less than one in ten million.
//
// Ownership: lies in memory that is zero at first, of which only the pages in use cost anything.
// Threads: Find by any number of threads at once, all other functions by one at a time. Errors: see
// Add. No heap.
#ifndef VRAMSTOW_TRACER_NUMBER_TABLE_H_
#define VRAMSTOW_TRACER_NUMBER_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace vramstow {

template <size_t kPlaces>
class NumberTable {
  static_assert((kPlaces & (kPlaces - 1)) == 0, "a power of two");

 public:
  static constexpr size_t kMaxNumbers = kPlaces / 4 * 3;

  // Returns the number of a hash, or 0 if it has none.
  uint32_t Find(uint64_t hash) const {
    for (size_t place = First(hash);; place = (place + 1) % kPlaces) {
      const uint64_t there = entries_[place].load(std::memory_order_acquire);
      if (((there ^ hash) & ~kNumberMask) == 0 && there != 0) {
        return static_cast<uint32_t>(there & kNumberMask);
      }
      if (there == 0) return 0;
    }
  }

  // Adds a hash that is not in the table yet, with a number other than 0. Returns false if the
  // table is full.
  bool Add(uint64_t hash, uint32_t number) {
    if (is_full() || number > kNumberMask) return false;
    size_t place = First(hash);
    while (entries_[place].load(std::memory_order_relaxed) != 0) place = (place + 1) % kPlaces;
    entries_[place].store((hash & ~kNumberMask) | number, std::memory_order_release);
    ++count_;
    return true;
  }

  // True if there is no room for another hash.
  bool is_full() const { return count_ == kMaxNumbers; }

  // Removes all hashes. A look-up at the same time finds a hash or does not.
  void Clear() {
    for (auto& entry : entries_) entry.store(0, std::memory_order_relaxed);
    count_ = 0;
  }

 private:
  static constexpr uint64_t kNumberMask = (uint64_t{1} << 20) - 1;
  static_assert(kMaxNumbers <= kNumberMask);
  static size_t First(uint64_t hash) { return static_cast<size_t>(hash ^ hash >> 32) % kPlaces; }

  std::atomic<uint64_t> entries_[kPlaces];
  size_t count_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_NUMBER_TABLE_H_
